"""From a layer on disk to a candidate: what is known of it, what is refused, what is recorded, in this order."""

from collections.abc import Iterator

from donewhen.records import frozen
from donewhen.workspace.capture import refusals
from donewhen.workspace.capture.known import Known
from donewhen.workspace.capture.record import record
from donewhen.workspace.capture.walk import Item, Layer
from donewhen.workspace.objects import GITLINK, Change, parents, raw
from donewhen.workspace.store import Store
from donewhen.workspace.store.skeleton import Skeleton


@frozen
class Candidate:
    tree: str
    changes: tuple[Change, ...]
    flagged: tuple[str, ...]
    """Changed paths that a person should see: switches of git, and configuration that makes tools run something."""


async def take(store: Store, base: Skeleton, layer: Layer) -> Candidate:
    """The candidate that a layer over this base makes, or CandidateRefused."""
    if layer.is_empty():
        return Candidate(base.tree, (), ())
    known = Known(store, base, layer)
    with store.bare.scratch(layer.root.location) as place:
        refusals.refuse(_wrong_rules(layer))
        await known.ask(place)
        refusals.refuse((*_wrong_rules(layer), *_offences(known)))
        recorded = await record(known, place)
    changes = recorded.changes
    if changes is None:
        changes = tuple(await store.diff(base.tree, recorded.tree))
    flagged = tuple(change.path for change in changes if refusals.is_flagged(raw(change.path)))
    return Candidate(recorded.tree, changes, flagged)


def _wrong_rules(layer: Layer) -> Iterator[tuple[bytes, str]]:
    for path, item in layer.items():
        yield path, refusals.wrong_rules(path, item.kind, item.size)


def _offences(known: Known) -> Iterator[tuple[bytes, str]]:
    total = 0
    for path, item in known.counting():
        total += item.size
        too_much = "makes the change too large" if total > refusals.LARGEST_SUM else ""
        yield path, _wrong_item(known, path, item) or too_much
    yield from refusals.wrong_links(known.base.links, known.links())


def _wrong_item(known: Known, path: bytes, item: Item) -> str:
    if known.in_base(path) is None and (why := refusals.wrong_name(path)):
        return why
    if item.kind == "directory":
        return ""
    if any((entry := known.in_base(above)) and entry.mode == GITLINK for above in parents(path)):
        return "lies in a submodule, which cannot be changed from here"
    return refusals.wrong_file(path, item.kind, item.size)
