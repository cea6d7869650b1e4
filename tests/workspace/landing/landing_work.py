"""A repository and its store for tests of landing, with the user's own git as a reference."""

import datetime
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from donewhen.workspace.git.landing.commits import commit_for
from donewhen.workspace.git.objects import FILE, TreeEntry
from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.git.store.edit_tree import with_changes
from donewhen.workspace.process.launch import Launcher
from repositories import git, try_git

AT = datetime.datetime(2025, 6, 7, 8, 9, 10, tzinfo=datetime.UTC)


@asynccontextmanager
async def store_of(root: Path, state: Path) -> AsyncGenerator[Store]:
    async with Launcher.open() as launcher:
        yield await Store.open(launcher, await open_repo(launcher, root), state)


async def work(store: Store, files: Mapping[bytes, bytes | TreeEntry | None], parent: str = "") -> str:
    """A tree of our store with these files changed; None removes one."""
    entries: dict[bytes, TreeEntry | None] = {}
    for path, content in files.items():
        is_content = isinstance(content, bytes)
        entries[path] = TreeEntry(FILE, store.bare.write("blob", content)) if is_content else content
    return await with_changes(store.bare, await store.tree_of(parent or store.repo.head), entries)


def commit_of(store: Store, tree: str, parent: str = "", message: str = "the work\n") -> str:
    return commit_for(store, store.repo, tree=tree, parent=parent or store.repo.head, message=message, at=AT)


def is_sound(root: Path) -> None:
    """The user's git finds no errors, and no file of ours is left."""
    ran = try_git(root, "fsck", "--strict", "--full", "--no-dangling")
    assert ran.returncode == 0, ran.stderr.decode()
    assert ran.stderr == b"", ran.stderr.decode()
    common = Path(git(root, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    left = [path for path in common.rglob("*") if path.suffix == ".lock" or "donewhen-" in path.name]
    assert left == []


def status(root: Path) -> list[str]:
    answer = try_git(root, "-c", "core.quotePath=false", "status", "--porcelain", "--no-renames").stdout
    return answer.decode("utf-8", "surrogateescape").splitlines()


def has(root: Path, object_id: str) -> bool:
    return try_git(root, "cat-file", "-e", object_id).returncode == 0
