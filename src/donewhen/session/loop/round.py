"""Runs one round of an engine: builds the job, enforces limits, contains engine failures."""

from functools import partial

import anyio

from donewhen.engines.interface import Attempt, Engine, Job, PlanTracker, WorkerServices
from donewhen.engines.spec import EngineKind
from donewhen.errors import DonewhenError, NeedsPerson
from donewhen.event_records import RefusedPath
from donewhen.events import Error
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


async def run_attempt(context: RoundContext, step: LadderStep, current: Round) -> None:
    """Run an engine, and write to the log how the attempt ended and what it made."""
    assert step.engine is not None  # a step without an engine declines and never gets here
    context.memory.count_hint(current)
    attempt, stop = await _attempt_in_time(context, step.engine, _job(context, step, current))
    silent = f"no activity for {context.silence_secs:g} s"
    attempted = Attempted(
        n=current.n,
        stop=stop,
        last_text=attempt.last_text,
        problem=silent if stop == "silence" else attempt.problem,
        code=attempt.code if stop == "declines" else None,
        claim=attempt.claim,
        waits_for=attempt.waits_for or None,
        reset_at=attempt.reset_at if attempt.waits_for else None,
    )
    if stop != "declines":
        attempted = await _capture(context, attempted)
    context.log.write(note=attempted.note())


async def _capture(context: RoundContext, attempted: Attempted) -> Attempted:
    """Capture the maker tree. Return the note with the candidate, or with why there is none."""
    try:
        candidate = await context.workplace.candidate_of(await context.maker.snapshot(), context.start_record.base)
    except CandidateRefused as error:
        paths = tuple(map(RefusedPath.load, error.named(MOST_REFUSED)))
        return attempted.changed(refused=str(error), refused_paths=paths)
    await context.workplace.store.keep(f"sessions/{context.start_record.session}/candidate", candidate)
    return attempted.changed(candidate=candidate)


def job_to_plan(context: RoundContext, step: LadderStep) -> Job:
    """Return a job for an engine that only plans."""
    return _job(context, step, Round(0, step.kind))


def _job(context: RoundContext, step: LadderStep, current: Round) -> Job:
    before = context.log.state.rounds[: max(0, current.n - 1)]
    red_rounds = [one for one in before if one.step == step.kind and one.judged is not None]
    return Job(
        intent=context.task or context.start_record.intent,
        contract=context.start_record.contract.render(),
        iteration=current.n,
        feedback=_feedback(context, before[-1]) if before else "",
        red_rounds=len(red_rounds),
        hint=current.hint.text if current.hint is not None else "",
        maker=context.maker,
        private_dir=context.workplace.engine_directory(context.start_record.session),
        notebook=StepNotebook(context.log, step.kind),
        budget=context.budget,
        asker=context.asker,
        max_turns=step.max_turns,
        redact=partial(redacted, secrets=secrets_in(context.workplace, context.start_record.settings)),
        on_text=context.on_text,
        worker_services=_worker_services(context, step) if step.kind.has_workers else None,
        plan=_plan_tracker(context),
        rules=context.rules,
    )


def _plan_tracker(context: RoundContext) -> PlanTracker | None:
    if not context.log.state.proposals:
        return None
    from donewhen.session.log import plan_files, plan_tracker  # loaded on use: most sessions have no plan

    plan = plan_files.plan_in(context.log.state)
    return plan_tracker.TrackedPlan(context.log, plan) if plan is not None else None


def _worker_services(context: RoundContext, step: LadderStep) -> WorkerServices:
    from donewhen.session.loop.worker_services import SessionWorkerServices

    return SessionWorkerServices(context, step.kind)


def _feedback(context: RoundContext, before: Round) -> str:
    parts = [part.feedback or "" for part in (before.judged, before.opinion) if part is not None]
    if claim_refused(context.log.state, before):
        parts.append(feedback.CLAIM_REFUSED)
    elif repeats(context.log.state, before):
        parts.append(feedback.SAME_AGAIN)
    return "\n\n".join(filter(None, parts))


async def _attempt_in_time(context: RoundContext, engine: Engine, job: Job) -> tuple[Attempt, AttemptStop]:
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
                attempt = await _attempt(context, engine, job)
            except DonewhenError as error:
                problem = error  # raised outside the task group, which would wrap it
            tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    return attempt, "silence" if silent and attempt.stop == "budget" else attempt.stop


async def _attempt(context: RoundContext, engine: Engine, job: Job) -> Attempt:
    """Call the engine. If it raises an error, its work is still judged."""
    try:
        return await engine.attempt(job, context.log.emit)
    except (NeedsPerson, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - an engine failure must not lose the work; it is reported
        problem = str(error) if isinstance(error, DonewhenError) else f"{type(error).__name__}: {error}"
        context.log.emit(Error(kind="engine", message=problem))
        return Attempt(stop="model_failed", problem=problem)
