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
from donewhen.engines.foreman.progress import TRIES, SubtaskAttempt, Tries, WorkedNote
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
class PatientAsker:
    """Asks a person, and suspends the silence limit of the asking worker until the answer is there."""

    asker: Asker
    notebook: "Heard"

    async def ask(self, id: str, prompt: str) -> str:
        with self.notebook.patience():
            return await self.asker.ask(id, prompt)


class Heard:
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
    def patience(self) -> Generator[None]:
        """Suspend the silence limit while the block runs."""
        self._asks += 1
        try:
            yield
        finally:
            self._asks -= 1
            self._last = time.monotonic()

    async def silence(self, secs: float, scope: anyio.CancelScope) -> None:
        """Cancel the scope if nothing was written for `secs` seconds."""
        left = secs
        while left > 0:
            await anyio.sleep(left)  # every write moves the deadline
            left = secs if self._asks else self._last + secs - time.monotonic()
        scope.cancel()


T = TypeVar("T")
GATES_AT_ONCE = 2
MOST_TRIES = TRIES + 1
TOO_LATE = "time limit reached"
NOT_GATED = "it is made, but the time limit was reached before it was judged"
PATIENCE = 0.8
"""Fraction of the time after which a silent session is ended: a silent worker is stopped before that."""


@frozen
class Worker:
    engine: Engine
    max_turns: int


@dataclass(slots=True)
class WorkerPool:
    worker: Worker
    job: Job
    hands: WorkerServices
    at_once: anyio.CapacityLimiter
    until: float | None
    """When the work must end, by the clock of `time.monotonic`."""
    waiting: int = 1
    """How many subtasks have no result yet; each gets an equal share of the budget."""
    _gates: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(GATES_AT_ONCE))

    @property
    def tries(self) -> Tries:
        return Tries(self.job)

    async def gated(self, tasks: Sequence[SubtaskAttempt]) -> list[Gated]:
        """Return every subtask's patch with the gate's result, in the order of `tasks`."""
        found: dict[str, Gated] = {}

        async def one(task: SubtaskAttempt) -> None:
            found[task.subtask.id] = await self._one(task)

        left = None if self.until is None else max(0.0, self.until - time.monotonic())
        try:
            with anyio.move_on_after(left):
                async with anyio.create_task_group() as group:
                    for task in tasks:
                        group.start_soon(one, task)
        except ExceptionGroup as several:
            # An error that needs a person comes first.
            raise min(_flat(several), key=lambda error: not isinstance(error, NeedsPerson)) from several
        return [found.get(task.subtask.id) or self._late(task) for task in tasks]

    def is_over(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    async def _one(self, task: SubtaskAttempt) -> Gated:
        async with self.at_once:
            worked = await self._worked(task)
        self.waiting -= 1
        number = worked.try_
        if not worked.tree:
            return self._failed(task, number, worked.problem)
        async with self._gates:
            gated = await _boundary(self._judged, task, number, worked.tree)
        return self._failed(task, number, gated) if isinstance(gated, str) else gated

    async def _judged(self, task: SubtaskAttempt, number: int, tree: str) -> Gated:
        id = task.subtask.id
        patch = Patch(id=id, tree=tree, on=task.ground, footprint=task.subtask.footprint)
        is_told = self.tries.is_told(task, number)
        uniting = await self.hands.combiner(task.ground, subtask=id)
        gated = await (replace(uniting, emit=_unheard) if is_told else uniting).gate_one(patch)
        if not is_told:
            self.tries.write_gated(task, number, gated.status)
        return gated

    def _late(self, task: SubtaskAttempt) -> Gated:
        return self._failed(task, 0, NOT_GATED if self.tries.is_made(task) else TOO_LATE)

    def _failed(self, task: SubtaskAttempt, number: int, problem: str) -> Gated:
        id, reason = task.subtask.id, Reason("worker_failed", problem)
        if not self.tries.is_told(task, number):
            told = SubtaskGated(id=id, status="error", reasons=(reason.as_event(),))
            self.tries.write_gated(task, number, "error", told)
        patch = Patch(id=id, tree="", on=task.ground, footprint=task.subtask.footprint)
        return Gated(patch=patch, status="error", reasons=(reason,))

    # -- one worker --

    async def _worked(self, task: SubtaskAttempt) -> WorkedNote:
        """Return the attempt that made something, or the last one if none did."""
        number, problem = task.first_try, ""
        while True:
            worked = self.tries.known(task, number) or await self._try(task, number, problem)
            number, problem = number + 1, worked.problem
            is_over = worked.tree or worked.stop in ("budget", "claim")
            if is_over or number >= task.first_try + task.tries:
                return worked

    async def _try(self, task: SubtaskAttempt, number: int, problem: str) -> WorkedNote:
        """Run one worker. If it breaks, the other workers continue."""
        worked = await _boundary(self._work, task, number, problem)
        if not isinstance(worked, str):
            return worked
        # The failure may come from the removal of its tree. What was made before that still counts.
        return self.tries.known(task, number) or self.tries.write_worked(task, number, "", "model_failed", worked)

    async def _work(self, task: SubtaskAttempt, number: int, problem: str) -> WorkedNote:
        id, anew = task.subtask.id, self.tries.anew(task, number)
        part = f"{id}#{number}@{task.ground[:12]}{'+' * anew}"  # a tree and a conversation belong to one ground
        started = SubtaskStarted(id=id, index=task.index, level=task.level, total=task.total, attempt=number)
        self.job.notebook.write(None, started)
        before = task.evidence or (prompts.failed(problem) if problem else "")
        notebook = Heard(self.hands.notebook(part, id))
        asker = self.hands.asker(id)
        async with self.hands.maker(part, task.ground) as maker:
            job = replace(
                self.job,
                intent=prompts.working(self.job.intent, task.subtask, before),
                role=f"worker:{id}",
                iteration=number + MOST_TRIES * anew,
                feedback="",
                red_rounds=0,
                maker=maker,
                private_dir=self.job.private_dir / part,
                notebook=notebook,
                budget=self.hands.share(max(1, self.waiting)),
                asker=PatientAsker(asker, notebook) if asker is not None else None,
                max_turns=self.worker.max_turns,
                on_text=None,
                worker_services=None,
            )
            attempt = await self._attempt(job, notebook)
            tree, problem = await self._made(part, task.ground, job, attempt)
            body = self.tries.write_worked(task, number, tree, attempt.stop, problem)  # before its tree is removed
        if attempt.stop == "waits" and attempt.waits_for:
            raise ModelWaits(attempt.problem, attempt.waits_for, attempt.reset_at)
        return body

    async def _made(self, part: str, ground: str, job: Job, attempt: Attempt) -> tuple[str, str]:
        """Return the tree that a worker left, or why it left none."""
        if attempt.stop in ("model_failed", "waits"):
            return "", attempt.problem
        try:
            tree = await self.hands.capture(part, job.maker)
        except CandidateRefused as refused:
            return "", str(refused)
        if tree == ground and attempt.stop == "budget":
            return "", "a limit was reached before it made anything"
        if tree == ground and attempt.claim is not None:
            return "", f"it claims that nothing should change: {attempt.claim.summary}"
        return tree, ""

    async def _attempt(self, job: Job, notebook: "Heard") -> Attempt:
        """Run a worker's attempt; end it if the worker is silent for too long."""
        silence = self.hands.time().silence_secs
        attempt = Attempt(stop="model_failed", problem=f"no activity for {silence:g} s")
        problem: Exception | None = None
        async with anyio.create_task_group() as tasks:
            if silence:
                tasks.start_soon(notebook.silence, silence * PATIENCE, tasks.cancel_scope)
            try:
                attempt = await self.worker.engine.attempt(job, partial(notebook.write, None))
            except Exception as error:  # noqa: BLE001 - not through the group, which would wrap it
                problem = error
            tasks.cancel_scope.cancel()
        if problem is not None:
            raise problem
        return attempt


async def _boundary(
    work: Callable[[SubtaskAttempt, int, str], Awaitable[T]], task: SubtaskAttempt, number: int, word: str
) -> T | str:
    """Return the result of the work, or why it failed as text. Only an error that needs a person, or a lost lease, also
    stops the other workers."""
    try:
        return await work(task, number, word)
    except (NeedsPerson, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - one worker's fault must not lose the others' work; it is reported
        return str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"


def _flat(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for one in cast("ExceptionGroup[Exception]", error).exceptions:
            yield from _flat(one)
    else:
        yield error


def _unheard(event: Event) -> None:
    del event
