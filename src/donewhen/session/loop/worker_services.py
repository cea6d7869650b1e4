"""Services of a session for an engine with workers: a tree, a notebook and a share of the budget for each worker.

The gate and the union judge the workers' results by the session's contract, compared with its base or with a tree that
was reached since. Which worker runs, and how often, is not decided here.
"""

import contextlib
import hashlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

import anyio

from donewhen.engines.interface import Asker, Meter, Note, Notebook, Time
from donewhen.events import Event
from donewhen.judge.contract import Contract
from donewhen.session.check.regression_judge import RegressionJudge, beside
from donewhen.session.log.writer import LogWriter, StepNotebook
from donewhen.session.loop.budget import Share
from donewhen.session.loop.maker_trees import maker_tree, pin
from donewhen.session.loop.round_context import RoundContext
from donewhen.union.combine import Combiner
from donewhen.union.gate import PatchGate
from donewhen.union.integrate import Integration
from donewhen.union.oracle import Members
from donewhen.union.parser_client import ParserClient
from donewhen.union.patch import Patch
from donewhen.workspace.git.objects import TreeEntry, raw
from donewhen.workspace.git.store import Store, edit_tree
from donewhen.workspace.git.store.bare import LARGEST_SHOWN
from donewhen.workspace.trees import orphans
from donewhen.workspace.trees.maker import Maker


class WorkerNotebook(StepNotebook):
    """Notebook of one worker. Its events carry the name of the subtask."""

    def __init__(self, recorder: LogWriter, rung: str, subtask: str) -> None:
        super().__init__(recorder, rung)
        self._subtask = subtask

    def write(self, note: Note | None, *events: Event) -> None:
        told = [event.of_subtask(self._subtask) for event in events] if self._subtask else events
        super().write(note, *told)


@dataclass(slots=True)
class WorkerAsker:
    """One person shared by several workers: one question at a time, prefixed with the name of the subtask."""

    asker: Asker
    subtask: str
    turn: anyio.Lock

    async def ask(self, id: str, prompt: str) -> str:
        # A restarted worker may reuse the ids of its earlier questions. The prompt is part of the id, so an old answer
        # is not used for a new question.
        digest = hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:12]
        async with self.turn:
            return await self.asker.ask(f"{self.subtask}-{id}-{digest}", f"[{self.subtask}] {prompt}")


@dataclass(slots=True)
class SessionWorkerServices:
    bench: RoundContext
    rung: str
    """Name under which the notes are kept."""
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _judges: anyio.Lock = field(default_factory=anyio.Lock)
    """Lock, so that the judge of a ground is built only once."""
    _beside: dict[str, RegressionJudge] = field(default_factory=dict[str, RegressionJudge])
    """Judges by the tree id that they compare with."""

    @property
    def store(self) -> Store:
        return self.bench.place.store

    @property
    def reader(self) -> ParserClient:
        return ParserClient(self.bench.place.launcher, self.bench.place.probe)

    @property
    def held_out(self) -> frozenset[str]:
        return frozenset(check.name for check in self.bench.opened.contract.checks if check.held_out)

    async def base(self) -> str:
        return await self.bench.place.store.tree_of(self.bench.opened.base)

    def notebook(self, part: str, subtask: str = "") -> Notebook:
        return WorkerNotebook(self.bench.recorder, f"{self.rung}/{part.replace('.', '~')}", subtask)

    def asker(self, subtask: str) -> Asker | None:
        return WorkerAsker(self.bench.asker, subtask, self._turn) if self.bench.asker is not None else None

    def share(self, parts: int) -> Meter:
        return Share(self.bench.budget, parts)

    def time(self) -> Time:
        silence = self.bench.opened.settings.number("limits", "silence_secs")
        return Time(left_secs=self.bench.budget.seconds_left(), silence_secs=silence)

    @contextlib.asynccontextmanager
    async def maker(self, part: str, ground: str) -> AsyncGenerator[Maker]:
        tree = await maker_tree(self.bench.place, self.bench.opened, self.bench.recorder, part, ground)
        is_over = False
        try:
            yield Maker(self.bench.place.trees, tree, self.bench.place.room(tree))
            is_over = True
        finally:
            if not is_over:
                orphans.release(tree)
        await self.bench.place.trees.remove(tree, discard=True)
        await self.bench.place.store.release(f"trees/{tree.facts.name}")

    async def made(self, part: str, maker: Maker) -> str:
        made = await self.bench.place.candidate_of(await maker.snapshot(), self.bench.opened.base)
        tree = await _without_leavings(self.bench, made)
        await self.bench.place.store.keep(pin(self.bench.opened.session, part), tree)
        return tree

    async def patch(self, ground: str, tree: str) -> str:
        store, place = self.store, self.bench.place
        diff = await store.patch(await place.as_shown(ground), await place.as_shown(tree), LARGEST_SHOWN)
        return diff.decode("utf-8", "replace")

    async def show(self, maker: Maker, ground: str) -> None:
        await maker.restore(await self.bench.place.as_shown(ground))

    async def uniting(
        self, ground: str, patches: Mapping[str, Patch] = MappingProxyType({}), before: Members = (), subtask: str = ""
    ) -> Combiner:
        async with self._judges:
            judging = await self._judging(ground)
        if subtask:
            judging = replace(judging, emit=partial(_tell_of, self.bench.recorder, subtask))
        store, reader, base = self.store, self.reader, await self.base()
        gate = PatchGate(
            store=store, base=base, reader=reader, judging=judging, allowed=editable(self.bench.opened.contract)
        )
        integration = Integration(store, ground, reader, patches)
        return Combiner(gate, integration, judging, self.bench.recorder.emit, before=before, keeps_gains=True)

    async def _judging(self, ground: str) -> RegressionJudge:
        """Return the judge for a ground. What passed on the ground must still pass, like what was green on the base."""
        if not self._beside:
            base, emit = self.bench.opened.base, self.bench.recorder.emit
            first = await beside(self.bench.place, self.bench.opened.contract, base, emit, tell=False)
            self._beside[await self.base()] = first
        if ground not in self._beside:
            self._beside[ground] = await next(iter(self._beside.values())).on(ground)
        return self._beside[ground]


def _tell_of(recorder: LogWriter, subtask: str, event: Event) -> None:
    recorder.emit(event.of_subtask(subtask))


async def _without_leavings(bench: RoundContext, tree: str) -> str:
    """Return a tree without new files that tools leave behind when they run."""
    from donewhen.judge.protect import Guard

    place, base = bench.place, bench.opened.base
    files = await place.trees.layers.root_of(base)
    names = Guard(bench.opened.contract, files).names
    changes = await place.store.diff(await place.store.tree_of(base), tree)
    left: dict[bytes, TreeEntry | None] = {
        raw(change.path): None for change in changes if change.old is None and names.installed(change.path)
    }
    return await edit_tree.with_changes(place.store.bare, tree, left) if left else tree


def editable(contract: Contract) -> Callable[[str], bool]:
    """Return a test for paths that are protected by default but that the contract declares editable."""
    from donewhen.judge.protect.names import globs

    return lambda path: bool(globs.first_match(contract.editable, path))
