"""The farm: subtasks worked on at the same time, each by a worker in a tree of its own, and gated as they come in.

A worker that fails is given up and another one tries, once, from a clean copy. What a worker has made is a note before
anything is done with it, so that it is never made twice.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import anyio

from donewhen.engines.base import Attempt, Engine, Hands, Job
from donewhen.engines.foreman import words
from donewhen.engines.foreman.hearing import Heard, PatientAsker
from donewhen.engines.foreman.tries import TRIES, Task, Tries
from donewhen.errors import DonewhenError, NeedsPerson
from donewhen.events import Event, SubtaskGated, SubtaskStarted
from donewhen.model.base import ModelWaits
from donewhen.records import frozen
from donewhen.storage.lease import Fenced
from donewhen.union.gate import Gated
from donewhen.union.patch import Patch
from donewhen.union.reasons import Reason
from donewhen.workspace.capture.refusals import CandidateRefused

T = TypeVar("T")
GATES_AT_ONCE = 2
MOST_TRIES = TRIES + 1
TOO_LATE = "the time was over"
NOT_GATED = "it is made, but the time was over before it could be gated"
PATIENCE = 0.8
"""Of the time after which a silent session is ended: a worker is given up before that."""


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
    until: float | None
    """When no more may be worked, by the clock of `time.monotonic`."""
    waiting: int = 1
    """How many subtasks have nothing to show yet; each may spend as much as the others."""
    _gates: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(GATES_AT_ONCE))

    @property
    def tries(self) -> Tries:
        return Tries(self.job)

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
        return [found.get(task.subtask.id) or self._late(task) for task in tasks]

    def is_over(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    async def _one(self, task: Task) -> Gated:
        async with self.at_once:
            worked = await self._worked(task)
        self.waiting -= 1
        number = worked["try"]
        if not worked["tree"]:
            return self._failed(task, number, str(worked["problem"]))
        async with self._gates:
            gated = await _boundary(self._judged, task, number, str(worked["tree"]))
        return self._failed(task, number, gated) if isinstance(gated, str) else gated

    async def _judged(self, task: Task, number: int, tree: str) -> Gated:
        id = task.subtask.id
        patch = Patch(id=id, tree=tree, on=task.ground, footprint=task.subtask.footprint)
        is_told = self.tries.is_told(task, number)
        uniting = await self.hands.uniting(task.ground, subtask=id)
        gated = await (replace(uniting, emit=_unheard) if is_told else uniting).gated(patch)
        if not is_told:
            self.tries.write_gated(task, number, gated.status)
        return gated

    def _late(self, task: Task) -> Gated:
        return self._failed(task, 0, NOT_GATED if self.tries.is_made(task) else TOO_LATE)

    def _failed(self, task: Task, number: int, problem: str) -> Gated:
        id, reason = task.subtask.id, Reason("worker_failed", problem)
        if not self.tries.is_told(task, number):
            told = SubtaskGated(id=id, status="error", reasons=(reason.plain(),))
            self.tries.write_gated(task, number, "error", told)
        patch = Patch(id=id, tree="", on=task.ground, footprint=task.subtask.footprint)
        return Gated(patch=patch, status="error", reasons=(reason,))

    # -- one worker --

    async def _worked(self, task: Task) -> Mapping[str, Any]:
        """What came of it: the try that made something, or the last one that did not."""
        worked: Mapping[str, Any] = {}
        for number in range(task.first_try, task.first_try + task.tries):
            before = str(worked.get("problem", ""))
            worked = self.tries.known(task, number) or await self._try(task, number, before)
            if worked["tree"] or worked["stop"] in ("budget", "claim"):
                break
        return worked

    async def _try(self, task: Task, number: int, problem: str) -> Mapping[str, Any]:
        """One worker at work; whatever breaks in it, the others go on."""
        worked = await _boundary(self._work, task, number, problem)
        if not isinstance(worked, str):
            return worked
        # What broke may have been the removal of its tree: what was made by then is made.
        return self.tries.known(task, number) or self.tries.write_worked(task, number, "", "model_failed", worked)

    async def _work(self, task: Task, number: int, problem: str) -> Mapping[str, Any]:
        id, anew = task.subtask.id, self.tries.anew(task, number)
        part = f"{id}#{number}@{task.ground[:12]}{'+' * anew}"  # a tree and a conversation belong to their ground
        started = SubtaskStarted(id=id, index=task.index, level=task.level, total=task.total, attempt=number)
        self.job.notebook.write(None, started)
        before = task.evidence or (words.failed(problem) if problem else "")
        notebook = Heard(self.hands.notebook(part, id))
        asker = self.hands.asker(id)
        async with self.hands.maker(part, task.ground) as maker:
            job = replace(
                self.job,
                intent=words.working(self.job.intent, task.subtask, before),
                role=f"worker:{id}",
                iteration=number + MOST_TRIES * anew,
                feedback="",
                reds=0,
                maker=maker,
                own=self.job.own / part,
                notebook=notebook,
                meter=self.hands.share(max(1, self.waiting)),
                asker=PatientAsker(asker, notebook) if asker is not None else None,
                max_turns=self.worker.max_turns,
                said=None,
                hands=None,
            )
            attempt = await self._attempt(job, notebook)
            tree, problem = await self._made(part, task.ground, job, attempt)
            body = self.tries.write_worked(task, number, tree, attempt.stop, problem)  # before its tree is gone
        if attempt.stop == "waits" and attempt.waits_for:
            raise ModelWaits(attempt.problem, attempt.waits_for, attempt.reset_at)
        return body

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
        if tree == ground and attempt.claim is not None:
            return "", f"it says that nothing should change: {attempt.claim.summary}"
        return tree, ""

    async def _attempt(self, job: Job, notebook: "Heard") -> Attempt:
        """A worker's attempt, which ends when nothing was heard of it for too long."""
        silence = self.hands.time().silence_secs
        attempt = Attempt(stop="model_failed", problem=f"nothing was heard for {silence:g} s")
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


async def _boundary(work: Callable[[Task, int, str], Awaitable[T]], task: Task, number: int, word: str) -> T | str:
    """What somebody's work gives, or why it broke. Only what a person is needed for breaks off the others as well."""
    try:
        return await work(task, number, word)
    except (NeedsPerson, Fenced):
        raise
    except Exception as error:  # noqa: BLE001 - one worker's fault must not lose the others' work; it is told
        return str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"


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
