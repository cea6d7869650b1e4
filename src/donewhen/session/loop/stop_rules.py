"""Stop rules: why no further round is worked on. Pure rules over the session state; they change nothing."""

from typing import Any

from donewhen.records import frozen
from donewhen.session.log.state import Plain, Round, SessionState
from donewhen.session.loop.budget import Budget
from donewhen.session.outcome import StopKind
from donewhen.session.person.gates import Decision, GateKind


@frozen
class Stop:
    """The reason why no further round is worked on."""

    kind: StopKind
    reason: str = ""
    word: str = ""
    """Code for what it waits for, or for why an engine declined; empty if `kind` says everything."""


def stop_after(story: SessionState, current: Round, budget: Budget) -> Stop | None:
    """Return why this judged round is the last one; None if the next one may begin."""
    attempted, judged = current.attempted or {}, current.judged or {}
    if "claim" in attempted and not claim_refused(story, current):
        return Stop("claim", str(attempted["claim"]["summary"]))
    if judged.get("green") and (stop := _after_green(current)) is not None:
        return stop
    if reached := budget.reached():
        return Stop("budget", reached)
    if attempted.get("stop") == "waits" and not current.resumed:
        until = f" (until {attempted['reset_at']})" if attempted.get("reset_at") else ""
        return Stop("waits", f"{attempted['problem']}{until}", word=str(attempted["waits_for"]))
    if attempted.get("stop") == "model_failed":
        return Stop("model_failed", str(attempted["problem"]))
    if attempted.get("stop") == "silence":
        return Stop("no_progress", str(attempted["problem"]))
    if repeats(story, current) > 1:
        return Stop("no_progress", "the same tree with the same failures again, after the engine was told")
    return None


def _after_green(current: Round) -> Stop | None:
    """Return the stop after a green round; None if an evaluator sent the work back for another round."""
    opinion: Plain = current.opinion or {}
    if not current.is_refused:
        return Stop("green")
    if opinion["status"] == "inconclusive":
        return Stop("inconclusive", str(opinion["summary"]))
    if opinion["status"] == "rejected" and not opinion["revises"]:
        return Stop("rejected", str(opinion["summary"]))
    return None


def claim_refused(story: SessionState, current: Round) -> bool:
    """Return True if a person denied the round's claim that nothing should change."""
    gate = story.gates.get(GateKind.NO_CHANGE.id(current.n))
    return gate is not None and gate.decision == Decision.DENIED


def repeats(story: SessionState, current: Round) -> int:
    """Return how many earlier rounds ended with the same tree and the same failures."""
    return sum(one.n < current.n and _signature(one) == _signature(current) for one in story.allowed_rounds)


def _signature(one: Round) -> tuple[Any, ...]:
    judged: Plain = one.judged or {}
    return (judged.get("candidate"), judged.get("refused"), str(judged.get("failing")))
