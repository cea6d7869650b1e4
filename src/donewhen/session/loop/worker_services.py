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

from donewhen.engines.interface import Asker, Note, Notebook, RemainingBudget, RemainingTime
from donewhen.events import Event
from donewhen.judge import globs
from donewhen.judge.contract import Contract
from donewhen.session.check.engine_sandbox import engine_sandbox
from donewhen.session.check.regression_judge import RegressionJudge, regression_judge
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

    def __init__(self, log: LogWriter, name: str, subtask: str) -> None:
        super().__init__(log, name)
        self._subtask = subtask

    def write(self, note: Note | None, *events: Event) -> None:
        super().write(note, *([event.of_subtask(self._subtask) for event in events] if self._subtask else events))


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
    context: RoundContext
    notebook_name: str
    """Beginning of the names of the workers' notebooks."""
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _judges_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Lock, so that the judge for a start tree is built only once."""
    _judges_by_tree: dict[str, RegressionJudge] = field(default_factory=dict[str, RegressionJudge])
    """Judges by the tree id that they compare with."""

    @property
    def store(self) -> Store:
        return self.context.workplace.store

    @property
    def parser(self) -> ParserClient:
        return ParserClient(self.context.workplace.launcher, self.context.workplace.probe)

    @property
    def held_out(self) -> frozenset[str]:
        return frozenset(check.name for check in self.context.start_record.contract.checks if check.held_out)

    async def base(self) -> str:
        return await self.context.workplace.store.tree_of(self.context.start_record.base)

    def notebook(self, worker_run: str, subtask: str = "") -> Notebook:
        return WorkerNotebook(self.context.log, f"{self.notebook_name}/{worker_run.replace('.', '~')}", subtask)

    def asker(self, subtask: str) -> Asker | None:
        return WorkerAsker(self.context.asker, subtask, self._turn) if self.context.asker is not None else None

    def share(self, workers: int) -> RemainingBudget:
        return Share(self.context.budget, workers)

    def time(self) -> RemainingTime:
        silence = self.context.start_record.settings.number("limits", "silence_secs")
        return RemainingTime(left_secs=self.context.budget.seconds_left(), silence_secs=silence)

    @contextlib.asynccontextmanager
    async def maker(self, worker_run: str, start_tree: str) -> AsyncGenerator[Maker]:
        tree = await maker_tree(
            self.context.workplace, self.context.start_record, self.context.log, worker_run, start_tree
        )
        is_over = False
        try:
            workplace, reads_only = self.context.workplace, self.context.start_record.reads_only
            yield Maker(workplace.trees, tree, await engine_sandbox(workplace, tree, reads_only))
            is_over = True
        finally:
            if not is_over:
                orphans.release(tree)
        await self.context.workplace.trees.remove(tree, discard=True)
        await self.context.workplace.store.release(f"trees/{tree.facts.name}")

    async def capture(self, worker_run: str, maker: Maker) -> str:
        candidate = await self.context.workplace.candidate_of(await maker.snapshot(), self.context.start_record.base)
        tree = await _without_tool_files(self.context, candidate)
        await self.context.workplace.store.keep(pin(self.context.start_record.session, worker_run), tree)
        return tree

    async def patch(self, start_tree: str, tree: str) -> str:
        store, workplace = self.store, self.context.workplace
        base = self.context.start_record.base
        before, after = await workplace.as_shown(start_tree, base), await workplace.as_shown(tree, base)
        diff = await store.patch(before, after, LARGEST_SHOWN)
        return diff.decode("utf-8", "replace")

    async def set_files(self, maker: Maker, tree: str) -> None:
        await maker.restore(await self.context.workplace.as_shown(tree, self.context.start_record.base))

    async def combiner(
        self,
        start_tree: str,
        patches: Mapping[str, Patch] = MappingProxyType({}),
        before: Members = (),
        subtask: str = "",
    ) -> Combiner:
        async with self._judges_lock:
            judging = await self._judge_against(start_tree)
        if subtask:
            judging = replace(judging, emit=partial(_emit_for, self.context.log, subtask))
        store, parser, base = self.store, self.parser, await self.base()
        gate = PatchGate(
            store=store, base=base, parser=parser, judging=judging, allowed=editable(self.context.start_record.contract)
        )
        integration = Integration(store, start_tree, parser, patches)
        return Combiner(gate, integration, judging, self.context.log.emit, before=before, keeps_gains=True)

    async def _judge_against(self, start_tree: str) -> RegressionJudge:
        """Return the judge for a start tree. What passed on it must still pass, like what was green on the base."""
        if not self._judges_by_tree:
            base, emit = self.context.start_record.base, self.context.log.emit
            first = await regression_judge(
                self.context.workplace, self.context.start_record.contract, base, emit, reports=False
            )
            self._judges_by_tree[await self.base()] = first
        if start_tree not in self._judges_by_tree:
            self._judges_by_tree[start_tree] = await next(iter(self._judges_by_tree.values())).with_baseline(start_tree)
        return self._judges_by_tree[start_tree]


def _emit_for(log: LogWriter, subtask: str, event: Event) -> None:
    log.emit(event.of_subtask(subtask))


async def _without_tool_files(context: RoundContext, tree: str) -> str:
    """Return a tree without new files that tools leave behind when they run."""
    from donewhen.judge.protect import Guard

    workplace, base = context.workplace, context.start_record.base
    files = await workplace.trees.layers.root_of(base)
    names = Guard(context.start_record.contract, files).names
    changes = await workplace.store.diff(await workplace.store.tree_of(base), tree)
    tool_files: dict[bytes, TreeEntry | None] = {
        raw(change.path): None for change in changes if change.old is None and names.installed(change.path)
    }
    return await edit_tree.with_changes(workplace.store.bare, tree, tool_files) if tool_files else tree


def editable(contract: Contract) -> Callable[[str], bool]:
    """Return a test for paths that are protected by default but that the contract declares editable."""
    return lambda path: bool(globs.first_match(contract.editable, path))
