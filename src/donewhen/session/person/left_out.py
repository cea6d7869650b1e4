"""The optional decision on edits that a verified session left out: whether it is open, and what a person decided.

Nothing waits for it. It is in the log as a gate that is marked as optional, and it expires. Approved edits are judged
and landed by `verbs.amend`.
"""

import datetime
from enum import StrEnum

from donewhen.errors import BadInput
from donewhen.events import GateDecided
from donewhen.session.log.state import LEFT_OUT_ID, LeftOutEdits, SessionState
from donewhen.session.log.writer import LogWriter
from donewhen.session.person.already_decided import AlreadyDecided
from donewhen.session.person.gates import GateDecision, GateKind

REASON = "edits of protected paths were left out; decide whether they count"
DAYS = 14
"""How long the decision can be made: as long as an escalation of a loop waits."""


class LeftOutStatus(StrEnum):
    """Where a session is with its left-out edits."""

    OPEN = "open"
    EXPIRED = "expired"
    DENIED = "denied"
    APPROVED = "approved"
    """Approved, but not yet judged or landed. Approving again continues."""
    RED = "red"
    """Approved, but not green. The edits stay left out."""
    JUDGED = "judged"
    """Approved and green, in a session that lands nothing by itself."""
    LANDED = "landed"


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def expiry(start: datetime.datetime) -> str:
    """Return until when a decision that is offered at this time can be made."""
    until = start + datetime.timedelta(days=DAYS)
    return until.isoformat(timespec="seconds").replace("+00:00", "Z")


def status_of(left_out: LeftOutEdits, at: datetime.datetime) -> LeftOutStatus:
    """Return the status at a time. A decision that was made in time may be carried out later."""
    if left_out.decision == GateDecision.APPROVED:
        if left_out.red:
            return LeftOutStatus.RED
        if left_out.landed is not None:
            return LeftOutStatus.LANDED
        is_kept = left_out.intent is not None and not left_out.intent.branch
        return LeftOutStatus.JUDGED if is_kept else LeftOutStatus.APPROVED
    if left_out.decision:
        return LeftOutStatus.DENIED
    is_late = bool(left_out.expires_at) and at >= datetime.datetime.fromisoformat(left_out.expires_at)
    return LeftOutStatus.EXPIRED if is_late else LeftOutStatus.OPEN


def open_edits(state: SessionState, at: datetime.datetime) -> LeftOutEdits | None:
    """Return the left-out edits of a session that a person may still decide on; None if there are none."""
    edits = state.left_out
    if edits is None or state.discarded or status_of(edits, at) is not LeftOutStatus.OPEN:
        return None
    return edits


def status_words(left_out: LeftOutEdits, at: datetime.datetime) -> str:
    """Return the status as words for a person."""
    match status := status_of(left_out, at):
        case LeftOutStatus.OPEN:
            return f"open until {left_out.expires_at}"
        case LeftOutStatus.EXPIRED:
            return f"expired at {left_out.expires_at}"
        case LeftOutStatus.APPROVED:
            return "approved; not finished"
        case LeftOutStatus.RED:
            return f"approved, but not green: {left_out.red}"
        case LeftOutStatus.JUDGED:
            return "approved and green; not landed"
        case LeftOutStatus.LANDED if left_out.landed is not None:
            return f"approved; landed on {left_out.landed.branch} as {left_out.landed.commit[:12]}"
        case _:
            return status.value


def require_decidable(log: LogWriter, approved: bool) -> LeftOutEdits:
    """Return the left-out edits if this decision can be made, or continued after a crash. Otherwise raise BadInput."""
    edits, at = log.state.left_out, now()
    if edits is None or log.state.discarded:
        raise BadInput(f"session {log.session}: nothing waits for a decision")
    status = status_of(edits, at)
    if status is LeftOutStatus.EXPIRED:
        raise BadInput(
            f"session {log.session}: the decision on its left-out edits expired at {edits.expires_at}; "
            f"they are in: donewhen diff {log.session} --candidate"
        )
    if status is not LeftOutStatus.OPEN and not (approved and status is LeftOutStatus.APPROVED):
        by = log.state.deciders.get(LEFT_OUT_ID, "")
        words = f"session {log.session}: its left-out edits were decided already: {status_words(edits, at)}"
        raise AlreadyDecided(words, gate=GateKind.AMENDMENT, decision=edits.decision, by=by)
    return edits


def decide(log: LogWriter, approved: bool, by: str) -> None:
    """Record a decision. Repeating an approval changes nothing."""
    if not require_decidable(log, approved).decision:
        decision = GateDecision.APPROVED if approved else GateDecision.DENIED
        log.write(GateDecided(gate=GateKind.AMENDMENT, id=LEFT_OUT_ID, decision=decision, by=by), sync=True)
