"""The capture of a candidate from a layer on disk: collect facts, refuse, store, in this order."""

from collections.abc import Iterator

from donewhen.records import frozen
from donewhen.workspace.git.objects import GITLINK, Change, parents, raw
from donewhen.workspace.git.store import Store
from donewhen.workspace.git.store.skeleton import Skeleton
from donewhen.workspace.trees.capture import refusals
from donewhen.workspace.trees.capture.base_facts import LayerFacts
from donewhen.workspace.trees.capture.read_layer import LayerItem, LayerListing
from donewhen.workspace.trees.capture.store_candidate import store_candidate


@frozen
class Candidate:
    tree: str
    changes: tuple[Change, ...]
    flagged: tuple[str, ...]
    """Changed paths that a person should see: settings of git, and configuration that makes tools run something."""


async def capture(store: Store, base: Skeleton, layer: LayerListing) -> Candidate:
    """Return the candidate of a layer over this base, or raise CandidateRefused."""
    if layer.is_empty():
        return Candidate(base.tree, (), ())
    facts = LayerFacts(store, base, layer)
    with store.bare.scratch(layer.root.location, check=facts.refuse_traps) as location:
        refusals.refuse(_wrong_rules(layer))
        await facts.collect(location)
        refusals.refuse((*_wrong_rules(layer), *_offences(facts)))
        recorded = await store_candidate(facts, location)
    changes = recorded.changes
    if changes is None:
        changes = tuple(await store.diff(base.tree, recorded.tree))
    flagged = tuple(change.path for change in changes if refusals.is_flagged(raw(change.path)))
    return Candidate(recorded.tree, changes, flagged)


def _wrong_rules(layer: LayerListing) -> Iterator[tuple[bytes, str]]:
    for path, item in layer.items():
        yield path, refusals.wrong_rules(path, item.kind, item.size)


def _offences(facts: LayerFacts) -> Iterator[tuple[bytes, str]]:
    total = 0
    for path, item in facts.candidate_items():
        total += item.size
        too_much = "makes the change too large" if total > refusals.LARGEST_SUM else ""
        yield path, _wrong_item(facts, path, item) or too_much
    yield from refusals.wrong_links(facts.base.links, facts.links())


def _wrong_item(facts: LayerFacts, path: bytes, item: LayerItem) -> str:
    if facts.in_base(path) is None and (why := refusals.wrong_name(path)):
        return why
    if item.kind == "directory":
        return ""
    if any((entry := facts.in_base(above)) and entry.mode == GITLINK for above in parents(path)):
        return "lies in a submodule, which cannot be changed from here"
    return refusals.wrong_file(path, item.kind, item.size)
