"""Where checks are run: fresh trees over one base, and the runs that are kept. No run is judged here.

    bench = Bench(ground, base, surroundings, defences, runs, rules)
    ran = await bench.run(check, tree)

Every run gets a throw-away tree of its own, so that nothing one check leaves is seen by the next.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, field, replace

from donewhen.judge.cache import Runs, key_of
from donewhen.judge.contract import Check
from donewhen.judge.defences import Defences
from donewhen.judge.ground import Ground, Surroundings
from donewhen.judge.ran import Ran
from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.trees import Tree

VERSION = 2
"""Of what a kept run means; another number makes all of them unknown."""


@frozen(kw_only=True)
class Bench:
    ground: Ground
    base: str
    base_tree: str
    base_files: Root
    surroundings: Surroundings
    defences: Defences
    runs: Runs
    broken: Callable[[Iterable[str]], tuple[str, ...]] = lambda _: ()
    """Which of the paths that a run wrote should not have been written, one line each."""
    fixed: Callable[[], tuple[str, ...]] = tuple
    """Protected files that are mounted read-only; asked only when something is run."""
    rules: str = ""
    """Names the rules that `broken` follows."""
    _shared: dict[str, Tree] = field(default_factory=dict[str, Tree])

    async def run(self, check: Check, tree: str, number: int = 1) -> Ran:
        """Run a check on a tree for the n-th time, or take the kept run of that number."""
        key = await self._key(check, tree, f"run {number}")
        return self.runs.get(key) or await self._run(check, tree, key)

    async def again(self, check: Check, tree: str) -> Ran:
        """Run a check on a tree whatever is kept."""
        return await self._run(check, tree, "")

    async def kept_canary(self, check: Check, tree: str) -> Ran | None:
        """A kept run with a test added that must fail, if there is one."""
        return self.runs.get(await self._key(check, tree, "canary"))

    async def with_canary(self, check: Check, tree: str, files: Mapping[str, bytes], name: str) -> Ran:
        """Run a check with a test added that must fail."""
        return await self._run(check, tree, await self._key(check, tree, "canary"), files, name)

    async def keep(self, check: Check, tree: str, ran: Ran) -> None:
        self.runs.put(await self._key(check, tree, "run 1"), ran)

    async def drop(self, check: Check, tree: str) -> None:
        """Forget a run that turned out to be one of several."""
        self.runs.drop(await self._key(check, tree, "run 1"))

    async def _run(
        self, check: Check, tree: str, key: str, files: Mapping[str, bytes] | None = None, name: str = ""
    ) -> Ran:
        from donewhen.judge import running  # a verdict out of kept runs does not need what reads reports

        how = running.How(
            base_files=self.base_files,
            surroundings=self.surroundings,
            defences=self.defences,
            broken=self.broken,
            fixed=tuple(path for path in self.fixed() if path not in (files or {})),
            laid_over=files or {},
            must_fail=name,
        )
        async with self._tree(tree) as place:
            ran = await running.run(self.ground, place, check, how)
        if ran.end == "could_not_start" and ran.exit_code is None:
            async with self._tree(tree) as place:  # trouble of the machine is tried once more before it is believed
                ran = await running.run(self.ground, place, check, how)
        self.runs.put(key, ran)
        return ran

    @asynccontextmanager
    async def _tree(self, tree: str) -> AsyncGenerator[Tree]:
        candidate = "" if tree == self.base_tree else tree
        if self.defences.layers:
            async with self.ground.tree("judge", self.base, candidate) as place:
                yield place
            return
        if tree not in self._shared:
            standing = await self.ground.standing(self.base, candidate)
            self._shared[tree] = await self.ground.trees.make("judge", self.base, standing)
        yield self._shared[tree]

    async def _key(self, check: Check, tree: str, purpose: str) -> str:
        """Names everything that a run depends on; empty when that is not known."""
        if not self.surroundings.digest or not self.defences.layers:
            return ""
        layers = (await self.ground.standing(self.base, "" if tree == self.base_tree else tree)).layers
        asked = asdict(replace(check, name="", held_out=False, quarantine=None))
        around = (self.surroundings.digest, self.rules, self.defences.caches, self.defences.tools)
        return key_of(VERSION, purpose, self.base_tree, tree, asked, layers, around)
