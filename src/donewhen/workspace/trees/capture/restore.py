"""Restoring a maker tree to an earlier candidate. Ignored files are kept where possible.

Only what differs is touched. The result is verified: the tree is captured again. If it is not the wanted tree, what was
written is deleted and the candidate is written again from the base.
"""

import contextlib
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

from donewhen.workspace.beneath import Root
from donewhen.workspace.files import remove_tree
from donewhen.workspace.git.objects import Change, parents, raw
from donewhen.workspace.git.store import Store
from donewhen.workspace.trees.capture.candidate import Candidate
from donewhen.workspace.trees.capture.read_layer import is_opaque
from donewhen.workspace.trees.capture.refusals import CandidateRefused
from donewhen.workspace.trees.capture.write_layer import all_changes, deleted_paths, write_files, write_layer, write_new

Capture = Callable[[], Awaitable[Candidate]]
"""A function that captures the tree as it is now."""


async def restore_layer(store: Store, base_tree: str, tree: str, upper: Path, capture_now: Capture) -> None:
    """Make the upper directory of an overlay over `base_tree` show `tree` again."""
    now = await _tree(capture_now)
    if now == tree:
        return
    if now:
        changes = await all_changes(store, now, tree)
        added = {raw(change.path) for change in await all_changes(store, base_tree, now) if change.old is None}
        with contextlib.suppress(OSError):  # obstacles are removed below
            _remove_extra(Root(upper), changes, added)
            await write_new(store, now, changes, upper)
            if await _tree(capture_now) == tree:
                return
    for name in os.listdir(upper):
        if name != ".git":
            remove_tree(upper / name)
    await write_layer(store, base_tree, tree, upper)


async def restore_copy(store: Store, tree: str, directory: Path, capture_now: Capture) -> None:
    """Make a full copy hold the files of `tree` again."""
    now = await _tree(capture_now)
    if now == tree:
        return
    if not now:
        raise CandidateRefused([(b".", "cannot be restored: it contains what a candidate cannot contain")])
    await write_files(store, now, tree, directory)


async def _tree(capture_now: Capture) -> str:
    try:
        return (await capture_now()).tree
    except CandidateRefused:
        return ""


def _remove_extra(root: Root, changes: list[Change], added: set[bytes]) -> None:
    """Remove what the wanted tree does not have. Hide the base's version, unless the path was added to the base."""
    for path in deleted_paths(changes, replaced=True):
        with root.above(path, make=True) as (fd, name):
            remove_tree(Path(f"/proc/self/fd/{fd}", os.fsdecode(name)))
            if not added.intersection((path, *parents(path))) and not _is_in_opaque(root, path):
                os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=fd)
    for change in changes:  # a hidden path that is wanted again
        if change.new is not None:
            with contextlib.suppress(OSError), root.above(raw(change.path)) as (fd, name):
                if stat.S_ISCHR(os.lstat(name, dir_fd=fd).st_mode):
                    os.unlink(name, dir_fd=fd)


def _is_in_opaque(root: Root, path: bytes) -> bool:
    """Return True if nothing of the base shows there anyway. A whiteout without effect would appear in a listing."""
    return any(is_opaque(root, above) for above in parents(path) if above)
