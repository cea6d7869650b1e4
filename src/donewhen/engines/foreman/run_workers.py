"""The worker pool: runs subtasks at the same time, each in its own tree, and gates each result as it arrives.

If a worker fails, another one tries once more from a clean copy. The result of a worker is a note before it is used, so
that it is never made twice.

A worker that writes nothing for too long is stopped. A worker that waits for a person is not expected to write.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar, cast

import anyio

from donewhen.engines.foreman import prompts
from donewhen.engines.foreman.progress import MOST_ATTEMPTS, AttemptNotes, SubtaskAttempt, WorkedNote
from donewhen.engines.interface import Asker, Attempt, Engine, Job, Note, Notebook, WorkerServices
from donewhen.errors import DonewhenError, NeedsPerson
from donewhen.events import Event, SubtaskGated, SubtaskStarted
from donewhen.model.interface import ModelWaits
from donewhen.records import frozen
from donewhen.storage.lease import LeaseLost
from donewhen.union.gate import Gated
from donewhen.union.patch import Patch
from donewhen.union.reasons import Reason
from donewhen.workspace.trees.capture.refusals import CandidateRefused


@frozen
class PausingAsker:
    """Asks a person, and suspends the silence limit of the asking worker until the answer is there."""

    asker: Asker
    notebook: "WatchedNotebook"

    async def ask(self, id: str, prompt: str) -> str:
        with self.notebook.paused():
            return await self.asker.ask(id, prompt)


class WatchedNotebook:
    """A notebook that records the time of its last write."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._last = time.monotonic()
        self._asks = 0

    def notes(self) -> Sequence[Note]:
        return self._notebook.notes()

    def write(self, note: Note | None, *events: Event) -> None:
        self._notebook.write(note, *events)
        self._last = time.monotonic()

    def turns(self, role: str) -> int:
        return self._notebook.turns(role)

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """Suspend the silence limit while the block runs."""
        self._asks += 1
        try:
            yield
        finally:
            self._asks -= 1
            self._last = time.monotonic()

    async def cancel_when_silent(self, secs: float, scope: anyio.CancelScope) -> None:
        """Cancel the scope if nothing was written for `secs` seconds."""
        left = secs
        while left > 0:
            await anyio.sleep(left)  # every write moves the deadline
            left = secs if self._asks else self._last + secs - time.monotonic()
        scope.cancel()


T = TypeVar("T")
GATES_AT_ONCE = 2
ATTEMPT_NUMBERS = MOST_ATTEMPTS + 1
TOO_LATE = "time limit reached"
LATE_FOR_GATE = "it is made, but the time limit was reached before it was judged"
SILENCE_SHARE = 0.8
"""Fraction of the time after which a silent session is ended: a silent worker is stopped before that."""


@frozen
class Worker:
    engine: Engine
    max_turns: int


@dataclass(slots=True)
class WorkerPool:
    worker: Worker
    job: Job
    services: WorkerServices
    at_once: anyio.CapacityLimiter
    deadline: float | None
    """When the work must end, by the clock of `time.monotonic`."""
    unfinished: int = 1
    """How many subtasks have no result yet; each gets an equal share of the budget."""
    _gates: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(GATES_AT_ONCE))

    @property
    def attempts(self) -> AttemptNotes:
        return AttemptNotes(self.job)

    async def run_all(self, tasks: Sequence[SubtaskAttempt]) -> list[Gated]:
        """Return every subtask's patch with the gate's result, in the order of `tasks`."""
        found: dict[str, Gated] = {}

        async def run_subtask(task: SubtaskAttempt) -> None:
            found[task.subtask.id] = await self._run_subtask(task)

        left = None if self.deadline is None else max(0.0, self.deadline - time.monotonic())
        try:
            with anyio.move_on_after(left):
                async with anyio.create_task_group() as group:
                    for task in tasks:
                        group.start_soon(run_subtask, task)
        except ExceptionGroup as several:
            # An error that needs a person comes first.
            raise min(_flatten(several), key=lambda error: not isinstance(error, NeedsPerson)) from several
        return [found.get(task.subtask.id) or self._late_result(task) for task in tasks]

    def is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    async def _run_subtask(self, task: SubtaskAttempt) -> Gated:
        async with self.at_once:
            worked = await self._run_attempts(task)
        self.unfinished -= 1
        number = worked.attempt
        if not worked.tree:
            return self._failed_result(task, number, worked.problem)
        async with self._gates:
            gated = await _contain_failure(self._gate, task, number, worked.tree)
        return self._failed_result(task, number, gated) if isinstance(gated, str) else gated

    async def _gate(self, task: SubtaskAttempt, number: int, tree: str) -> Gated:
        id = task.subtask.id
        patch = Patch(id=id, tree=tree, on=task.start_tree, footprint=task.subtask.footprint)
        is_reported = self.attempts.is_reported(task, number)
        combiner = await self.services.combiner(task.start_tree, subtask=id)
        gated = await (replace(combiner, emit=_ignore) if is_reported else combiner).gate_one(patch)
        if not is_reported:
            self.attempts.write_gated(task, number, gated.status)
        return gated

    def _late_result(self, task: SubtaskAttempt) -> Gated:
        return self._failed_result(task, 0, LATE_FOR_GATE if self.attempts.has_tree(task) else TOO_LATE)

    def _failed_result(self, task: SubtaskAttempt, number: int, problem: str) -> Gated:
        id, reason = task.subtask.id, Reason("worker_failed", problem)
        if not self.attempts.is_reported(task, number):
            event = SubtaskGated(id=id, status="error", reasons=(reason.as_event(),))
            self.attempts.write_gated(task, number, "error", event)
        patch = Patch(id=id, tree="", on=task.start_tree, footprint=task.subtask.footprint)
        return Gated(patch=patch, status="error", reasons=(reason,))

    # -- one worker --

    async def _run_attempts(self, task: SubtaskAttempt) -> WorkedNote:
        """Return the attempt that made something, or the last one if none did."""
        number, problem = task.first_attempt, ""
        while True:
            worked = self.attempts.result_of(task, number) or await self._run_attempt(task, number, problem)
            number, problem = number + 1, worked.problem
            is_last = worked.tree or worked.stop in ("budget", "claim")
            if is_last or number >= task.first_attempt + task.attempts:
                return worked

    async def _run_attempt(self, task: SubtaskAttempt, number: int, problem: str) -> WorkedNote:
        """Run one worker. If it breaks, the other workers continue."""
        worked = await _contain_failure(self._run_worker, task, number, problem)
        if not isinstance(worked, str):
            return worked
        # The failure may come from the removal of its tree. What was made before that still counts.
        return self.attempts.result_of(task, number) or self.attempts.write_worked(
            task, number, "", "model_failed", worked
        )

    async def _run_worker(self, task: SubtaskAttempt, number: int, problem: str) -> WorkedNote:
        id, times_repeated = task.subtask.id, self.attempts.times_repeated(task, number)
        # A tree and a conversation belong to one start tree.
        worker_run = f"{id}#{number}@{task.start_tree[:12]}{'+' * times_repeated}"
        started = SubtaskStarted(id=id, index=task.index, level=task.level, total=task.total, attempt=number)
        self.job.notebook.write(None, started)
        evidence = task.evidence or (prompts.failed_attempt(problem) if problem else "")
        notebook = WatchedNotebook(self.services.notebook(worker_run, id))
        asker = self.services.asker(id)
        async with self.services.maker(worker_run, task.start_tree) as maker:
            job = replace(
                self.job,
                intent=prompts.worker_prompt(self.job.intent, task.subtask, evidence),
                role=f"worker:{id}",
                iteration=number + ATTEMPT_NUMBERS * times_repeated,
                feedback="",
                red_rounds=0,
                maker=maker,
                private_dir=self.job.private_dir / worker_run,
                notebook=notebook,
                budget=self.services.share(max(1, self.unfinished)),
                asker=PausingAsker(asker, notebook) if asker is not None else None,
                max_turns=self.worker.max_turns,
                on_text=None,
                worker_services=None,
            )
            attempt = await self._run_engine(job, notebook)
            tree, problem = await self._captured_tree(worker_run, task.start_tree, job, attempt)
            note = self.attempts.write_worked(task, number, tree, attempt.stop, problem)  # before its tree is removed
        if attempt.stop == "waits" and attempt.waits_for:
            raise ModelWaits(attempt.problem, attempt.waits_for, attempt.reset_at)
        return note

    async def _captured_tree(self, worker_run: str, start_tree: str, job: Job, attempt: Attempt) -> tuple[str, str]:
        """Return the tree that a worker left, or why it left none."""
        if attempt.stop in ("model_failed", "waits"):
            return "", attempt.problem
        try:
            tree = await self.services.capture(worker_run, job.maker)
        except CandidateRefused as refused:
            return "", str(refused)
        if tree == start_tree and attempt.stop == "budget":
            return "", "a limit was reached before it made anything"
        if tree == start_tree and attempt.claim is not None:
            return "", f"it claims that nothing should change: {attempt.claim.summary}"
        return tree, ""

    async def _run_engine(self, job: Job, notebook: "WatchedNotebook") -> Attempt:
        """Run a worker's attempt; end it if the worker is silent for too long."""
        silence = self.services.time().silence_secs
        attempt = Attempt(stop="model_failed", problem=f"no activity for {silence:g} s")
        problem: Exception | None = None
        async with anyio.create_task_group() as tasks:
            if silence:
                tasks.start_soon(notebook.cancel_when_silent, silence * SILENCE_SHARE, tasks.cancel_scope)
            try:
                attempt = await self.worker.engine.attempt(job, partial(notebook.write, None))
            except Exception as error:  # noqa: BLE001 - not through the group, which would wrap it
                problem = error
            tasks.cancel_scope.cancel()
        if problem is not None:
            raise problem
        return attempt


async def _contain_failure(
    work: Callable[[SubtaskAttempt, int, str], Awaitable[T]], task: SubtaskAttempt, number: int, argument: str
) -> T | str:
    """Return the result of the work, or a text that says why it failed. Only an error that needs a person, or a lost
    lease, stops the other workers too."""
    try:
        return await work(task, number, argument)
    except (NeedsPerson, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - one worker's fault must not lose the others' work; it is reported
        return str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"


def _flatten(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for one in cast("ExceptionGroup[Exception]", error).exceptions:
            yield from _flatten(one)
    else:
        yield error


def _ignore(event: Event) -> None:
    del event
