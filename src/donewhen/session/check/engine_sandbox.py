"""The sandbox of an engine's commands. It looks like that of a check, so that product code cannot tell them apart."""

import shutil
from dataclasses import replace

from donewhen.engines.interface import RunOnCopy
from donewhen.judge.surroundings import engine_tree
from donewhen.session.check.judge_tree import judge_environment
from donewhen.session.settings.contract_file import contract_in
from donewhen.session.settings.settings import Settings
from donewhen.session.workplace import Workplace
from donewhen.workspace.process.command import Finished
from donewhen.workspace.process.output import Watch
from donewhen.workspace.sandbox.guest import Guest
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.sandbox import Sandbox, ShellCommand
from donewhen.workspace.trees.trees import Tree


async def engine_sandbox(workplace: Workplace, tree: Tree, reads_only: bool = False) -> Sandbox:
    """Return the sandbox for a tree in which an engine works. With `reads_only` no command can write to the tree, or
    to anything over the network."""
    files = tree.sandbox_tree.read_only() if reads_only else tree.sandbox_tree
    workplace = replace(workplace, settings=without_network(workplace.settings)) if reads_only else workplace
    if workplace.probe.level is not Level.BUBBLEWRAP:
        return workplace.sandbox_of(files)  # nothing can be mounted here
    contract = contract_in(workplace.settings)
    environment = judge_environment(workplace, contract)
    base_files = await workplace.trees.layers.root_of(tree.facts.base)
    reports = tree.directory / "reports"
    reports.mkdir(mode=0o755, exist_ok=True)
    place = engine_tree(files, reports, contract.checks, base_files, environment)
    return _EngineSandbox(workplace.sandbox_of(place), tree)


def without_network(settings: Settings) -> Settings:
    """Return the settings for an agent that only reads: what has a network or a service of the host can write there."""
    for table, key, value in (
        ("workspace", "network", "none"),
        ("workspace", "reach", ()),
        ("workspace", "sockets", ()),
        ("external", "mcp_url", ""),
    ):
        settings = settings.with_value(table, key, value, "an agent that only reads")
    return settings


def run_on_copy(workplace: Workplace, base: str, tree: str) -> RunOnCopy:
    """Return a function that runs commands on throw-away copies of a tree."""

    async def run(command: str, timeout_secs: float) -> Finished:
        async with workplace.tree("judge", base, tree) as judged:
            sandbox = await engine_sandbox(workplace, judged)
            return await sandbox.run(ShellCommand(text=command, timeout_secs=timeout_secs))

    return run


class _EngineSandbox:
    """Every command finds the directory of reports empty, as a check does."""

    def __init__(self, inner: Sandbox, tree: Tree) -> None:
        self._inner = inner
        self._reports = tree.directory / "reports"

    async def run(self, command: ShellCommand, stdout: Watch | None = None, stderr: Watch | None = None) -> Finished:
        shutil.rmtree(self._reports, ignore_errors=True)
        self._reports.mkdir(mode=0o755, exist_ok=True)
        return await self._inner.run(command, stdout=stdout, stderr=stderr)

    def with_guest(self, guest: Guest) -> Sandbox:
        return self._inner.with_guest(guest)
