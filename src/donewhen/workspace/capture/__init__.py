"""A candidate as data: what was made in a tree becomes a tree id in our store, and no git of its own is ever asked.

    walk        what is on disk, as a layer over the base
    again       whether it is still what was captured last
    known       what belongs to it
    refusals    what no candidate may bring
    record      what counts, into the store
    candidate   the whole way, in this order
    write       the way back: a tree id onto disk
    restore     a tree that was worked in, made equal to an earlier candidate

A candidate holds the paths of the base and new ones that its own ignore rules do not exclude. What is as in the base
is kept whatever it is. What cannot be held is refused by name, never left out. Whether a candidate is any good is not
asked here.
"""

import time
from pathlib import Path

import anyio.to_thread

from donewhen.workspace.capture import walk
from donewhen.workspace.capture.again import Sighting, sighting_of
from donewhen.workspace.capture.candidate import Candidate, take
from donewhen.workspace.capture.refusals import CandidateRefused
from donewhen.workspace.capture.restore import restore_copy, restore_layer
from donewhen.workspace.capture.write import write_files, write_layer
from donewhen.workspace.objects import text
from donewhen.workspace.store import Store
from donewhen.workspace.store.bare import replace

__all__ = [
    "Candidate",
    "CandidateRefused",
    "Sighting",
    "capture_copy",
    "capture_layer",
    "capture_layer_and_look",
    "changed_in_copy",
    "restore_copy",
    "restore_layer",
    "stamp",
    "write_files",
    "write_layer",
]


async def capture_layer(store: Store, base_commit: str, upper: Path) -> Candidate:
    """What was written into the upper directory of an overlay over this commit. Costs as much as the changes."""
    return (await capture_layer_and_look(store, base_commit, upper))[0]


async def capture_layer_and_look(store: Store, base_commit: str, upper: Path) -> tuple[Candidate, Sighting | None]:
    """The same, and something that can tell later whether anything was written since."""
    base = await store.skeletons.of(await store.tree_of(base_commit))
    began = time.time_ns()
    layer = walk.read_upper(upper, base.directories)
    candidate = await take(store, base, layer)
    return candidate, sighting_of(layer, began)


async def stamp(directory: Path, record: Path) -> None:
    """Write down how a fresh copy of a base looks, for `capture_copy`."""
    taken = await anyio.to_thread.run_sync(walk.take_stamp, directory)
    replace(record, taken.content())


async def capture_copy(store: Store, base_commit: str, directory: Path, record: Path) -> Candidate:
    """What changed in a full copy of this commit since its `stamp` was taken."""
    base = await store.skeletons.of(await store.tree_of(base_commit))
    taken = walk.Stamp.of(record.read_bytes())
    layer = await anyio.to_thread.run_sync(walk.read_copy, directory, taken, base.directories)
    return await take(store, base, layer)


async def changed_in_copy(store: Store, base_commit: str, directory: Path, record: Path) -> list[str]:
    """The paths in a full copy that are not as they were when its `stamp` was taken."""
    base = await store.skeletons.of(await store.tree_of(base_commit))
    taken = walk.Stamp.of(record.read_bytes())
    layer = await anyio.to_thread.run_sync(walk.read_copy, directory, taken, base.directories)
    return sorted(text(path) for path, item in layer.items() if item.kind != "directory")
