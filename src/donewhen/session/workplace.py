"""Everything that work in a repository needs, opened together: settings, the wall, the store, the trees.

    async with open_workplace(Path.cwd()) as place:
        async with place.tree("throwaway", commit) as tree:
            await place.room(tree).run(ShellCommand(text="make test"))

What is not here: what the work is. A verb or a session decides that.
"""

import contextlib
import os
import re
import stat
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.errors import BadInput, MachineryBroke
from donewhen.session import settings as settings_module
from donewhen.session.contract_file import held_back
from donewhen.session.settings import Settings
from donewhen.session.trust import TrustBook
from donewhen.workspace.command import Finished
from donewhen.workspace.layers import History, setup_key
from donewhen.workspace.process import Launcher
from donewhen.workspace.repo import Repo, open_repo
from donewhen.workspace.sandbox import level, relay
from donewhen.workspace.sandbox.level import Level, Probe
from donewhen.workspace.sandbox.room import Place, Room, RoomConfig, ShellCommand
from donewhen.workspace.setup import build_setup_layer, setup_inputs
from donewhen.workspace.state import repository_directory, state_root
from donewhen.workspace.store import Store, edit
from donewhen.workspace.trees import Standing, Tree, Trees

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TIDY_SECS = 86_400


@dataclass(frozen=True, slots=True)
class Workplace:
    repo: Repo
    settings: Settings
    probe: Probe
    store: Store
    trees: Trees
    launcher: Launcher

    @contextlib.asynccontextmanager
    async def tree(self, kind: str, commit: str, candidate: str = "") -> AsyncGenerator[Tree]:
        """A tree over a commit with everything `[workspace]` asks for; removed at the end unless it holds work.

        With a candidate, its files are those of that tree id.
        """
        tree = await self.trees.make(kind, commit, await self.standing(commit, candidate))
        try:
            yield tree
        finally:
            await self.trees.remove(tree, discard=kind != "maker")

    def room(self, tree: Tree, in_setup: bool = False) -> Room:
        """The sandbox of a tree."""
        return self.room_of(tree.place, in_setup)

    def room_of(self, place: Place, in_setup: bool = False) -> Room:
        """The sandbox of a place that was made out of a tree's."""
        return Room(self.launcher, self.probe, place, room_config(self.settings, in_setup))

    async def maker_base(self, commit: str) -> str:
        """The commit that a maker starts from: this one, or one like it that tells nothing of held-out checks."""
        file = self.settings.file
        if file is None or not self.holds_out:
            return commit
        path = str(file.relative_to(self.repo.root))
        found = await edit.file_in(self.store.bare, await self.store.tree_of(commit), path)
        if found is None:
            return commit
        shown = held_back(found[1].decode("utf-8", "replace")).encode()
        return commit if shown == found[1] else await edit.with_file(self.store.bare, commit, path, shown)

    @property
    def holds_out(self) -> bool:
        """Whether there is a check that the maker must never see."""
        return any(entry["held_out"] for entry in self.settings.tables("check"))

    async def standing(self, commit: str, candidate: str = "") -> Standing:
        """What a tree of a commit, or of a candidate over it, stands on."""
        alone = self.holds_out or self.settings.text("workspace", "history") == "none"
        history: History = "none" if alone else "base"
        bare = Standing(history=history, share=self.settings.texts("workspace", "share"), candidate=candidate)
        commands = self.settings.texts("workspace", "setup")
        if not commands:
            return bare
        inputs = await setup_inputs(self.store, candidate or commit)
        # Where a candidate asks for nothing new, the setup runs on the base's files: it must not depend on the rest.
        same = not candidate or inputs == await setup_inputs(self.store, commit)
        ground = replace(bare, candidate="") if same else bare
        layer = await self.trees.layers.setup(
            setup_key(commands, inputs), lambda into: self._set_up(commit, ground, commands, into)
        )
        return replace(bare, layers=(layer.path,))

    async def _set_up(self, commit: str, standing: Standing, commands: tuple[str, ...], into: Path) -> None:
        tree = await self.trees.make("throwaway", commit, standing)
        try:
            room = self.room(tree, in_setup=True)
            for command in commands:
                _require_success(command, await room.run(ShellCommand(text=command)))
            await build_setup_layer(self.store, standing.candidate or commit, tree.upper, into)
        finally:
            await self.trees.remove(tree, discard=True)


def room_config(settings: Settings, in_setup: bool = False) -> RoomConfig:
    """The part of `[workspace]` that shapes the wall, checked."""
    network = settings.text("workspace", "network")
    sockets, names = settings.texts("workspace", "sockets"), settings.texts("workspace", "env")
    with settings.blaming("workspace", "sockets"):
        for path in sockets:
            if not os.path.isabs(path) or not _is_socket(path):
                raise BadInput(f"workspace.sockets: '{path}' is not the absolute path of a unix socket")
    with settings.blaming("workspace", "env"):
        for name in names:
            if not VARIABLE.fullmatch(name):
                raise BadInput(f"workspace.env: '{name}' is not the name of a variable")
    with settings.blaming("workspace", "reach"):
        services = relay.parse(settings.texts("workspace", "reach"))
    full = network == "full" or (network == "setup" and in_setup)
    return RoomConfig(network=full, services=services, sockets=sockets, env=names)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _require_success(command: str, finished: Finished) -> None:
    if not finished.ok:
        lines = finished.stdout.whole().decode("utf-8", "replace").strip().splitlines()
        last = lines[-1] if lines else finished.reason
        raise MachineryBroke(f"workspace.setup: '{command}' ended with {finished.exit_code}: {last}")


@contextlib.asynccontextmanager
async def open_workplace(start: Path, offline: bool = False) -> AsyncGenerator[Workplace]:
    """Open the repository that `start` lies in. Bad input is found before anything is written or started for it."""
    async with Launcher.open() as launcher:
        repo = await open_repo(launcher, start)
        state = state_root(os.environ)
        settings = settings_module.load(start.resolve(), repo.root, os.environ, TrustBook(state))
        if offline:
            settings = settings.with_value("workspace", "network", "none", "offline")
        room_config(settings)
        probe = enforced(await level.recorded_probe(launcher, state), settings.text("workspace", "isolation"))
        directory = repository_directory(state, repo.common_dir)
        store = await Store.open(launcher, repo, directory / "store")
        trees = Trees(repo, store, probe, directory, hidden=(str(state),))
        await trees.sweep()
        trees.layers.forget_old(trees.in_use())
        yield Workplace(repo, settings, probe, store, trees, launcher)
        await _tidy_now_and_then(store, directory / "tidied")


async def _tidy_now_and_then(store: Store, stamp: Path) -> None:
    """Once a day, after the work: give back the disk space of what nobody needs."""
    try:
        due = time.time() - stamp.stat().st_mtime > TIDY_SECS
    except FileNotFoundError:
        due = False
        stamp.touch()
    if due:
        stamp.touch()
        await store.tidy()


def enforced(probe: Probe, isolation: str) -> Probe:
    """The wall that will really stand, or one line on what would give this machine one."""
    if isolation == "none":
        return replace(probe, level=Level.NONE)
    if probe.level is Level.NONE and isolation == "required":
        raise MachineryBroke(f"no sandbox on this machine ({probe.bwrap_problem}); fix: {level.fix(probe)}")
    return probe
