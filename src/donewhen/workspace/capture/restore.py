"""A maker tree made equal to an earlier candidate again, ignored files kept where that can be had.

Only what differs is touched. Whether that was enough is not guessed: the tree is captured again, and where it is not
the wanted one, what was written is thrown away and the candidate written anew.
"""

import contextlib
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

from donewhen.workspace.beneath import Root
from donewhen.workspace.capture.candidate import Candidate
from donewhen.workspace.capture.refusals import CandidateRefused
from donewhen.workspace.capture.walk import is_opaque
from donewhen.workspace.capture.write import all_changes, gone, write_files, write_layer, write_new
from donewhen.workspace.files import remove_tree
from donewhen.workspace.objects import Change, parents, raw
from donewhen.workspace.store import Store

Look = Callable[[], Awaitable[Candidate]]
"""Captures the tree as it is now."""


async def restore_layer(store: Store, base_tree: str, tree: str, upper: Path, look: Look) -> None:
    """The upper directory of an overlay over `base_tree` shows `tree` again."""
    now = await _tree(look)
    if now == tree:
        return
    if now:
        changes = await all_changes(store, now, tree)
        added = {raw(change.path) for change in await all_changes(store, base_tree, now) if change.old is None}
        with contextlib.suppress(OSError):  # what stands in the way is cleared below
            _take_out(Root(upper), changes, added)
            await write_new(store, now, changes, upper)
            if await _tree(look) == tree:
                return
    for name in os.listdir(upper):
        if name != ".git":
            remove_tree(upper / name)
    await write_layer(store, base_tree, tree, upper)


async def restore_copy(store: Store, tree: str, directory: Path, look: Look) -> None:
    """A full copy holds the files of `tree` again."""
    now = await _tree(look)
    if now == tree:
        return
    if not now:
        raise CandidateRefused([(b".", "cannot be put back: it holds what no candidate can")])
    await write_files(store, now, tree, directory)


async def _tree(look: Look) -> str:
    try:
        return (await look()).tree
    except CandidateRefused:
        return ""


def _take_out(root: Root, changes: list[Change], added: set[bytes]) -> None:
    """Remove what the wanted tree has not got; unless it was added to the base, the base's is hidden."""
    for path in gone(changes, replaced=True):
        with root.above(path, make=True) as (fd, name):
            remove_tree(Path(f"/proc/self/fd/{fd}", os.fsdecode(name)))
            if not added.intersection((path, *parents(path))) and not _in_opaque(root, path):
                os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=fd)
    for change in changes:  # a hidden place that is wanted again
        if change.new is not None:
            with contextlib.suppress(OSError), root.above(raw(change.path)) as (fd, name):
                if stat.S_ISCHR(os.lstat(name, dir_fd=fd).st_mode):
                    os.unlink(name, dir_fd=fd)


def _in_opaque(root: Root, path: bytes) -> bool:
    """Whether nothing of the base shows there anyway. A mark that hides nothing would itself be seen in a listing."""
    return any(is_opaque(root, above) for above in parents(path) if above)
