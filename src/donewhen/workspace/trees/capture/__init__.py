"""Capture of candidates: the content of a tree becomes a tree id in our store. The tree's own `.git` is never used.

    read_layer       what is on disk, as a layer over the base
    fingerprint      whether the tree changed since the last capture
    base_facts       what the base has beneath the layer, and what is ignored
    refusals         what a candidate must not contain
    store_candidate  what belongs to the candidate, into the store
    candidate        all steps of a capture, in order
    write_layer      the reverse: a tree id onto disk
    restore          a maker tree made equal to an earlier candidate

A candidate has the paths of the base, and new paths that its own ignore rules do not exclude. What is unchanged from
the base is kept, whatever it is. What cannot be captured is refused by name, never left out silently. The quality of a
candidate is not checked here.
"""

import time
from pathlib import Path

import anyio.to_thread

from donewhen.workspace.git.objects import text
from donewhen.workspace.git.store import Store
from donewhen.workspace.git.store.bare import replace
from donewhen.workspace.trees.capture import read_layer
from donewhen.workspace.trees.capture.candidate import Candidate, capture
from donewhen.workspace.trees.capture.fingerprint import Fingerprint, fingerprint_of
from donewhen.workspace.trees.capture.refusals import CandidateRefused
from donewhen.workspace.trees.capture.restore import restore_copy, restore_layer
from donewhen.workspace.trees.capture.write_layer import write_files, write_layer

__all__ = [
    "Candidate",
    "CandidateRefused",
    "Fingerprint",
    "capture_copy",
    "capture_layer",
    "capture_layer_with_fingerprint",
    "changed_in_copy",
    "restore_copy",
    "restore_layer",
    "stamp",
    "write_files",
    "write_layer",
]


async def capture_layer(store: Store, base_commit: str, upper: Path) -> Candidate:
    """Capture what was written into an overlay's upper directory over this commit. Cost grows with the changes."""
    return (await capture_layer_with_fingerprint(store, base_commit, upper))[0]


async def capture_layer_with_fingerprint(
    store: Store, base_commit: str, upper: Path
) -> tuple[Candidate, Fingerprint | None]:
    """Like `capture_layer`, and return a fingerprint that can later detect whether anything was written since."""
    base = await store.skeletons.of(await store.tree_of(base_commit))
    began = time.time_ns()
    layer = read_layer.read_upper(upper, base.directories)
    candidate = await capture(store, base, layer)
    return candidate, fingerprint_of(layer, began)


async def stamp(directory: Path, record: Path) -> None:
    """Record the file stamps of a new copy of a base, for `capture_copy`."""
    # A file that changed in the clock's last tick is not trusted: the copy itself would count as written.
    await anyio.sleep(read_layer.TICK_NS / 1_000_000_000)
    recorded = await anyio.to_thread.run_sync(read_layer.take_stamp, directory)
    replace(record, recorded.content())


async def capture_copy(store: Store, base_commit: str, directory: Path, record: Path) -> Candidate:
    """Capture what changed in a full copy of this commit since its `stamp` was taken."""
    base = await store.skeletons.of(await store.tree_of(base_commit))
    recorded = read_layer.Stamp.of(record.read_bytes())
    layer = await anyio.to_thread.run_sync(read_layer.read_copy, directory, recorded, base.directories)
    return await capture(store, base, layer)


async def changed_in_copy(store: Store, base_commit: str, directory: Path, record: Path) -> list[str]:
    """Return the paths in a full copy that changed since its `stamp` was taken."""
    base = await store.skeletons.of(await store.tree_of(base_commit))
    recorded = read_layer.Stamp.of(record.read_bytes())
    layer = await anyio.to_thread.run_sync(read_layer.read_copy, directory, recorded, base.directories)
    return sorted(text(path) for path, item in layer.items() if item.kind != "directory")
