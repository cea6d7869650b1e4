"""Sandboxes for tests: a checkout, a tree over it at the checkout's own path, and a sandbox in that tree.

The layers are put together by hand, so that these tests cover the sandbox and not the making of trees.
"""

import contextlib
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.workspace.process.command import Finished
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox.level import Level, SandboxProbe, probe
from donewhen.workspace.sandbox.sandbox import SandboxConfig, SandboxTree, ShellCommand, TreeSandbox
from donewhen.workspace.sandbox.view import Bind, Overlay
from needs import leave_out

PATIENCE_SECS = 120.0


@dataclass(frozen=True)
class SandboxScene:
    """A checkout and the directories of its tree's layers."""

    checkout: Path
    state: Path
    launcher: Launcher
    probe: SandboxProbe

    @property
    def upper(self) -> Path:
        """The files written in the tree."""
        return self.state / "tree" / "upper"

    def room(
        self,
        config: SandboxConfig | None = None,
        shares: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> TreeSandbox:
        """A sandbox in the tree; `shares` are directories of the checkout with a throw-away writable layer."""
        base = self.state / "base"
        if not base.exists():
            shutil.copytree(self.checkout, base, symlinks=True, ignore=shutil.ignore_patterns(*shares))
        layers = [self._overlay("tree", base, self.checkout)]
        layers += [self._overlay(name, self.checkout / name, self.checkout / name) for name in shares]
        place = SandboxTree(
            str(self.checkout), tuple(layers), (str(self.state),), variables or {}, str(self._directory("scratch"))
        )
        return TreeSandbox(self.launcher, self.probe, place, config or SandboxConfig())

    def plain_room(self, level: Level, config: SandboxConfig | None = None) -> TreeSandbox:
        """A sandbox in a copy of the checkout, without layers, at the requested isolation level."""
        copy = str(self.state / "copy")
        shutil.copytree(self.checkout, copy, dirs_exist_ok=True)
        place = SandboxTree(copy, (Bind(copy, copy, writable=True),), scratch=str(self._directory("scratch")))
        return TreeSandbox(self.launcher, replace(self.probe, level=level), place, config or SandboxConfig())

    def _overlay(self, name: str, lower: Path, at: Path) -> Overlay:
        directory = self._directory(name.strip("."))
        for part in ("upper", "work"):
            (directory / part).mkdir(exist_ok=True)
        return Overlay(str(directory), (str(lower),), "upper", "work", str(at))

    def _directory(self, name: str) -> Path:
        place = self.state / name
        place.mkdir(parents=True, exist_ok=True)
        return place


@contextlib.asynccontextmanager
async def sandbox_scene(directory: Path) -> AsyncGenerator[SandboxScene]:
    """An empty checkout below `directory`, on a machine with full isolation."""
    checkout, state = directory / "checkout", directory / "state"
    checkout.mkdir()
    state.mkdir()
    async with Launcher.open() as launcher:
        found = await probe(launcher, state)
        if found.level is not Level.BUBBLEWRAP or not found.overlay:
            leave_out("bubblewrap with layers")
        yield SandboxScene(checkout, state, launcher, found)
    for work in state.glob("*/work/work"):
        work.chmod(0o700)


def write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


async def run(room: TreeSandbox, text: str, dir: str = ".") -> Finished:
    return await room.run(ShellCommand(text=text, dir=dir, timeout_secs=PATIENCE_SECS))


async def output(room: TreeSandbox, text: str, dir: str = ".") -> str:
    """Return the output of a command, which must succeed."""
    finished = await run(room, text, dir)
    printed = finished.stdout.whole().decode("utf-8", "replace")
    assert finished.ok, f"{finished.end} {finished.exit_code} {finished.reason}\n{printed}"
    return printed.strip()
