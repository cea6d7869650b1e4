"""Layers shared by many trees: checkouts of base commits, their small git directories, and the results of `setup`.

Each layer is built once, under a lock, in a separate directory that is renamed when it is complete. After that it is
never written. In a sandbox a layer appears only below an overlay, so commands cannot change it either.

    bases/COMMIT/files          every file of the commit
    bases/COMMIT/git-HISTORY    only a `.git`: the commits reachable from base, or a single one
    setups/KEY/files            what the setup commands added
    candidates/COMMIT-TREE/files    the difference between the commit's files and those of a tree
"""

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, NamedTuple

import anyio

from donewhen.workspace.beneath import Root
from donewhen.workspace.files import disk_use, locked, remove_tree, write_atomically
from donewhen.workspace.git.store import Store

History = Literal["base", "none"]
KEPT_BASES = 8
KEPT_SETUPS = 8
KEPT_CANDIDATES = 16
BUILDING = "building-"


class Layer(NamedTuple):
    """A complete layer. `path` is relative to the directory of all layers and trees of a repository."""

    path: str
    bytes: int


class Layers:
    """The layers of one repository, below `directory`."""

    def __init__(self, store: Store, directory: Path) -> None:
        self._store = store
        self.directory = directory

    async def files(self, commit: str) -> Layer:
        """Return the checkout of a commit, built on first use."""
        return await self._get_or_build(f"bases/{commit}/files", lambda into: self._store.check_out(commit, into))

    async def root_of(self, commit: str) -> Root:
        """Return the same checkout as a `Root`: its links come from the repository and are not followed."""
        return Root(self.directory / (await self.files(commit)).path)

    async def git_dir(self, commit: str, history: History) -> Layer:
        """Return a layer that holds only `.git`, for tools inside a tree. The runtime never reads it."""

        async def build(into: Path) -> None:
            await self._store.seed_git_dir(commit, history, into / ".git")

        return await self._get_or_build(f"bases/{commit}/git-{history}", build)

    async def setup(self, key: str, build: Callable[[Path], Awaitable[object]]) -> Layer:
        """Return the layer of a setup key; `build` makes it if the key is new."""
        return await self._get_or_build(f"setups/{key}/files", build)

    async def candidate(self, commit: str, tree: str) -> Layer:
        """Return the layer that turns a checkout of a commit into one of a tree. The cost depends on the difference."""
        from donewhen.workspace.trees.capture import (
            write_layer,  # imported on use: not needed if no tree is created
        )

        base = await self._store.tree_of(commit)
        return await self._get_or_build(
            f"candidates/{commit}-{tree}/files", lambda into: write_layer(self._store, base, tree, into)
        )

    async def _get_or_build(self, path: str, build: Callable[[Path], Awaitable[object]]) -> Layer:
        path_on_disk = self.directory / path
        done = path_on_disk.with_name(f"{path_on_disk.name}.json")
        if not done.exists():
            path_on_disk.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            async with locked(path_on_disk.with_name(f"{path_on_disk.name}.lock")):
                if not done.exists():
                    await self._build(path_on_disk, done, build)
        with contextlib.suppress(FileNotFoundError):
            os.utime(done)
        return Layer(path, json.loads(done.read_text())["bytes"])

    async def _build(self, path_on_disk: Path, done: Path, build: Callable[[Path], Awaitable[object]]) -> None:
        for unfinished in path_on_disk.parent.glob(f"{BUILDING}{path_on_disk.name}-*"):
            remove_tree(unfinished)
        remove_tree(path_on_disk)
        building = path_on_disk.with_name(f"{BUILDING}{path_on_disk.name}-{uuid.uuid4().hex[:8]}")
        building.mkdir(mode=0o755)
        try:
            await build(building)
            size = await anyio.to_thread.run_sync(disk_use, building)
            building.rename(path_on_disk)
        finally:
            remove_tree(building)
        write_atomically(done, json.dumps({"bytes": size}))

    def remove_old(self, in_use: set[str]) -> int:
        """Remove the least recently used layers beyond the number kept, except those in use. Return the bytes freed."""
        freed = 0
        for kind, kept in (("bases", KEPT_BASES), ("setups", KEPT_SETUPS), ("candidates", KEPT_CANDIDATES)):
            directories = [path_on_disk for path_on_disk in (self.directory / kind).glob("*") if path_on_disk.is_dir()]
            directories.sort(key=_last_used, reverse=True)
            for path_on_disk in directories[kept:]:
                if path_on_disk.name not in in_use:
                    freed += sum(json.loads(done.read_text())["bytes"] for done in path_on_disk.glob("*.json"))
                    remove_tree(path_on_disk)
        return freed


def setup_key(commands: tuple[str, ...], inputs: list[tuple[str, str]]) -> str:
    """Return the key of a setup layer: a hash of the commands and of the name and content id of every setup input."""
    return hashlib.sha256(json.dumps([commands, sorted(inputs)]).encode()).hexdigest()[:32]


LOCK_FILES = frozenset({"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", "go.work.sum"})
SETUP_INPUTS = frozenset({
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock",
    "bun.lock", "bun.lockb", ".npmrc", ".nvmrc", ".node-version", "pyproject.toml", "setup.py", "setup.cfg", "uv.lock",
    "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock", ".python-version", ".tool-versions", "mise.toml",
    "Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml", "go.mod", "go.sum", "go.work.sum", "Gemfile",
    "Gemfile.lock", "composer.json", "composer.lock", "mix.exs", "mix.lock", "pom.xml", "build.gradle",
    "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.lockfile", "packages.lock.json",
    "Directory.Packages.props", "environment.yml", "deno.lock", "conanfile.py", "conanfile.txt", "Package.swift",
    "Package.resolved",
})  # fmt: skip
"""Files that decide what a setup command installs. Lists of requirements, `*.lock` and `*.gemspec` count as well.

They decide when a setup layer is built again. Which of them a candidate may change for setup commands is decided in
`judge.protect.rules.setup_files`.
"""


def is_lock_file(path: str) -> bool:
    """Return True if tools rewrite this file automatically when the locked dependencies change."""
    name = path.rpartition("/")[2]
    return name.endswith((".lock", ".lockb", ".lockfile")) or name in LOCK_FILES


def is_setup_input(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    is_listed = name.startswith(("requirements", "constraints")) or directory.rpartition("/")[2] == "requirements"
    return (
        name in SETUP_INPUTS or name.endswith((".lock", ".gemspec")) or (is_listed and name.endswith((".txt", ".in")))
    )


def _last_used(path_on_disk: Path) -> float:
    return max((done.stat().st_mtime for done in path_on_disk.glob("*.json")), default=0.0)
