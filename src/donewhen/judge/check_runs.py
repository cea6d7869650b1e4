"""Runs checks in fresh trees over one base, and keeps the runs. It does not judge them.

    run = await check_runs.run(check, tree)

Every run gets its own throw-away tree, so that no check can see what another check left.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, field, replace

from donewhen.judge.check_run import CheckRun
from donewhen.judge.contract import Check
from donewhen.judge.defences import Defences
from donewhen.judge.judge_host import JudgeEnvironment, JudgeHost
from donewhen.judge.run_cache import RunCache, key_of
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.trees.trees import Tree

VERSION = 2
"""Version of the format and meaning of kept runs. A change of this number makes all kept runs unknown."""


@frozen(kw_only=True)
class CheckRuns:
    host: JudgeHost
    base: str
    base_tree: str
    base_files: Root
    surroundings: JudgeEnvironment
    defences: Defences
    runs: RunCache
    broken: Callable[[Iterable[str]], tuple[str, ...]] = lambda _: ()
    """Returns one line for each path written by the run that it was not allowed to write."""
    fixed: Callable[[], tuple[str, ...]] = tuple
    """Returns the protected files that are mounted read-only. Called only when a check is really run."""
    rules: str = ""
    """Identifies the rules that `broken` follows."""
    _shared: dict[str, Tree] = field(default_factory=dict[str, Tree])

    async def run(self, check: Check, tree: str, number: int = 1) -> CheckRun:
        """Run a check on a tree for the n-th time, or return the kept run with that number."""
        key = await self._key(check, tree, f"run {number}")
        return self.runs.get(key) or await self._run(check, tree, key)

    async def again(self, check: Check, tree: str) -> CheckRun:
        """Run a check on a tree, even if a run is kept. The new run is not kept."""
        return await self._run(check, tree, "")

    async def kept_canary(self, check: Check, tree: str) -> CheckRun | None:
        """Return the kept run with an added test that must fail; None if there is none."""
        return self.runs.get(await self._key(check, tree, "canary"))

    async def with_canary(self, check: Check, tree: str, files: Mapping[str, bytes], name: str) -> CheckRun:
        """Run a check with an added test that must fail."""
        return await self._run(check, tree, await self._key(check, tree, "canary"), files, name)

    async def keep(self, check: Check, tree: str, ran: CheckRun) -> None:
        self.runs.put(await self._key(check, tree, "run 1"), ran)

    async def drop(self, check: Check, tree: str) -> None:
        """Remove the first kept run: another run on the same tree had a different result."""
        self.runs.drop(await self._key(check, tree, "run 1"))

    async def _run(
        self, check: Check, tree: str, key: str, files: Mapping[str, bytes] | None = None, name: str = ""
    ) -> CheckRun:
        from donewhen.judge import run_check  # a verdict from kept runs does not need the report readers

        how = run_check.RunMode(
            base_files=self.base_files,
            surroundings=self.surroundings,
            defences=self.defences,
            broken=self.broken,
            fixed=tuple(path for path in self.fixed() if path not in (files or {})),
            laid_over=files or {},
            must_fail=name,
        )
        async with self._tree(tree) as place:
            ran = await run_check.run(self.host, place, check, how)
        if ran.end == "could_not_start" and ran.exit_code is None:
            async with self._tree(tree) as place:  # a machine problem is believed only after a second run
                ran = await run_check.run(self.host, place, check, how)
        self.runs.put(key, ran)
        return ran

    @asynccontextmanager
    async def _tree(self, tree: str) -> AsyncGenerator[Tree]:
        candidate = "" if tree == self.base_tree else tree
        if self.defences.layers:
            async with self.host.tree("judge", self.base, candidate) as place:
                yield place
            return
        if tree not in self._shared:
            standing = await self.host.standing(self.base, candidate)
            self._shared[tree] = await self.host.trees.make("judge", self.base, standing)
        yield self._shared[tree]

    async def _key(self, check: Check, tree: str, purpose: str) -> str:
        """Return a key for everything that a run depends on; empty if that is not known."""
        if not self.surroundings.digest or not self.defences.layers:
            return ""
        layers = (await self.host.standing(self.base, "" if tree == self.base_tree else tree)).layers
        asked = asdict(replace(check, name="", held_out=False, quarantine=None))
        around = (self.surroundings.digest, self.rules, self.defences.caches, self.defences.tools)
        return key_of(VERSION, purpose, self.base_tree, tree, asked, layers, around)
