"""The foreman engine: plan, run workers, gate every patch, prove the union, and only then change the session's tree.

It works level by level: the subtasks of a level build on the result of the earlier levels. A subtask that was left out
is offered once more, on top of the combined work and with the evidence against it. The engine declines and leaves the
tree unchanged if several workers bring no advantage, if there is no plan, or if no work was accepted. It does not
decide whether the goal is reached.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from donewhen.engines.foreman import prompts
from donewhen.engines.foreman.plan_request import Planning
from donewhen.engines.foreman.progress import MOST_ATTEMPTS, LevelResult, Progress, Retry, SubtaskAttempt
from donewhen.engines.foreman.run_workers import Worker, WorkerPool
from donewhen.engines.foreman.subtask_plan import SubtaskPlan
from donewhen.engines.interface import Attempt, Engine, EngineNote, Job, WorkerServices
from donewhen.engines.planner import LimitReached, NoAnswer
from donewhen.events import Emit, Event, PlanText, SubtaskGated, SubtasksFarmed
from donewhen.records import frozen
from donewhen.union.reasons import Reason

TIME_TO_WORK = 0.85
"""Fraction of the remaining time for the workers. The rest is for combining what they made."""
MOST_OF_A_DIFF = 20_000


class ApprovedNote(EngineNote):
    """A person has approved the plan."""

    KIND = "approved"


class FarmedNote(EngineNote):
    """The event about the work of a level was emitted."""

    KIND = "farmed"
    round: int
    name: str


class PassedOverNote(EngineNote):
    """The event about a subtask without what it needs was emitted."""

    KIND = "passed_over"
    round: int
    name: str


class SaidNote(EngineNote):
    """The summary was emitted."""

    KIND = "said"
    round: int
    name: str = ""


@frozen(kw_only=True)
class ForemanConfig:
    workers: int = 4
    plan_attempts: int = 3
    max_turns: int = 24
    """For each worker."""


@frozen
class ForemanEngine:
    planner: Engine
    worker: Engine
    config: ForemanConfig

    @property
    def name(self) -> str:
        return "foreman"

    async def attempt(self, job: Job, emit: Emit) -> Attempt:
        assert job.worker_services is not None  # the caller always gives the foreman worker services
        try:
            plan = await self.make_plan(job, emit)
            return await _PlanRun(self, job, job.worker_services, plan).build()
        except LimitReached:
            return Attempt(stop="budget")
        except NoAnswer as none:
            return _decline("plan_invalid", str(none))

    async def make_plan(self, job: Job, emit: Emit) -> SubtaskPlan:
        """Return only the plan. Raise `NoAnswer` if there is none, and `LimitReached` at a limit."""
        assert job.worker_services is not None
        return await Planning(self.planner, job, job.worker_services, self.config.plan_attempts, emit).plan()


@dataclass(slots=True)
class _PlanRun:
    """One plan while it is being built."""

    engine: ForemanEngine
    job: Job
    services: WorkerServices
    plan: SubtaskPlan
    progress: Progress = field(init=False)
    pool: WorkerPool = field(init=False)

    async def build(self) -> Attempt:
        if self.plan.prefer_single_session and not self._is_approved():
            count = len(self.plan.subtasks)
            why = "there is one subtask" if count == 1 else f"each of the {count} subtasks waits for the one before"
            return _decline("single_preferred", f"{why}: parallel workers would not help")
        self.progress, self.pool = Progress(await self.services.base()), self._make_pool()
        for number, level in enumerate(self.plan.levels):
            await self._run_level(number, level)
        progress = self.progress
        if (decline_reason := progress.decline_reason()) is not None:
            return _decline(*decline_reason)
        await self.services.set_files(self.job.maker, progress.tree)
        summary = progress.summary(len(self.plan.subtasks))
        self._emit_once(SaidNote(self.job.iteration), PlanText(text=summary))
        return Attempt(stop="done", last_text=summary)

    def _is_approved(self) -> bool:
        return bool(ApprovedNote.all_in(self.job.notebook.notes()))

    def _make_pool(self) -> WorkerPool:
        config, left = self.engine.config, self.services.time().left_secs
        return WorkerPool(
            worker=Worker(self.engine.worker, config.max_turns),
            job=self.job,
            services=self.services,
            at_once=anyio.CapacityLimiter(config.workers),
            deadline=time.monotonic() + left * TIME_TO_WORK if left is not None else None,
        )

    # -- a level --

    async def _run_level(self, number: int, level: Sequence[str]) -> None:
        ready = [id for id in level if self.plan.needs_of(id) <= set(self.progress.included)]
        for id in level:
            if id not in ready:
                needed = ", ".join(sorted(self.plan.needs_of(id) - set(self.progress.included)))
                reason = Reason("need_missing", f"it needs {needed}, which is left out")
                self.progress.missing[id] = str(reason)
                event = SubtaskGated(id=id, status="error", reasons=(reason.as_event(),))
                self._emit_once(PassedOverNote(self.job.iteration, id), event)
        if not ready:
            return
        step = await self._run_step(f"level {number}", [self._attempt_for(id, number) for id in ready])
        for retry in step.retries:
            await self._retry(number, retry)

    async def _retry(self, level: int, retry: Retry) -> None:
        """Offer a subtask once more, alone, on top of the combined work and with the evidence against it."""
        name, task = f"again {retry.id}", self._attempt_for(retry.id, level)
        if self.pool.is_late() and self._known_result(name) is None:
            return
        evidence = prompts.left_out_evidence(retry.why, await self._diff(task.start_tree, retry))
        await self._run_step(name, [replace(task, first_attempt=MOST_ATTEMPTS + 1, attempts=1, evidence=evidence)])

    async def _run_step(self, name: str, tasks: Sequence[SubtaskAttempt]) -> LevelResult:
        """Run some subtasks, gate them and combine them with the existing work. Write the result as one note with its
        events."""
        step = self._known_result(name)
        if step is None:
            ended = {*self.progress.included, *self.progress.missing} - {task.subtask.id for task in tasks}
            self.pool.unfinished = len(self.plan.subtasks) - len(ended)
            gated = await self.pool.run_all(tasks)
            self.progress.accepted |= {one.patch.id for one in gated if one.status == "accepted"}
            event = SubtasksFarmed(accepted=len(self.progress.accepted), total=len(self.plan.subtasks))
            if not any(task.evidence for task in tasks):
                self._emit_once(FarmedNote(self.job.iteration, name), event)
            events: list[Event] = []
            patches = {one.patch.id: one.patch for one in gated}
            combiner = await self.services.combiner(self.progress.tree, patches, tuple(self.progress.included))
            united = await replace(combiner, emit=events.append).combine(gated)
            step = LevelResult.from_union(
                united,
                self.services.held_out,
                has_earlier_work=bool(self.progress.included),
                round=self.job.iteration,
                name=name,
            )
            self.job.notebook.write(step.as_note(), *events)
        self.progress.add(step)
        return step

    # -- notes --

    def _known_result(self, name: str) -> LevelResult | None:
        results = LevelResult.all_in(self.job.notebook.notes())
        return next((one for one in results if (one.round, one.name) == (self.job.iteration, name)), None)

    def _emit_once(self, note: FarmedNote | PassedOverNote | SaidNote, event: Event) -> None:
        known = [(one.round, one.name) for one in note.all_in(self.job.notebook.notes())]
        if (note.round, note.name) not in known:
            self.job.notebook.write(note.as_note(), event)

    # -- a subtask --

    def _attempt_for(self, id: str, level: int) -> SubtaskAttempt:
        index = next(number for number, one in enumerate(self.plan.subtasks) if one.id == id)
        return SubtaskAttempt(
            subtask=self.plan.subtasks[index],
            index=index,
            level=level,
            total=len(self.plan.subtasks),
            start_tree=self.progress.tree,
        )

    async def _diff(self, start_tree: str, retry: Retry) -> str:
        """Return the earlier patch against the tree that it was based on, cut at `MOST_OF_A_DIFF` characters."""
        if not retry.tree:
            return ""
        return self.job.redact(await self.services.patch(retry.on or start_tree, retry.tree))[:MOST_OF_A_DIFF]


def _decline(code: str, detail: str) -> Attempt:
    return Attempt(stop="declines", code=code, problem=detail)
