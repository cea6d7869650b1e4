"""What a person reads when a session has ended or waits: outcome, results, branch, and what to do next. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from donewhen.server.acp.shown import code, title, words
from donewhen.session.outcome import Outcome
from donewhen.session.person.gates import GateKind

StopReason = Literal["end_turn", "cancelled", "refusal", "max_turn_requests"]
MARKS = {"pass": "✓", "fail": "✗", "flaky": "~", "timeout": "⏱", "vacuous": "∅", "tampered": "!", "infra": "?"}
REFUSALS = ("the model refused to answer", "the provider's filter stopped the response")
"""What a reason has in it if the model refused."""
_RESUME = "continue with `/resume`"
_NEXT: Mapping[Outcome, str] = {
    Outcome.RED: f"{_RESUME}, or say what is missing",
    Outcome.FLAKY: f"{_RESUME} when the checks are stable",
    Outcome.NO_PROGRESS: f"say what is missing, or {_RESUME}",
    Outcome.REJECTED: "say what should be different; a new session begins",
    Outcome.WAITING: _RESUME,
    Outcome.FAILED: f"{_RESUME} when the cause is gone; `donewhen doctor` in a terminal may name it",
    Outcome.BUDGET: f"raise the limit in donewhen.toml, then {_RESUME}",
    Outcome.ALREADY_SATISFIED: "add a check that fails until it is done, or choose “Work anyway” for green checks",
    Outcome.NO_CHANGE: "nothing",
    Outcome.CANCELLED: _RESUME,
}
Known = Mapping[str, Any]
"""The result of `session.get`."""


def stop_reason(known: Known) -> StopReason:
    outcome, reason = Outcome.of(known.get("outcome")), str(known.get("reason") or "")
    if any(one in reason for one in REFUSALS):
        return "refusal"
    if outcome is Outcome.CANCELLED:
        return "cancelled"
    return "max_turn_requests" if outcome is Outcome.BUDGET else "end_turn"


def ending_text(known: Known, waits_because: str = "") -> str:
    """Return the last message of a prompt. `waits_because` is the reason of a session that has not ended."""
    return "\n".join(_lines(known, waits_because))


def _lines(known: Known, waits_because: str) -> Iterator[str]:
    id = known["id"]
    outcome = Outcome.of(known.get("outcome")) if known.get("state") == "finished" else None
    if outcome is None:
        kind = "It still works" if known.get("live") else "**waiting**"
        yield f"{kind}: {words(waits_because or str(known.get('reason') or 'it was interrupted'))}"
        yield ""
        yield f"Next: {_next_while_open(known)}"
        return
    yield f"**{outcome.value}**: {words(str(known.get('reason') or ''))}"
    yield ""
    yield from _results(known.get("results") or known.get("baseline") or ())
    yield from _landed(known)
    yield f"- {_cost(known)}"
    yield ""
    yield from _optional(known)
    yield f"Next: {_next(outcome, known)}. In a terminal: `donewhen show {id}`."


def _results(results: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for one in results:
        status, seconds = str(one.get("status")), int(one.get("duration_ms") or 0) / 1000
        yield f"- {MARKS.get(status, '?')} {title(one.get('name'))}: {status}, {seconds:.1f} s"


def _landed(known: Known) -> Iterator[str]:
    landed = known.get("landed")
    if landed:
        yield f"- branch {code(landed['branch'])} ({str(landed['commit'])[:12]})"
        if landed.get("note"):
            yield f"- note: {words(landed['note'])}"


def _cost(known: Known) -> str:
    rounds, tokens, usd = known.get("iterations") or 0, known.get("tokens") or 0, known.get("usd")
    price = f", {usd:.4f} USD" if usd is not None else ", price unknown" if tokens else ""
    return f"{rounds} {'round' if rounds == 1 else 'rounds'}, {tokens:,} tokens{price}"


def _optional(known: Known) -> Iterator[str]:
    """Yield what may be decided although nothing waits for it."""
    optional = known.get("optional")
    if optional and not optional.get("decision"):
        yield f"Edits to protected files were left out ({words(str(optional.get('words') or ''))})."
        yield "`/approve` judges the work with them and lands them as a second commit; `/deny` leaves them out."
        yield ""


def _next(outcome: Outcome, known: Known) -> str:
    landed = known.get("landed")
    if outcome is not Outcome.VERIFIED:
        return _NEXT[outcome]
    if landed:
        return f"`git merge {title(landed['branch'])}`, or `/land BRANCH`, or say what else is to be done"
    return f"`/land`, or look at it first with `donewhen diff {known['id']}`"


def _next_while_open(known: Known) -> str:
    gate = known.get("gate")
    kind = GateKind.of(str(gate["kind"])) if gate else None
    if known.get("question"):
        return "your next message is the answer"
    if gate is None:
        return "wait for it, or cancel" if known.get("live") else _RESUME
    change = ", or say what to change" if kind is not None and kind.is_proposal else ""
    return f"`/approve` or `/deny`{change}"
