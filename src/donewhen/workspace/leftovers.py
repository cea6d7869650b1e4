"""Trees whose owner is gone: removed, kept because their work is in no store, or adopted with everything in them.

Whoever holds a tree's lock owns it, and a tree that is being removed is renamed first, so that any number of processes
may look at the same leftovers at the same time.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from donewhen.errors import DonewhenError
from donewhen.workspace.files import remove_tree, try_lock
from donewhen.workspace.trees import GONE, NEW, Tree, Trees, facts_of, holds

ASKS, ASK_AGAIN_SECS = 250, 0.02
"""A sweep holds a tree for as long as it takes to capture it."""
YOUNG_SECS = 60
"""Somebody may be at work on a directory that is just being made, or removed."""


async def sweep(trees: Trees) -> list[str]:
    """Remove what dead processes left behind; the names of the trees that are kept because of unsaved work.

    Throw-away trees are removed, a maker tree only when nothing in it is unsaved.
    """
    kept: list[str] = []
    for directory in _left(trees.directory / "trees"):
        lock = _lock_of(directory)
        if lock is None:
            continue
        facts = facts_of(directory)
        if facts is None or facts.kind != "maker" or not _has_something(directory / "upper"):
            trees.delete(directory, facts)
            os.close(lock)
            continue
        tree = Tree(facts, directory, trees.place_of(directory, facts, []), lock)
        try:
            await trees.remove(tree)
        except DonewhenError:
            kept.append(facts.name)
            os.close(lock)
    return kept


async def adopt(trees: Trees, name: str) -> Tree | None:
    """The tree of an owner that is gone, with all that was written in it; None when it is not there any more.

    A sweep that is just looking at it is waited for; an owner that lives keeps it.
    """
    directory = trees.directory / "trees" / name
    try:
        lock = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.ExitStack() as unless_adopted:
        unless_adopted.callback(os.close, lock)
        if not await _locked_soon(lock):
            return None
        facts = facts_of(directory)
        if facts is None or not holds(lock, directory):
            return None
        shares = [await trees.shared(facts.base, path) for path in facts.shares]
        unless_adopted.pop_all()
        return Tree(facts, directory, trees.place_of(directory, facts, shares), lock)


async def _locked_soon(lock: int) -> bool:
    """Whether the lock was let go of before long. Asked again and again: a thread that waits could not be ended."""
    for _ in range(ASKS):
        if try_lock(lock):
            return True
        await anyio.sleep(ASK_AGAIN_SECS)
    return try_lock(lock)


def let_go(tree: Tree) -> None:
    """Leave a tree as it is, for another process to adopt."""
    os.close(tree.lock)


async def saved(trees: Trees, name: str) -> str:
    """The last capture of a tree, be it there or not; empty when there was none."""
    answer = await trees.store.bare.run("for-each-ref", "--format=%(objectname)", f"refs/donewhen/trees/{name}")
    return answer.decode().strip()


def _left(parent: Path) -> Iterator[Path]:
    """The trees there are. What somebody could not finish making or removing is removed on the way."""
    yield from sorted(parent.glob("[!.]*"))
    for unfinished in (GONE, NEW):
        for directory in filter(_is_old, parent.glob(f"{unfinished}*")):
            with contextlib.suppress(OSError):  # another sweep may be at it as well
                remove_tree(directory)


def _is_old(directory: Path) -> bool:
    with contextlib.suppress(OSError):
        return time.time() - directory.stat().st_mtime > YOUNG_SECS
    return False


def _has_something(upper: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return bool(os.listdir(upper))
    return False


def _lock_of(directory: Path) -> int | None:
    """The lock of a tree whose owner is gone; None while the owner lives, or when the tree is gone as well."""
    try:
        lock = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    if try_lock(lock) and holds(lock, directory):
        return lock
    os.close(lock)
    return None
