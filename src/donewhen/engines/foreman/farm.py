"""The farm: subtasks worked on at the same time, each by a worker in a tree of its own, and gated as they come in.

A worker that fails is given up and another one tries, once, from a clean copy. What a worker has made is a note before
anything is done with it, so that it is never made twice.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import anyio

from donewhen.engines.base import Attempt, Engine, Hands, Job, Note, Notebook
from donewhen.engines.foreman import words
from donewhen.engines.foreman.plan import Subtask
from donewhen.errors import DonewhenError, NeedsPerson
from donewhen.events import Error, Event, SubtaskGated, SubtaskStarted
from donewhen.model.base import ModelWaits
from donewhen.records import frozen
from donewhen.storage.lease import Fenced
from donewhen.union.gate import Gated
from donewhen.union.patch import Patch
from donewhen.union.reasons import Reason
from donewhen.workspace.capture.refusals import CandidateRefused

WORKED, GATED = "worked", "gated"
"""Notes: what a worker made, or that it failed; that everybody was told what the gate says."""
TRIES = 2
GATES_AT_ONCE = 2
TOO_LATE = "the time was over"
PATIENCE = 0.9
"""Of the time after which a silent session is ended: a worker is given up before that."""


@frozen(kw_only=True)
class Task:
    """A subtask with its place in the plan, on the ground that it is worked on now."""

    subtask: Subtask
    index: int
    level: int
    total: int
    ground: str
    first_try: int = 1
    """Tries have numbers of their own, over all times that a subtask is offered."""
    tries: int = TRIES
    evidence: str = ""
    """Why it is offered again."""


@frozen
class Worker:
    engine: Engine
    max_turns: int


@dataclass(slots=True)
class Farm:
    worker: Worker
    job: Job
    hands: Hands
    at_once: anyio.CapacityLimiter
    waiting: int
    """How many subtasks have nothing to show yet; each may spend as much as the others."""
    until: float | None = None
    """When no more may be worked, by the clock of `time.monotonic`."""
    _gates: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(GATES_AT_ONCE))

    async def gated(self, tasks: Sequence[Task]) -> list[Gated]:
        """Everybody's patch with what the gate says about it, in the order given."""
        found: dict[str, Gated] = {}

        async def one(task: Task) -> None:
            found[task.subtask.id] = await self._one(task)

        left = None if self.until is None else max(0.0, self.until - time.monotonic())
        try:
            with anyio.move_on_after(left):
                async with anyio.create_task_group() as group:
                    for task in tasks:
                        group.start_soon(one, task)
        except ExceptionGroup as several:
            raise _gravest(several) from several
        return [found.get(task.subtask.id) or self._failed(task, 0, TOO_LATE) for task in tasks]

    def is_over(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    async def _one(self, task: Task) -> Gated:
        async with self.at_once:
            worked = await self._worked(task)
        self.waiting -= 1
        id, number = task.subtask.id, worked["try"]
        if not worked["tree"]:
            return self._failed(task, number, str(worked["problem"]))
        patch = Patch(id=id, tree=worked["tree"], on=task.ground, footprint=task.subtask.footprint)
        is_told = self._is_told(id, number)
        async with self._gates:
            uniting = await self.hands.uniting(task.ground, subtask=id)
            gated = await (replace(uniting, emit=_unheard) if is_told else uniting).gated(patch)
        if not is_told:
            self.job.notebook.write(self._note(GATED, id, number, status=gated.status))
        return gated

    def _failed(self, task: Task, number: int, problem: str) -> Gated:
        id, reason = task.subtask.id, Reason("worker_failed", problem)
        if not self._is_told(id, number):
            told = SubtaskGated(id=id, status="error", reasons=(reason.plain(),))
            self.job.notebook.write(self._note(GATED, id, number, status="error"), told)
        patch = Patch(id=id, tree="", on=task.ground, footprint=task.subtask.footprint)
        return Gated(patch=patch, status="error", reasons=(reason,))

    # -- one worker --

    async def _worked(self, task: Task) -> Mapping[str, Any]:
        """What came of it: the try that made something, or the last one that did not."""
        worked: Mapping[str, Any] = {}
        for number in range(task.first_try, task.first_try + task.tries):
            before = str(worked.get("problem", ""))
            known = [body for body in self._notes(WORKED, task.subtask.id, number) if self._counts(body)]
            worked = known[-1] if known else await self._try(task, number, before)
            if worked["tree"] or worked["stop"] == "budget":
                break
        return worked

    def _notes(self, kind: str, id: str, number: int) -> list[Mapping[str, Any]]:
        notes = [note.body for note in self.job.notebook.notes() if note.kind == kind]
        return [body for body in notes if body["id"] == id and body["try"] == number]

    def _counts(self, worked: Mapping[str, Any]) -> bool:
        """Whether a try need not be made again. One that waited for a person must, and, in a session that was gone on
        with after its end, one that failed or was stopped by a limit."""
        if worked["stop"] == "waits":
            return False
        return worked["round"] == self.job.iteration or bool(worked["tree"] and worked["stop"] != "budget")

    def _is_told(self, id: str, number: int) -> bool:
        return any(body["round"] == self.job.iteration for body in self._notes(GATED, id, number))

    def _note(self, kind: str, id: str, number: int, **more: Any) -> Note:
        return Note(kind, {"id": id, "try": number, "round": self.job.iteration, **more})

    async def _try(self, task: Task, number: int, problem: str) -> Mapping[str, Any]:
        id = task.subtask.id
        part = f"{id}#{number}{'+' * len(self._notes(WORKED, id, number))}"  # one that did not count begins anew
        started = SubtaskStarted(id=id, index=task.index, level=task.level, total=task.total, attempt=number)
        self.job.notebook.write(None, started)
        before = task.evidence or (words.failed(problem) if problem else "")
        notebook = Heard(self.hands.notebook(part, id))
        async with self.hands.maker(part, task.ground) as maker:
            job = replace(
                self.job,
                intent=words.working(self.job.intent, task.subtask, before),
                role=f"worker:{id}",
                iteration=number,
                feedback="",
                reds=0,
                maker=maker,
                own=self.job.own / part,
                notebook=notebook,
                meter=self.hands.share(max(1, self.waiting)),
                asker=self.hands.asker(id),
                max_turns=self.worker.max_turns,
                said=None,
                hands=None,
            )
            attempt = await self._attempt(job, notebook)
            tree, problem = await self._made(part, task.ground, job, attempt)
            note = self._note(WORKED, id, number, tree=tree, stop=attempt.stop, problem=problem)
            told = [Error(kind="worker", message=problem).of_subtask(id)] if problem else []
            self.job.notebook.write(note, *told)  # before its tree is gone
        if attempt.stop == "waits" and attempt.waits_for:
            raise ModelWaits(attempt.problem, attempt.waits_for, attempt.reset_at)
        return note.body

    async def _made(self, part: str, ground: str, job: Job, attempt: Attempt) -> tuple[str, str]:
        """The tree that a worker has left, or why it has left none."""
        if attempt.stop in ("model_failed", "waits"):
            return "", attempt.problem
        try:
            tree = await self.hands.made(part, job.maker)
        except CandidateRefused as refused:
            return "", str(refused)
        if tree == ground and attempt.stop == "budget":
            return "", "a limit was reached before it had made anything"
        return tree, ""

    async def _attempt(self, job: Job, notebook: "Heard") -> Attempt:
        """A worker's attempt, which ends when nothing was heard of it for too long."""
        attempt = Attempt(stop="model_failed", problem=f"nothing was heard for {self.hands.silence_secs:g} s")
        problem: DonewhenError | None = None
        async with anyio.create_task_group() as tasks:
            if self.hands.silence_secs:
                tasks.start_soon(notebook.silence, self.hands.silence_secs * PATIENCE, tasks.cancel_scope)
            try:
                attempt = await self.worker.engine.attempt(job, partial(notebook.write, None))
            except (NeedsPerson, Fenced) as error:
                problem = error
            except Exception as error:  # noqa: BLE001 - one worker's fault must not lose the others' work; it is told
                why = str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"
                attempt = Attempt(stop="model_failed", problem=why)
            tasks.cancel_scope.cancel()
        if problem is not None:
            raise problem
        return attempt


class Heard:
    """A notebook that knows when it was written to last."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._last = time.monotonic()

    def notes(self) -> Sequence[Note]:
        return self._notebook.notes()

    def write(self, note: Note | None, *events: Event) -> None:
        self._notebook.write(note, *events)
        self._last = time.monotonic()

    def turns(self, role: str) -> int:
        return self._notebook.turns(role)

    async def silence(self, secs: float, scope: anyio.CancelScope) -> None:
        """Cancels the scope when nothing was written for so long."""
        left = secs
        while left > 0:
            await anyio.sleep(left)  # every write moves the end
            left = self._last + secs - time.monotonic()
        scope.cancel()


def _flat(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        for one in cast("ExceptionGroup[Exception]", error).exceptions:
            yield from _flat(one)
    else:
        yield error


def _gravest(group: ExceptionGroup[Exception]) -> Exception:
    """What a group of workers is broken off for: what only a person can help with comes first."""
    return min(_flat(group), key=lambda error: not isinstance(error, NeedsPerson))


def _unheard(event: Event) -> None:
    del event
