"""The repair loop, the same for every engine: attempt, judge, feedback, next attempt, until there is a reason to stop.

This module decides only the order. How a round is worked on is in `round`, how it is judged in `judge_round`, when to
stop in `stop_rules`. An interrupted round continues where the log ends. An engine that has declined is not used again.
"""

from collections.abc import Awaitable, Callable, Sequence

from donewhen.engines.spec import EngineKind
from donewhen.events import EngineDeclined, EngineSelected, IterationStarted
from donewhen.model.interface import ModelWaits
from donewhen.session.log.notes import RoundBegun
from donewhen.session.log.state import Round, SessionState
from donewhen.session.loop.judge_round import judge_round
from donewhen.session.loop.round import LadderStep, run_attempt
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop, stop_after
from donewhen.session.recall.session_memory import hint_event
from donewhen.workspace.trees.capture.refusals import CandidateRefused

FINAL = ("green", "budget", "claim", "rejected", "inconclusive")
"""Reasons to stop that no other engine can change."""


Evaluate = Callable[[Round], Awaitable[None]]
"""Evaluates a round that the judge calls green, and writes the opinion to the log."""


async def run_ladder(context: RoundContext, steps: Sequence[LadderStep], evaluate: Evaluate | None = None) -> Stop:
    """Work on the ladder steps in order; each one builds on the work of the one before.

    Return the stop of the last step that worked. If no step worked, return why the last one declined.
    """
    worked: Stop | None = None
    stop = Stop("declined", "no engine")
    left = [step for step in steps if step.kind not in context.log.state.declined]
    while left:
        step = left.pop(0)
        stop = await _run_step(context, step, evaluate, bool(left))
        worked = stop if stop.kind != "declined" else worked
        if stop.kind in FINAL:
            break
        if step.kind.has_workers and stop.kind != "declined":
            # Several workers made it; a single engine repairs it.
            left = [one for one in left if one.kind is EngineKind.NATIVE] or left
        if left:
            reason, following = stop.code or stop.kind, left[0].kind
            context.log.emit(EngineDeclined(engine=step.kind, reason=reason, detail=stop.reason, next=following))
    return worked or stop


async def _run_step(context: RoundContext, step: LadderStep, evaluate: Evaluate | None, has_following: bool) -> Stop:
    if step.engine is None:
        return Stop("declined", step.reason, code=step.declines)
    state = context.log.state
    if step.kind.needs_clean_tree and _last_round(state, step) is None and await _holds_work_of_others(context, step):
        return Stop("declined", "the tree already contains another engine's work; continuing from it", code="under_way")
    if _last_round(state, step) is None and _rounds_left(state, step, context.start_record.max_iterations) <= 0:
        return Stop("declined", "no rounds left", code="red")
    try:
        return await _run_rounds(context, step, evaluate)
    except ModelWaits as error:
        last = _last_round(state, step)
        if last is not None and last.judged is not None and last.judged.green:
            raise  # the evaluator of green work waits; no other engine needs to work on it
        if not has_following or (step.kind.has_workers and not step.agent):
            raise  # the next engine would use the same model, and the results of the workers would be lost
        return Stop("waits", str(error), code=error.kind)


async def _run_rounds(context: RoundContext, step: LadderStep, evaluate: Evaluate | None) -> Stop:
    log, state = context.log, context.log.state
    if state.engine != step.kind:
        log.emit(EngineSelected(engine=step.kind, reason=step.reason, agent=step.agent))
    while True:
        current = _last_round(state, step)
        if current is not None and current.judged is not None:
            if evaluate is not None and current.judged.green and current.opinion is None:
                await evaluate(current)
            stop = stop_after(state, current, context.budget)
            if stop is not None:
                return stop
            current = None
        current = current or _begin_round(context, step)
        if current is None:
            worked = _rounds_used(state, step)
            why = f"{worked} round{'s' if worked != 1 else ''} done, and the checks are not green"
            return Stop("iterations", why, code="red")
        if current.attempted is None:
            log.move("running")
            await run_attempt(context, step, current)
        if current.attempted is not None and current.attempted.stop == "declines":
            return Stop("declined", current.attempted.problem, code=current.attempted.code or "")
        log.move("judging")
        await judge_round(context, current)


async def _holds_work_of_others(context: RoundContext, step: LadderStep) -> bool:
    """Return True if the tree holds work of another engine."""
    base, store = context.start_record.base, context.workplace.store
    notes = context.log.state.notes.get(step.kind, ())
    own = {str(note.body["tree"]) for note in notes if note.kind == "united"}
    try:
        made = await context.workplace.candidate_of(await context.maker.snapshot(), base)
    except CandidateRefused:
        return True
    return made not in {await store.tree_of(base), *own}


def _last_round(state: SessionState, step: LadderStep) -> Round | None:
    """Return the last round if it belongs to this ladder step. Rounds before the limits were reset are ignored."""
    rounds = state.allowed_rounds
    return rounds[-1] if rounds and rounds[-1].step == step.kind else None


def _begin_round(context: RoundContext, step: LadderStep) -> Round | None:
    """Start a new round, with its hint. Return None if all allowed rounds are used."""
    state = context.log.state
    left = _rounds_left(state, step, context.start_record.max_iterations)
    if left <= 0:
        return None
    number = len(state.rounds) + 1
    hint = context.memory.hint_for(number)
    shown = [hint_event(hint)] if hint is not None and hint.text else []
    begun = IterationStarted(n=number, max=number - 1 + left)
    context.log.write(begun, *shown, note=RoundBegun(n=number, step=step.kind.value, hint=hint).note())
    return state.rounds[-1]


def _rounds_left(state: SessionState, step: LadderStep, over_all: int) -> int:
    """Return how many rounds a ladder step may still work."""
    left = step.max_iterations - _rounds_used(state, step)
    return min(left, over_all - sum(one.is_counted for one in state.allowed_rounds)) if over_all else left


def _rounds_used(state: SessionState, step: LadderStep) -> int:
    """Return how many rounds count against a ladder step.

    Work that an evaluator sent back gets the full number of rounds again, unless workers would begin from the start.
    """
    rounds = state.allowed_rounds
    sent_back = [number for number, one in enumerate(rounds, 1) if one.opinion is not None and one.opinion.revises]
    since = sent_back[-1] if sent_back and not step.kind.has_workers else 0
    return sum(one.step == step.kind and one.is_counted for one in rounds[since:])
