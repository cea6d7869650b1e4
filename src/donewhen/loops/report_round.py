"""The maker of a report: one attempt that only reads, without a contract. Its last text is the report."""

from collections.abc import Sequence

from donewhen.events import EngineDeclined, EngineSelected, IterationStarted
from donewhen.session.log.notes import RoundBegun
from donewhen.session.log.state import Round, turns_of
from donewhen.session.loop.budget import MAKER
from donewhen.session.loop.round import LadderStep, run_attempt
from donewhen.session.loop.round_context import RoundContext
from donewhen.session.loop.stop_rules import Stop

MOST_ROUNDS = 2
"""A report that the checker refuted is written once more."""


async def run_report_maker(context: RoundContext, steps: Sequence[LadderStep]) -> Stop:
    """Let the first engine that can work write the report. Return why it stopped."""
    log, state = context.log, context.log.state
    stop = Stop("declined", "no engine")
    for step in (one for one in steps if one.kind not in state.declined):
        if step.engine is None:
            stop = Stop("declined", step.reason, code=step.declines)
            continue
        if state.engine != step.kind:
            log.emit(EngineSelected(engine=step.kind, reason=step.reason, agent=step.agent))
        last = state.rounds[-1] if state.rounds else None
        is_sent_back = last is not None and last.opinion is not None and last.opinion.revises
        current = last
        if last is None or is_sent_back or (last.attempted is not None and last.attempted.stop == "declines"):
            number = len(state.rounds) + 1
            begun = RoundBegun(n=number, step=step.kind.value)
            log.write(IterationStarted(n=number, max=MOST_ROUNDS), note=begun.note())
            current = state.rounds[-1]
        assert current is not None  # it is the last one, or it was begun a moment ago
        log.move("running")
        if current.attempted is None:
            await run_attempt(context, step, current)
        stop = _stop_of(context, step, current)
        if stop.kind != "declined":
            return stop
        log.emit(EngineDeclined(engine=step.kind, reason=stop.code or stop.kind, detail=stop.reason, next=""))
    return stop


def _stop_of(context: RoundContext, step: LadderStep, current: Round) -> Stop:
    attempted, turns = current.attempted, turns_of(context.log.state, MAKER)
    assert attempted is not None  # it was made a moment ago, or before
    match attempted.stop:
        case "done" | "claim":
            return Stop("green") if attempted.last_text.strip() else Stop("model_failed", "the maker wrote no report")
        case "declines":
            return Stop("declined", attempted.problem, code=attempted.code or "")
        case "waits":
            return Stop("waits", attempted.problem, code=attempted.waits_for or "")
        case "turns" if turns < step.max_turns and not context.budget.reached_limit():
            return Stop("model_failed", f"no report was written in {turns} turns")
        case "budget" | "turns":
            reached = context.budget.reached_limit() or f"turns: used {turns}, allowed {step.max_turns}"
            return Stop("budget", reached)
        case "model_failed" | "silence":
            return Stop("model_failed", attempted.problem)
