"""Runs one round of an engine: builds the job, enforces limits, contains engine failures."""

from functools import partial

import anyio

from donewhen.engines.interface import Attempt, Engine, Job, PlanTracker, WorkerServices
from donewhen.engines.spec import EngineKind
from donewhen.errors import DonewhenError, NeedsPerson
from donewhen.events import Error, RefusedPath
from donewhen.judge.output_tail import redacted
from donewhen.records import frozen
from donewhen.session.check.judge_tree import secrets_in
from donewhen.session.log.notes import Attempted, AttemptStop
from donewhen.session.log.state import Round
from donewhen.session.log.writer import StepNotebook
from donewhen.session.loop import feedback
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import claim_refused, repeats
from donewhen.storage.lease import LeaseLost
from donewhen.workspace.trees.capture import CandidateRefused

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


async def run_attempt(context: RoundContext, rung: LadderStep, current: Round) -> None:
    """Run an engine, and write to the log how the attempt ended and what it made."""
    assert rung.engine is not None  # a step without an engine declines and never gets here
    context.memory.offered(current)
    attempt, stop = await _in_time(context, rung.engine, _job(context, rung, current))
    silent = f"no activity for {context.silence_secs:g} s"
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
        attempted = await _captured(context, attempted)
    context.recorder.write(note=attempted.note())


async def _captured(context: RoundContext, attempted: Attempted) -> Attempted:
    """Capture the maker tree. Return the note with the candidate, or with why there is none."""
    try:
        candidate = await context.place.candidate_of(await context.maker.snapshot(), context.opened.base)
    except CandidateRefused as error:
        paths = tuple(map(RefusedPath.load, error.named(MOST_REFUSED)))
        return attempted.changed(refused=str(error), refused_paths=paths)
    await context.place.store.keep(f"sessions/{context.opened.session}/candidate", candidate)
    return attempted.changed(candidate=candidate)


def job_to_plan(context: RoundContext, rung: LadderStep) -> Job:
    """Return a job for an engine that only plans."""
    return _job(context, rung, Round(0, rung.kind))


def _job(context: RoundContext, rung: LadderStep, current: Round) -> Job:
    before = context.recorder.story.rounds[: max(0, current.n - 1)]
    reds = [one for one in before if one.rung == rung.kind and one.judged is not None]
    return Job(
        intent=context.opened.intent,
        contract=context.opened.contract.render(),
        iteration=current.n,
        feedback=_feedback(context, before[-1]) if before else "",
        reds=len(reds),
        hint=current.hint.text if current.hint is not None else "",
        maker=context.maker,
        own=context.place.own_directory(context.opened.session),
        notebook=StepNotebook(context.recorder, rung.kind),
        meter=context.budget,
        asker=context.asker,
        max_turns=rung.max_turns,
        redact=partial(redacted, secrets=secrets_in(context.place, context.opened.settings)),
        on_text=context.on_text,
        hands=_hands(context, rung) if rung.kind.has_workers else None,
        planned=_planned(context),
    )


def _planned(context: RoundContext) -> PlanTracker | None:
    if not context.recorder.story.proposals:
        return None
    from donewhen.session.log import plan_files, plan_tracker  # loaded on use: most sessions have no plan

    plan = plan_files.plan_in(context.recorder.story)
    return plan_tracker.TrackedPlan(context.recorder, plan) if plan is not None else None


def _hands(context: RoundContext, rung: LadderStep) -> WorkerServices:
    from donewhen.session.loop.worker_services import SessionWorkerServices

    return SessionWorkerServices(context, rung.kind)


def _feedback(context: RoundContext, before: Round) -> str:
    words = [part.feedback or "" for part in (before.judged, before.opinion) if part is not None]
    if claim_refused(context.recorder.story, before):
        words.append(feedback.CLAIM_REFUSED)
    elif repeats(context.recorder.story, before):
        words.append(feedback.SAME_AGAIN)
    return "\n\n".join(filter(None, words))


async def _in_time(context: RoundContext, engine: Engine, job: Job) -> tuple[Attempt, AttemptStop]:
    """Run an attempt until it ends, the minutes are used up, or nothing is logged for too long."""
    attempt = Attempt(stop="budget")
    silent = False
    problem: DonewhenError | None = None
    with anyio.move_on_after(context.budget.seconds_left()):
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                nonlocal silent
                await context.silence()
                silent = True
                tasks.cancel_scope.cancel()

            if context.silence_secs:
                tasks.start_soon(listen)
            try:
                attempt = await _tried(context, engine, job)
            except DonewhenError as error:
                problem = error  # raised outside the task group, which would wrap it
            tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    return attempt, "silence" if silent and attempt.stop == "budget" else attempt.stop


async def _tried(context: RoundContext, engine: Engine, job: Job) -> Attempt:
    """Call the engine. If it raises an error, its work is still judged."""
    try:
        return await engine.attempt(job, context.recorder.emit)
    except (NeedsPerson, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - an engine failure must not lose the work; it is reported
        words = str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"
        context.recorder.emit(Error(kind="engine", message=words))
        return Attempt(stop="model_failed", problem=words)
