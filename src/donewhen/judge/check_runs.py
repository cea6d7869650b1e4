"""Runs checks in fresh trees over one base, and keeps the runs. It does not judge them.

    run = await check_runs.run(check, tree)

Every run gets its own throw-away tree, so that no check can see what another check left.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING

from donewhen.judge.check_run import CheckRun, SealedWrites
from donewhen.judge.contract import Check
from donewhen.judge.defences import Defences
from donewhen.judge.judge_host import JudgeEnvironment, JudgeHost
from donewhen.judge.run_cache import RunCache, key_of
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.trees.trees import Tree

if TYPE_CHECKING:
    from donewhen.workspace.sandbox.seccomp import ObservedCalls

VERSION = 7
"""Version of the format and meaning of kept runs. A change of this number makes all kept runs unknown."""


@frozen(kw_only=True)
class CheckRuns:
    host: JudgeHost
    base: str
    base_tree: str
    base_files: Root
    environment: JudgeEnvironment
    defences: Defences
    runs: RunCache
    forbidden_writes: Callable[[Iterable[str]], SealedWrites] = lambda _: SealedWrites()
    """Returns which of the paths written by a run it should not write."""
    seals_outside: bool = False
    """Shares and the private home are sealed as well."""
    read_only_files: Callable[[], tuple[str, ...]] = tuple
    """Returns the protected files that are mounted read-only. Called only when a check is really run."""
    hidden: frozenset[str] = frozenset()
    """Files that only held-out checks may see. The trees of other checks do not have them."""
    rules: str = ""
    """Identifies the rules that `forbidden_writes` follows."""
    base_runs: dict[tuple[str, frozenset[str]], CheckRun] = field(
        default_factory=dict[tuple[str, frozenset[str]], CheckRun]
    )
    """The first run on the base of each check, by name and hidden files, also if it cannot be kept on disk."""
    _shared: dict[str, Tree] = field(default_factory=dict[str, Tree])

    def is_in_base(self, path: str) -> bool:
        try:
            return self.base_files.status(path) is not None
        except OSError:
            return False

    async def run(self, check: Check, tree: str, number: int = 1) -> CheckRun:
        """Run a check on a tree for the n-th time, or return the kept run with that number."""
        known = self.base_runs.get((check.name, self._hidden_from(check))) if number == 1 else None
        if tree == self.base_tree and known is not None:
            return known
        key = await self._key(check, tree, f"run {number}")
        return self.runs.get(key) or await self._run(check, tree, key)

    async def used_on_base(self, check: Check) -> CheckRun:
        """Return a run on the base that shows what the check uses.

        If nothing is known about the environment, the run proves nothing later, but what it used is kept.
        """
        compared = asdict(replace(check, name="", held_out=False, quarantine=None))
        key = "" if self.environment.digest else key_of(VERSION, "used", self.base_tree, compared)
        known = self.runs.get(key)
        if known is None:
            known = await self.run(check, self.base_tree)
            self.base_runs[check.name, self._hidden_from(check)] = known
            self.runs.put(key, known)
        return known

    async def run_unkept(self, check: Check, tree: str) -> CheckRun:
        """Run a check on a tree, even if a run is kept. The new run is not kept."""
        return await self._run(check, tree, "")

    async def kept_canary(self, check: Check, tree: str) -> CheckRun | None:
        """Return the kept run with added tests that must fail; None if there is none."""
        return self.runs.get(await self._key(check, tree, "canary"))

    async def run_canary(
        self, check: Check, tree: str, files: Mapping[str, bytes], names: Mapping[int, str], keep: bool = True
    ) -> CheckRun:
        """Run a check with added tests that must fail, by number and name."""
        key = await self._key(check, tree, "canary") if keep else ""
        return await self._run(check, tree, key, files, names)

    async def run_without_bytecode(self, check: Check, tree: str, directories: Iterable[str]) -> CheckRun:
        """Run a check with a file in the place of each of these directories, so that no bytecode fits in there."""
        files = dict.fromkeys(sorted(directories), b"")
        return await self._run(check, tree, await self._key(check, tree, f"without {key_of(*files)}"), files)

    async def keep(self, check: Check, tree: str, run: CheckRun) -> None:
        self.runs.put(await self._key(check, tree, "run 1"), run)

    async def drop(self, check: Check, tree: str) -> None:
        """Remove the first kept run: another run on the same tree had a different result."""
        self.runs.drop(await self._key(check, tree, "run 1"))

    async def _run(
        self,
        check: Check,
        tree: str,
        key: str,
        files: Mapping[str, bytes] | None = None,
        names: Mapping[int, str] | None = None,
    ) -> CheckRun:
        from donewhen.judge import run_check  # a verdict from kept runs does not need the report readers

        hidden = self._hidden_from(check)
        mode = run_check.RunMode(
            base_files=self.base_files,
            environment=self.environment,
            defences=self.defences,
            forbidden_writes=self.forbidden_writes,
            seals_outside=self.seals_outside,
            read_only_files=tuple(path for path in self.read_only_files() if path not in {*hidden, *(files or {})}),
            added_files=files or {},
            added_tests=names or {},
            observe=None if names else self._calls_to_observe(tree),
        )
        async with self._tree(tree, hidden) as judge_tree:
            run = await run_check.run(self.host, judge_tree, check, mode)
        if run.end == "could_not_start" and run.exit_code is None:
            async with self._tree(tree, hidden) as judge_tree:  # a machine problem is believed only after a second run
                run = await run_check.run(self.host, judge_tree, check, mode)
        self.runs.put(key, run)
        return run

    def _calls_to_observe(self, tree: str) -> "ObservedCalls | None":
        """Return what to record of a run. Look-ups are needed on the base only, where they show what the check uses."""
        if not self.defences.observation or self.host.probe.level is not Level.BUBBLEWRAP:
            return None
        return "lookups" if tree == self.base_tree else "opens"

    def _hidden_from(self, check: Check) -> frozenset[str]:
        return frozenset() if check.held_out else self.hidden

    @asynccontextmanager
    async def _tree(self, tree: str, hidden: frozenset[str]) -> AsyncGenerator[Tree]:
        candidate = "" if tree == self.base_tree else tree
        unguarded = not self.defences.setup
        if self.defences.layers:
            async with self.host.tree("judge", self.base, candidate, hidden, unguarded) as judge_tree:
                yield judge_tree
            return
        if tree not in self._shared:
            tree_layers = await self.host.tree_layers(self.base, candidate, hidden, unguarded)
            self._shared[tree] = await self.host.trees.make("judge", self.base, tree_layers)
        yield self._shared[tree]

    async def _key(self, check: Check, tree: str, purpose: str) -> str:
        """Return a key for everything that a run depends on; empty if that is not known."""
        if not self.environment.digest or not self.defences.layers:
            return ""
        candidate, hidden = "" if tree == self.base_tree else tree, self._hidden_from(check)
        layers = (await self.host.tree_layers(self.base, candidate, hidden, not self.defences.setup)).layers
        compared = asdict(replace(check, name="", held_out=False, quarantine=None))
        environment = (
            self.environment.digest,
            self.rules,
            self.defences.tools,
            self.defences.observation,
        )
        return key_of(VERSION, purpose, self.base_tree, tree, compared, layers, sorted(hidden), environment)
