"""One round of an engine's work: its job, its limits, and the boundary that nothing of it breaks through."""

import time
from dataclasses import asdict
from functools import partial
from typing import Any

import anyio

from donewhen.engines.base import Asker, Attempt, Engine, Hands, Job, NoChange, Planned
from donewhen.errors import DonewhenError, NeedsPerson
from donewhen.events import Error
from donewhen.judge.tail import redacted
from donewhen.model.base import Said
from donewhen.records import frozen
from donewhen.session import feedback
from donewhen.session.checking import secrets_in
from donewhen.session.meter import Budget
from donewhen.session.opened import Opened
from donewhen.session.recorder import Recorder, RungNotebook
from donewhen.session.remembering import NoMemory
from donewhen.session.stopping import claim_refused, repeats
from donewhen.session.story import ATTEMPTED, Round
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import Fenced
from donewhen.workspace.capture import CandidateRefused
from donewhen.workspace.maker import Maker

MOST_REFUSED = 20
"""Paths of a candidate that are named when it is refused; the log keeps them, and a tree may have thousands."""


@frozen(kw_only=True)
class Rung:
    """One engine, and how often it may try."""

    name: str
    engine: Engine | None
    """None when it cannot work here; `reason` says why, and it declines."""
    reason: str
    """Why it was chosen."""
    declines: str = ""
    """In one word, why there is no engine."""
    max_iterations: int = 0
    max_turns: int = 0
    agent: str = ""
    """Who works, for an engine that has others work."""


@frozen(kw_only=True)
class Workbench:
    """What every round of a session is worked with."""

    place: Workplace
    opened: Opened
    recorder: Recorder
    budget: Budget
    maker: Maker
    asker: Asker | None
    memory: NoMemory
    said: Said | None = None

    async def attempt(self, rung: Rung, current: Round) -> None:
        """Let an engine work, and write down how that ended together with what it made."""
        assert rung.engine is not None  # a rung that declines is not worked on
        self.memory.offered(current)
        attempt, stop = await self._in_time(rung.engine, self._job(rung, current))
        body: dict[str, Any] = {"n": current.n, "stop": stop, "said": attempt.said, "problem": attempt.problem}
        if stop == "declines":
            self.recorder.write(note=(ATTEMPTED, {**body, "word": attempt.word}))
            return
        if stop == "silence":
            body["problem"] = f"nothing was heard for {self.silence_secs:g} s"
        if attempt.claim is not None:
            body["claim"] = asdict(attempt.claim)
        if attempt.waits_for:
            body |= {"waits_for": attempt.waits_for, "reset_at": attempt.reset_at}
        try:
            body["candidate"] = await self.place.candidate_of(await self.maker.snapshot(), self.opened.base)
            await self.place.store.keep(f"sessions/{self.opened.session}/candidate", body["candidate"])
        except CandidateRefused as error:
            body |= {"refused": str(error), "refused_paths": error.named(MOST_REFUSED)}
        self.recorder.write(note=(ATTEMPTED, body))

    def job_to_plan(self, rung: Rung) -> Job:
        """For an engine that only plans."""
        return self._job(rung, Round(0, rung.name))

    def _job(self, rung: Rung, current: Round) -> Job:
        before = self.recorder.story.rounds[: max(0, current.n - 1)]
        reds = [one for one in before if one.rung == rung.name and one.judged is not None]
        return Job(
            intent=self.opened.intent,
            contract=self.opened.contract.render(),
            iteration=current.n,
            feedback=self._feedback(before[-1]) if before else "",
            reds=len(reds),
            hint=str((current.hint or {}).get("text", "")),
            maker=self.maker,
            own=self.place.own_directory(self.opened.session),
            notebook=RungNotebook(self.recorder, rung.name),
            meter=self.budget,
            asker=self.asker,
            max_turns=rung.max_turns,
            redact=partial(redacted, secrets=secrets_in(self.place, self.opened.settings)),
            said=self.said,
            hands=self._hands(rung) if rung.name == "foreman" else None,
            planned=self._planned(),
        )

    def _planned(self) -> Planned | None:
        if not self.recorder.story.proposals:
            return None
        from donewhen.session import artifacts, tracked  # most sessions have no plan

        plan = artifacts.plan_in(self.recorder.story)
        return tracked.TrackedPlan(self.recorder, plan) if plan is not None else None

    def _hands(self, rung: Rung) -> Hands:
        from donewhen.session.hands import SessionHands

        return SessionHands(self, rung.name)

    def _feedback(self, before: Round) -> str:
        words = [str((before.judged or {}).get("feedback", "")), str((before.opinion or {}).get("feedback", ""))]
        if claim_refused(self.recorder.story, before):
            words.append(feedback.CLAIM_REFUSED)
        elif repeats(self.recorder.story, before):
            words.append(feedback.SAME_AGAIN)
        return "\n\n".join(filter(None, words))

    async def _in_time(self, engine: Engine, job: Job) -> tuple[Attempt, str]:
        """An attempt that ends by itself, or when the minutes are used up, or when nothing was heard for too long."""
        attempt = Attempt(stop="budget")
        silent = False
        problem: DonewhenError | None = None
        with anyio.move_on_after(self.budget.seconds_left()):
            async with anyio.create_task_group() as tasks:

                async def listen() -> None:
                    nonlocal silent
                    await self.silence()
                    silent = True
                    tasks.cancel_scope.cancel()

                if self.silence_secs:
                    tasks.start_soon(listen)
                try:
                    attempt = await self._tried(engine, job)
                except DonewhenError as error:
                    problem = error  # not through the group, which would wrap it
                tasks.cancel_scope.cancel()
        if problem is not None:
            raise problem
        return attempt, "silence" if silent and attempt.stop == "budget" else attempt.stop

    async def _tried(self, engine: Engine, job: Job) -> Attempt:
        """The boundary to an engine: whatever breaks in it, what it made is judged all the same."""
        try:
            return await engine.attempt(job, self.recorder.emit)
        except (NeedsPerson, Fenced):
            raise
        except Exception as error:  # noqa: BLE001 - an engine's fault must not lose the work; it is told
            words = str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"
            self.recorder.emit(Error(kind="engine", message=words))
            return Attempt(stop="model_failed", problem=words)

    @property
    def silence_secs(self) -> float:
        return self.opened.settings.number("limits", "silence_secs")

    async def silence(self) -> None:
        """Comes back when nothing was written for too long."""
        left = self.silence_secs
        while left > 0:
            await anyio.sleep(left)  # every write moves the end
            left = self.recorder.last + self.silence_secs - time.monotonic()


def claim_in(current: Round) -> NoChange | None:
    claim = (current.attempted or {}).get("claim")
    return NoChange(**claim) if claim else None
