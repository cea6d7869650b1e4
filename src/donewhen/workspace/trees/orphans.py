"""Trees whose owner process died: remove them, keep those with unsaved work, or adopt them with their content.

The holder of a tree's lock owns it, and a tree is renamed before it is removed. So any number of processes may handle
the same orphans at the same time.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from donewhen.errors import DonewhenError
from donewhen.workspace.files import remove_tree, try_lock
from donewhen.workspace.trees.trees import NEW, REMOVING, Tree, Trees, facts_of, is_lock_of

MOST_POLLS, POLL_SECS = 250, 0.02
"""Five seconds of polling: a sweep holds a tree's lock for as long as a capture takes."""
YOUNG_SECS = 60
"""Another process may still be creating or removing a younger directory."""


async def remove_orphans(trees: Trees) -> list[str]:
    """Remove the trees of dead processes. Return the names of the trees that are kept because of unsaved work.

    Throw-away trees are removed. A maker tree is removed only if it has no unsaved work.
    """
    kept: list[str] = []
    for directory in _all_trees(trees.directory / "trees"):
        lock = _lock_of(directory)
        if lock is None:
            continue
        facts = facts_of(directory)
        if facts is None or facts.kind != "maker" or not _has_entries(directory / "upper"):
            trees.delete(directory, facts)
            os.close(lock)
            continue
        tree = Tree(facts, directory, trees.sandbox_tree_of(directory, facts, []), lock)
        try:
            await trees.remove(tree)
        except DonewhenError:
            kept.append(facts.name)
            os.close(lock)
    return kept


async def adopt(trees: Trees, name: str) -> Tree | None:
    """Take over the tree of a dead owner with everything written in it; return None if the tree is gone.

    If a sweep holds the tree, wait for it. A living owner keeps its tree (None).
    """
    directory = trees.directory / "trees" / name
    try:
        lock = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.ExitStack() as unless_adopted:
        unless_adopted.callback(os.close, lock)
        if not await _wait_for_lock(lock):
            return None
        facts = facts_of(directory)
        if facts is None or not is_lock_of(lock, directory):
            return None
        shares = [await trees.shared(facts.base, path) for path in facts.shares]
        unless_adopted.pop_all()
        return Tree(facts, directory, trees.sandbox_tree_of(directory, facts, shares), lock)


async def _wait_for_lock(lock: int) -> bool:
    """Return True if the lock became free in time. Polls: a blocking flock in a thread cannot be cancelled."""
    for _ in range(MOST_POLLS):
        if try_lock(lock):
            return True
        await anyio.sleep(POLL_SECS)
    return try_lock(lock)


def release(tree: Tree) -> None:
    """Release a tree unchanged, so that another process can adopt it."""
    os.close(tree.lock)


async def saved_tree(trees: Trees, name: str) -> str:
    """Return the tree id of a tree's last capture, even if the tree is gone; empty if it was never captured."""
    answer = await trees.store.bare.run("for-each-ref", "--format=%(objectname)", f"refs/donewhen/trees/{name}")
    return answer.decode().strip()


def _all_trees(parent: Path) -> Iterator[Path]:
    """Yield all trees, then remove directories whose creation or removal was interrupted."""
    yield from sorted(parent.glob("[!.]*"))
    for unfinished in (REMOVING, NEW):
        for directory in filter(_is_old, parent.glob(f"{unfinished}*")):
            with contextlib.suppress(OSError):  # another sweep may be removing it too
                remove_tree(directory)


def _is_old(directory: Path) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - directory.stat().st_mtime > YOUNG_SECS
    return False


def _has_entries(upper: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return bool(os.listdir(upper))
    return False


def _lock_of(directory: Path) -> int | None:
    """Return the lock of a tree whose owner is dead; None if the owner lives or the tree is gone."""
    try:
        lock = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    if try_lock(lock) and is_lock_of(lock, directory):
        return lock
    os.close(lock)
    return None
