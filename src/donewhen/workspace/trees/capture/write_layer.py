"""Writing a tree id to disk over its base: as an overlay layer, or into a full copy.

The reverse of a capture. The cost depends on the difference. This module does not know who mounts the layer, or over
what.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from donewhen.workspace.beneath import Root
from donewhen.workspace.git.objects import TREE, Change, changes_in, parents, raw
from donewhen.workspace.git.store import Store
from donewhen.workspace.git.store.checkout import write_changes

WHITEOUT = os.makedev(0, 0)


async def write_layer(store: Store, base_tree: str, tree: str, into: Path) -> None:
    """Write a layer that turns a checkout of `base_tree` into one of `tree`: files, and whiteouts for deletions."""
    changes = await all_changes(store, base_tree, tree)
    into.mkdir(parents=True, exist_ok=True)
    await write_new(store, base_tree, changes, into)
    for path in deleted_paths(changes, replaced=False):
        with Root(into).above(path, make=True) as (above, name):
            os.mknod(name, stat.S_IFCHR, WHITEOUT, dir_fd=above)


async def write_files(store: Store, from_tree: str, to_tree: str, directory: Path) -> None:
    """Turn a directory with the files of one tree into one with the files of another."""
    changes = await all_changes(store, from_tree, to_tree)
    for path in deleted_paths(changes, replaced=True):
        _delete(directory, path)
    await write_new(store, from_tree, changes, directory)


async def all_changes(store: Store, base_tree: str, tree: str) -> list[Change]:
    """Return the differences, directories included."""
    return changes_in(
        await store.bare.run("diff-tree", "-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames", base_tree, tree)
    )


async def write_new(store: Store, base_tree: str, changes: list[Change], into: Path) -> None:
    """Write the new state of every changed path. The caller handles deletions."""
    files = [change for change in changes if change.new is None or change.new.mode != TREE]
    base = await store.skeletons.of(base_tree)
    await write_changes(store.bare, base, files, into, store.lfs_places)


def deleted_paths(changes: list[Change], replaced: bool) -> Iterator[bytes]:
    """Yield the topmost deleted paths; with `replaced`, also those that have an entry of another type now."""
    old = {raw(change.path) for change in changes if change.new is None}
    new = {raw(change.path) for change in changes if change.old is None}
    for path in sorted(old):
        if old.isdisjoint(parents(path)) and (replaced or path not in new):
            yield path


def _delete(directory: Path, path: bytes) -> None:
    """Remove what is at a path, without following a link."""
    with Root(directory).above(path) as (fd, name):
        if stat.S_ISDIR(os.lstat(name, dir_fd=fd).st_mode):
            shutil.rmtree(name, dir_fd=fd)
        else:
            os.unlink(name, dir_fd=fd)
