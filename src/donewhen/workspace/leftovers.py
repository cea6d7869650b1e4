"""Trees whose owner is gone: removed, kept because their work is in no store, or adopted with everything in them.

Whoever holds a tree's lock owns it, and a tree that is being removed is renamed first, so that any number of processes
may look at the same leftovers at the same time.
"""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from donewhen.errors import DonewhenError
from donewhen.workspace.files import remove_tree, try_lock
from donewhen.workspace.trees import GONE, Tree, Trees, facts_of

YOUNG_SECS = 60
"""A directory that has no lock yet may be a tree that is just being made."""


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
    """The tree of an owner that is gone, with all that was written in it; None when it is not there any more."""
    directory = trees.directory / "trees" / name
    facts = facts_of(directory)
    lock = _lock_of(directory) if facts is not None else None
    if facts is None or lock is None:
        return None
    shares = [await trees.shared(facts.base, path) for path in facts.shares]
    return Tree(facts, directory, trees.place_of(directory, facts, shares), lock)


def let_go(tree: Tree) -> None:
    """Leave a tree as it is, for another process to adopt."""
    os.close(tree.lock)


async def saved(trees: Trees, name: str) -> str:
    """The last capture of a tree, be it there or not; empty when there was none."""
    answer = await trees.store.bare.run("for-each-ref", "--format=%(objectname)", f"refs/donewhen/trees/{name}")
    return answer.decode().strip()


def _left(parent: Path) -> Iterator[Path]:
    """The trees there are. What somebody could not finish removing is removed on the way."""
    for directory in sorted(parent.glob("[!.]*")):
        if not (directory / "lock").exists() and _is_old(directory):
            gone = directory.with_name(f"{GONE}{secrets.token_hex(8)}")
            with contextlib.suppress(OSError):
                directory.rename(gone)
        else:
            yield directory
    for directory in filter(_is_old, parent.glob(f"{GONE}*")):
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
    path = directory / "lock"
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if try_lock(lock) and os.path.samestat(os.fstat(lock), os.lstat(path)):
            return lock
    os.close(lock)
    return None
