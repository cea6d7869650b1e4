"""Runs one round of an engine: builds the job, enforces limits, contains engine failures."""

import time
from functools import partial

import anyio

from donewhen.engines.interface import Asker, Attempt, Engine, Job, PlanTracker, WorkerServices
from donewhen.engines.spec import EngineKind
from donewhen.errors import DonewhenError, NeedsPerson
from donewhen.events import Error, RefusedPath
from donewhen.judge.output_tail import redacted
from donewhen.model.interface import Said
from donewhen.records import frozen
from donewhen.session.check.judge_tree import secrets_in
from donewhen.session.log.notes import Attempted, AttemptStop
from donewhen.session.log.start_record import StartRecord
from donewhen.session.log.state import Round
from donewhen.session.log.writer import LogWriter, StepNotebook
from donewhen.session.loop import feedback
from donewhen.session.loop.budget import Budget
from donewhen.session.loop.stop_rules import claim_refused, repeats
from donewhen.session.recall.session_memory import SessionMemory
from donewhen.session.workplace import Workplace
from donewhen.storage.lease import LeaseLost
from donewhen.workspace.trees.capture import CandidateRefused
from donewhen.workspace.trees.maker import Maker

MOST_REFUSED = 20
"""Number of paths that are named when a candidate is refused. The log keeps them, and a tree may have thousands."""


@frozen(kw_only=True)
class LadderStep:
    """One engine with its number of rounds and turns."""

    kind: EngineKind
    engine: Engine | None
    """None if the engine cannot work here. It then declines, and `reason` says why."""
    reason: str
    """Why the engine was chosen."""
    declines: str = ""
    """Short code for why there is no engine."""
    max_iterations: int = 0
    max_turns: int = 0
    agent: str = ""
    """Name of the agent that works, directly or as the foreman's worker; empty without an agent."""


@frozen(kw_only=True)
class RoundContext:
    """Everything that each round of a session uses."""

    place: Workplace
    opened: StartRecord
    recorder: LogWriter
    budget: Budget
    maker: Maker
    asker: Asker | None
    memory: SessionMemory
    said: Said | None = None

    async def attempt(self, rung: LadderStep, current: Round) -> None:
        """Run an engine, and write to the log how the attempt ended and what it made."""
        assert rung.engine is not None  # a step without an engine declines and never gets here
        self.memory.offered(current)
        attempt, stop = await self._in_time(rung.engine, self._job(rung, current))
        silent = f"nothing was heard for {self.silence_secs:g} s"
        attempted = Attempted(
            n=current.n,
            stop=stop,
            said=attempt.said,
            problem=silent if stop == "silence" else attempt.problem,
            word=attempt.word if stop == "declines" else None,
            claim=attempt.claim,
            waits_for=attempt.waits_for or None,
            reset_at=attempt.reset_at if attempt.waits_for else None,
        )
        if stop != "declines":
            attempted = await self._captured(attempted)
        self.recorder.write(note=attempted.note())

    async def _captured(self, attempted: Attempted) -> Attempted:
        """Capture the maker tree. Return the note with the candidate, or with why there is none."""
        try:
            candidate = await self.place.candidate_of(await self.maker.snapshot(), self.opened.base)
        except CandidateRefused as error:
            paths = tuple(map(RefusedPath.load, error.named(MOST_REFUSED)))
            return attempted.changed(refused=str(error), refused_paths=paths)
        await self.place.store.keep(f"sessions/{self.opened.session}/candidate", candidate)
        return attempted.changed(candidate=candidate)

    def job_to_plan(self, rung: LadderStep) -> Job:
        """Return a job for an engine that only plans."""
        return self._job(rung, Round(0, rung.kind))

    def _job(self, rung: LadderStep, current: Round) -> Job:
        before = self.recorder.story.rounds[: max(0, current.n - 1)]
        reds = [one for one in before if one.rung == rung.kind and one.judged is not None]
        return Job(
            intent=self.opened.intent,
            contract=self.opened.contract.render(),
            iteration=current.n,
            feedback=self._feedback(before[-1]) if before else "",
            reds=len(reds),
            hint=current.hint.text if current.hint is not None else "",
            maker=self.maker,
            own=self.place.own_directory(self.opened.session),
            notebook=StepNotebook(self.recorder, rung.kind),
            meter=self.budget,
            asker=self.asker,
            max_turns=rung.max_turns,
            redact=partial(redacted, secrets=secrets_in(self.place, self.opened.settings)),
            said=self.said,
            hands=self._hands(rung) if rung.kind.has_workers else None,
            planned=self._planned(),
        )

    def _planned(self) -> PlanTracker | None:
        if not self.recorder.story.proposals:
            return None
        from donewhen.session.log import plan_files, plan_tracker  # loaded on use: most sessions have no plan

        plan = plan_files.plan_in(self.recorder.story)
        return plan_tracker.TrackedPlan(self.recorder, plan) if plan is not None else None

    def _hands(self, rung: LadderStep) -> WorkerServices:
        from donewhen.session.loop.worker_services import SessionWorkerServices

        return SessionWorkerServices(self, rung.kind)

    def _feedback(self, before: Round) -> str:
        words = [part.feedback or "" for part in (before.judged, before.opinion) if part is not None]
        if claim_refused(self.recorder.story, before):
            words.append(feedback.CLAIM_REFUSED)
        elif repeats(self.recorder.story, before):
            words.append(feedback.SAME_AGAIN)
        return "\n\n".join(filter(None, words))

    async def _in_time(self, engine: Engine, job: Job) -> tuple[Attempt, AttemptStop]:
        """Run an attempt until it ends, the minutes are used up, or nothing is logged for too long."""
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
                    problem = error  # raised outside the task group, which would wrap it
                tasks.cancel_scope.cancel()
        if problem is not None:
            raise problem
        return attempt, "silence" if silent and attempt.stop == "budget" else attempt.stop

    async def _tried(self, engine: Engine, job: Job) -> Attempt:
        """Call the engine. If it raises an error, its work is still judged."""
        try:
            return await engine.attempt(job, self.recorder.emit)
        except (NeedsPerson, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - an engine failure must not lose the work; it is reported
            words = str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"
            self.recorder.emit(Error(kind="engine", message=words))
            return Attempt(stop="model_failed", problem=words)

    @property
    def silence_secs(self) -> float:
        return self.opened.settings.number("limits", "silence_secs")

    async def silence(self) -> None:
        """Return when nothing was written to the log for `silence_secs`."""
        left = self.silence_secs
        while left > 0:
            await anyio.sleep(left)  # every write to the log extends the deadline
            left = self.recorder.last + self.silence_secs - time.monotonic()
