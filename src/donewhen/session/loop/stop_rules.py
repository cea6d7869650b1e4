"""Stop rules: why no further round is worked on. They read the session state and change nothing; one asks a person."""

from typing import Any

from donewhen.records import frozen
from donewhen.session.log.notes import Attempted
from donewhen.session.log.state import Round, SessionState
from donewhen.session.loop.budget import Budget
from donewhen.session.outcome import StopKind
from donewhen.session.person.gates import GateDecision, GateKind, Gates


@frozen
class Stop:
    """The reason why no further round is worked on."""

    kind: StopKind
    reason: str = ""
    code: str = ""
    """Code for what it waits for, or for why an engine declined; empty if `kind` says everything."""


def stop_after(state: SessionState, current: Round, budget: Budget) -> Stop | None:
    """Return why this judged round is the last one; None if the next one may begin."""
    attempted, judged = current.attempted, current.judged
    claim = attempted.claim if attempted is not None else None
    if claim is not None and not claim_refused(state, current):
        return Stop("claim", claim.summary)
    if judged is not None and judged.green and (stop := _after_green(current)) is not None:
        return stop
    if reached := budget.reached_limit():
        return Stop("budget", reached)
    if attempted is not None and (stop := _after_attempt(attempted, current.is_resumed)) is not None:
        return stop
    if repeats(state, current) > 1:
        return Stop("no_progress", "same tree and same failures as before, despite feedback")
    return None


def _after_green(current: Round) -> Stop | None:
    """Return the stop after a green round; None if an evaluator sent the work back for another round."""
    opinion = current.opinion
    if opinion is None or not current.has_failed_evaluation:
        return Stop("green")
    if opinion.status == "inconclusive":
        return Stop("inconclusive", opinion.summary)
    if opinion.status == "rejected" and not opinion.revises:
        return Stop("rejected", opinion.summary)
    return None


def _after_attempt(attempted: Attempted, is_resumed: bool) -> Stop | None:
    """Return the stop after an attempt that ended early; None if the engine may have another round."""
    if attempted.stop == "waits" and not is_resumed:
        until = f" (until {attempted.reset_at})" if attempted.reset_at else ""
        return Stop("waits", f"{attempted.problem}{until}", code=attempted.waits_for or "")
    if attempted.stop == "model_failed":
        return Stop("model_failed", attempted.problem)
    return Stop("no_progress", attempted.problem) if attempted.stop == "silence" else None


async def stop_at_gate(gates: Gates, kind: GateKind, number: int, detail: str) -> Stop | None:
    """Let a person decide about a proposed contract or plan.

    Return None if it is approved, or if a change is requested; else why the work may not start.
    """
    decision = await gates.ask(kind, number, detail)
    if decision is None:
        return Stop("waits", kind.reason)
    return Stop("refused", f"a person denied the proposed {kind}") if decision is GateDecision.DENIED else None


def claim_refused(state: SessionState, current: Round) -> bool:
    """Return True if a person denied the round's claim that nothing should change."""
    gate = state.gates.get(GateKind.NO_CHANGE.id(current.n))
    return gate is not None and gate.decision == GateDecision.DENIED


def repeats(state: SessionState, current: Round) -> int:
    """Return how many earlier rounds ended with the same tree and the same failures."""
    return sum(one.n < current.n and _signature(one) == _signature(current) for one in state.allowed_rounds)


def _signature(one: Round) -> tuple[Any, ...]:
    judged = one.judged
    return (judged.candidate, judged.refused, judged.failing) if judged is not None else (None, None, ())
