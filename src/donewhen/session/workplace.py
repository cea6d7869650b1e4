"""Everything that work in a repository needs, opened together: settings, sandbox, object store, trees.

    async with open_workplace(Path.cwd()) as workplace:
        async with workplace.tree("throwaway", commit) as tree:
            await workplace.sandbox(tree).run(ShellCommand(text="make test"))

What the work is, is decided by a verb or a session and not here.
"""

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import AsyncGenerator
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.errors import BadInput, MachineryBroke
from donewhen.judge.contract import Contract
from donewhen.judge.run_cache import forget_old_runs, key_of
from donewhen.records import frozen
from donewhen.session.settings import settings as settings_module
from donewhen.session.settings.contract_file import contract_in, without_held_out
from donewhen.session.settings.settings import Settings
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.beneath import Root
from donewhen.workspace.git.objects import TreeEntry, raw, text
from donewhen.workspace.git.repo import Repo, open_repo
from donewhen.workspace.git.store import Store, edit_tree
from donewhen.workspace.process.command import Finished
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox import level
from donewhen.workspace.sandbox.config import SandboxConfig
from donewhen.workspace.sandbox.level import Level, SandboxProbe
from donewhen.workspace.state_dir import repository_directory, state_root
from donewhen.workspace.trees.layers import History, setup_key
from donewhen.workspace.trees.orphans import remove_orphans
from donewhen.workspace.trees.setup import build_setup_layer, setup_inputs
from donewhen.workspace.trees.trees import Tree, TreeLayers, Trees

if TYPE_CHECKING:
    from donewhen.workspace.sandbox.relay import RelayService
    from donewhen.workspace.sandbox.sandbox import SandboxTree, TreeSandbox

# `sandbox.sandbox` is loaded on use: a caller that runs no command does not need it.

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TIDY_SECS = 86_400
HELD_OUT_VERSION = 1
"""Version of the rules that find the files of held-out checks. A change of this number makes all results unknown."""


@frozen
class AgentTools:
    """An MCP server that is offered to an agent which works here, and the token with which the gateway asks it."""

    url: str
    token: str = field(repr=False)


@frozen
class Workplace:
    repo: Repo
    settings: Settings
    probe: SandboxProbe
    store: Store
    trees: Trees
    launcher: Launcher
    agent_tools: AgentTools | None = None
    """None: an agent gets only what `external.mcp_url` names."""
    _setup_trees: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Base commit and candidate → the tree that setup commands see."""

    @contextlib.asynccontextmanager
    async def tree(
        self,
        kind: str,
        commit: str,
        candidate: str = "",
        hidden: frozenset[str] | None = None,
        unguarded_setup: bool = False,
    ) -> AsyncGenerator[Tree]:
        """Provide a tree over a commit with everything that `[workspace]` asks for.

        With a candidate, the files are those of that tree id. `hidden` are the files that it does not have; None for
        those that only held-out checks may see. The tree is removed at the end, except a maker tree with unsaved work.
        With `unguarded_setup`, which only tests ask for, setup commands see the whole candidate.
        """
        if hidden is None:
            hidden = await self.held_out_files(commit)
        if self.has_held_out_checks:
            # The texts of held-out checks are invisible to all commands: those of the maker and those of a check.
            candidate = await self._without_held_out(candidate, hidden) if candidate else ""
            commit = await self._shown_commit(commit, hidden)
        tree = await self.trees.make(kind, commit, await self.tree_layers(commit, candidate, hidden, unguarded_setup))
        try:
            yield tree
        finally:
            await self.trees.remove(tree, discard=kind != "maker")

    def engine_directory(self, session: str) -> Path:
        """Return the directory in which the engines of a session keep their private files."""
        return self.trees.directory / "engines" / session

    def sandbox(self, tree: Tree, in_setup: bool = False) -> "TreeSandbox":
        """Return the sandbox of a tree."""
        return self.sandbox_of(tree.sandbox_tree, in_setup)

    def sandbox_of(self, tree: "SandboxTree", in_setup: bool = False) -> "TreeSandbox":
        """Return the sandbox of a tree."""
        from donewhen.workspace.sandbox.sandbox import TreeSandbox

        return TreeSandbox(self.launcher, self.probe, tree, sandbox_config(self.settings, in_setup))

    async def held_out_files(self, base: str) -> frozenset[str]:
        """Return the files of a base that only held-out checks may see. They must have been found before."""
        if not self.has_held_out_checks:
            return frozenset()
        kept = await self.kept_held_out_files(base)
        try:
            return frozenset(json.loads(kept.read_text()))
        except (OSError, ValueError) as error:
            raise MachineryBroke(f"the files of the held-out checks are not known: {error}") from error

    async def kept_held_out_files(self, base: str) -> Path:
        """Return the file that keeps which files only held-out checks may see. `check.held_out_files` writes it."""
        facts = (await self.store.tree_of(base), asdict(contract_in(self.settings)), self.probe.level.value)
        return self.trees.directory / "held-out" / key_of(HELD_OUT_VERSION, *facts)

    async def maker_base(self, base: str) -> str:
        """Return the commit that a maker starts from: this one, or a copy that does not reveal held-out checks."""
        return await self._shown_commit(base, await self.held_out_files(base)) if self.has_held_out_checks else base

    async def _shown_commit(self, commit: str, hidden: frozenset[str]) -> str:
        tree = await self.store.tree_of(commit)
        shown = await self._without_held_out(tree, hidden)
        return commit if shown == tree else await edit_tree.commit_like(self.store.bare, commit, shown)

    async def as_shown(self, tree: str, base: str) -> str:
        """Return a tree over a base as a maker may see it: without anything that reveals held-out checks."""
        if not self.has_held_out_checks:
            return tree
        return await self._without_held_out(tree, await self.held_out_files(base))

    async def candidate_of(self, made: str, base: str) -> str:
        """Return what a maker made as a tree over the real base. What was hidden from the maker is there again."""
        shown = await self.maker_base(base)
        if shown == base:
            return made
        hidden = await self.held_out_files(base)
        changes = await self.store.diff(await self.store.tree_of(shown), made)
        entries = {raw(change.path): change.new for change in changes if not _is_in_the_way(change.path, hidden)}
        return await edit_tree.with_changes(self.store.bare, await self.store.tree_of(base), entries)

    async def _without_held_out(self, tree: str, hidden: frozenset[str]) -> str:
        entries: dict[bytes, TreeEntry | None] = {raw(path): None for path in hidden}
        for file in (self.settings.file, *self.settings.also):
            if file is None or not file.is_relative_to(self.repo.root):
                continue
            path = str(file.relative_to(self.repo.root))
            found = await edit_tree.file_in(self.store.bare, tree, path)
            if found is not None:
                blob = self.store.bare.write("blob", without_held_out(found[1]))
                entries[raw(path)] = TreeEntry(found[0].mode, blob)
        return await edit_tree.with_changes(self.store.bare, tree, entries) if entries else tree

    @property
    def has_held_out_checks(self) -> bool:
        """True if there is a check that the maker must never see."""
        return any(entry["held_out"] for entry in self.settings.tables("check"))

    async def tree_layers(
        self, commit: str, candidate: str = "", hidden: frozenset[str] = frozenset(), unguarded_setup: bool = False
    ) -> TreeLayers:
        """Return the layers below a tree of a commit, or of a candidate over it. Setup commands do not see `hidden`."""
        alone = self.has_held_out_checks or self.settings.text("workspace", "history") == "none"
        history: History = "none" if alone else "base"
        bare = TreeLayers(history=history, share=self.settings.texts("workspace", "share"), candidate=candidate)
        commands = self.settings.texts("workspace", "setup")
        if not commands:
            return bare
        if unguarded_setup:
            key, below = setup_key((*commands, candidate), []), bare
        else:
            below = replace(bare, candidate=await self._setup_files(commit, candidate) if candidate else "")
            inputs = await setup_inputs(self.store, below.candidate or commit)
            key = setup_key((*commands, *sorted(hidden)), inputs)
        if self.has_held_out_checks:
            commit = await self._shown_commit(commit, hidden)
            below = replace(below, candidate=below.candidate and await self._without_held_out(below.candidate, hidden))
        layer = await self.trees.layers.setup(
            key, lambda into: self._set_up(commit, below, commands, into, guarded=not unguarded_setup)
        )
        return replace(bare, layers=(layer.path,))

    async def _setup_files(self, commit: str, candidate: str) -> str:
        """Return the tree that setup commands see for a candidate; empty if it is the base's.

        Of the candidate it contains only accepted data, so that no code of the candidate runs while there is network
        access, or puts anything into a layer that is kept.
        """
        from donewhen.judge.protect import Guard  # loaded on use: most repositories have no setup commands
        from donewhen.judge.protect.rules.setup_files import setup_tree

        if (commit, candidate) not in self._setup_trees:
            base_tree = await self.store.tree_of(commit)
            guard = Guard(contract_in(self.settings), await self.trees.layers.root_of(commit))
            tree = await setup_tree(self.store, base_tree, candidate, guard)
            self._setup_trees[commit, candidate] = "" if tree == base_tree else tree
        return self._setup_trees[commit, candidate]

    async def _set_up(
        self, commit: str, layers: TreeLayers, commands: tuple[str, ...], into: Path, *, guarded: bool
    ) -> None:
        from donewhen.workspace.sandbox.sandbox import ShellCommand

        tree = await self.trees.make("throwaway", commit, layers)
        try:
            sandbox = self.sandbox(tree, in_setup=True)
            for command in commands:
                _require_success(command, await sandbox.run(ShellCommand(text=command)))
            await build_setup_layer(self.store, layers.candidate or commit, tree.upper, into)
            if layers.candidate and guarded:
                files = await self.trees.layers.root_of(commit)
                _remove_protected(Root(into), contract_in(self.settings), files)
        finally:
            await self.trees.remove(tree, discard=True)


def _is_in_the_way(path: str, hidden: frozenset[str]) -> bool:
    """Return True if a path is one of these files, or cannot be in the same tree as one of them."""
    above = {path[:at] for at, letter in enumerate(path) if letter == "/"}
    return path in hidden or not hidden.isdisjoint(above) or any(one.startswith(f"{path}/") for one in hidden)


def _remove_protected(layer: Root, contract: Contract, base_files: Root) -> None:
    """Remove from a setup layer the files that would control checks.

    Directories of installed packages are not searched, because they are large.
    """
    from donewhen.judge.protect import Guard  # loaded on use: most trees have no setup layer of their own

    guard = Guard(contract, base_files)
    for path in layer.files_below(enter=lambda directory: not guard.names.installed(text(directory))):
        if guard.protects(text(path)):
            with layer.above(path) as (above, name):
                os.unlink(name, dir_fd=above)


def sandbox_config(settings: Settings, in_setup: bool = False) -> SandboxConfig:
    """Return the part of `[workspace]` that configures the sandbox. Raise BadInput if it is invalid."""
    network = settings.text("workspace", "network")
    sockets, names = settings.texts("workspace", "sockets"), settings.texts("workspace", "env")
    with settings.naming_source("workspace", "sockets"):
        for path in sockets:
            if not os.path.isabs(path) or not _is_socket(path):
                raise BadInput(f"workspace.sockets: '{path}' is not the absolute path of a unix socket")
    with settings.naming_source("workspace", "env"):
        for name in names:
            if not VARIABLE.fullmatch(name):
                raise BadInput(f"workspace.env: '{name}' is not the name of a variable")
    services = _services(settings)
    full = network == "full" or (network == "setup" and in_setup)
    return SandboxConfig(network=full, services=services, sockets=sockets, env=names)


def _services(settings: Settings) -> "tuple[RelayService, ...]":
    if not settings.texts("workspace", "reach"):
        return ()
    from donewhen.workspace.sandbox import relay

    with settings.naming_source("workspace", "reach"):
        return relay.parse(settings.texts("workspace", "reach"))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _require_success(command: str, finished: Finished) -> None:
    if not finished.ok:
        lines = finished.stdout.whole().decode("utf-8", "replace").strip().splitlines()
        last = lines[-1] if lines else finished.reason
        raise MachineryBroke(f"workspace.setup: '{command}' exited with {finished.exit_code}: {last}")


@contextlib.asynccontextmanager
async def open_workplace(start: Path, offline: bool = False, held: Settings | None = None) -> AsyncGenerator[Workplace]:
    """Open the repository that contains `start`. Bad input is reported before anything is written or started for it.

    With `held`, the settings of a session that already exists, no settings file is read.
    """
    async with Launcher.open() as launcher:
        repo = await open_repo(launcher, start)
        state = state_root(os.environ)
        settings = held or settings_module.load(start.resolve(), repo.root, os.environ, TrustBook(state))
        if offline:
            settings = settings.with_value("workspace", "network", "none", "offline")
        sandbox_config(settings)
        probe = enforce_isolation(await level.recorded_probe(launcher, state), settings.text("workspace", "isolation"))
        directory = repository_directory(state, repo.common_dir)
        store = await Store.open(launcher, repo, directory / "store")
        trees = Trees(repo, store, probe, directory, hidden=(str(state),))
        await remove_orphans(trees)
        trees.layers.remove_old(trees.in_use())
        yield Workplace(repo, settings, probe, store, trees, launcher)
        await _tidy_now_and_then(store, directory)


async def _tidy_now_and_then(store: Store, directory: Path) -> None:
    """Once a day, after the work, free the disk space of data that is no longer needed."""
    stamp = directory / "tidied"
    try:
        due = time.time() - stamp.stat().st_mtime > TIDY_SECS
    except FileNotFoundError:
        due = False
        stamp.touch()
    if due:
        stamp.touch()
        forget_old_runs(directory)
        await store.tidy()


def enforce_isolation(probe: SandboxProbe, isolation: str) -> SandboxProbe:
    """Return the probe with the isolation level that will be enforced.

    Raise MachineryBroke, with the line that fixes it, if isolation is required and this machine has none.
    """
    if isolation == "none":
        return replace(probe, level=Level.NONE)
    if probe.level is Level.NONE and isolation == "required":
        problems = "; ".join(filter(None, (probe.bwrap_problem, probe.landlock_problem)))
        raise MachineryBroke(f"no sandbox on this machine ({problems}); fix: {level.fix(probe)}")
    return probe
