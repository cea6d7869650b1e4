"""Writes a decision, an answer or the end of a session that no process works on. The session is not resumed here."""

import contextlib
from collections.abc import Generator

from donewhen.errors import BadInput
from donewhen.events import QuestionAnswered, SessionFinished, StateChanged
from donewhen.session.log import handoff
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.log.writer import Barrier, LogWriter, OnRecord, ignore_record, no_barrier
from donewhen.session.outcome import STOPPED, Outcome
from donewhen.session.person import left_out
from donewhen.session.person.gates import GateDecision, Gates
from donewhen.storage.archive import Archive
from donewhen.storage.lease import Note


@contextlib.contextmanager
def own(
    archive: Archive,
    session: str,
    force: bool = False,
    on_record: OnRecord = ignore_record,
    barrier: Barrier = no_barrier,
) -> Generator[LogWriter]:
    """Provide the log of a session while the block runs. Raise `Owned` if another process works on the session."""
    lease = archive.claim(session, force=force)
    try:
        yield LogWriter(lease, replay_log(archive.records(session)), on_record, barrier)
    finally:
        lease.release()


def answer(log: LogWriter, text: str) -> bool:
    """Answer the waiting question, or send a change request for a proposal. Return False if neither waits."""
    question = log.state.question
    if log.state.discarded:
        return False
    if question is not None:
        log.write(QuestionAnswered(id=question.id, answer=text), sync=True)
        return True
    if log.state.gate is not None and not text.strip():
        raise BadInput(f"session {log.session}: the answer is empty; write what to change")
    return Gates(log, None).change(text, "a person")


def decide(log: LogWriter, approved: bool) -> bool:
    """Decide the waiting gate, or on left-out edits. Return False if there is neither.

    A decision that was recorded by a process that was killed before it continued the session may be repeated.
    """
    if log.state.discarded:
        return False
    if log.state.gate is None and log.state.left_out is not None:
        left_out.decide(log, approved, "a person")
        return True
    decision = GateDecision.APPROVED if approved else GateDecision.DENIED
    return Gates(log, None).decide(approved, "a person") or decision_to_carry_out(log.state) == decision


def decision_to_carry_out(state: SessionState) -> str:
    """Return the decision of a person with which the session was not continued yet; empty if there is none."""
    last = next(reversed(state.gates.values()), None)
    return last.decision if state.run_state == "waiting" and last is not None else ""


def cancel(log: LogWriter) -> None:
    """End a session, and write the handoff file that helps to continue."""
    end(log, STOPPED)
    handoff.write(log.session, log.state)


def end(log: LogWriter, reason: str, note: Note | None = None) -> None:
    """Write the end of a session that a person wants to end."""
    state = log.state
    judged = state.last_judged
    results = state.baseline_results if judged is None else judged.results or ()
    passed = sum(one.status == "pass" for one in results)
    finished = SessionFinished(
        outcome=Outcome.CANCELLED,
        reason=reason,
        iterations=state.iterations,
        results=results,
        summary=f"{Outcome.CANCELLED}: {passed} of {len(results)} checks passed",
        tree=(judged.tree if judged is not None else None) or "",
    )
    log.write(StateChanged(from_=state.run_state, to="finished"), finished, note=note, sync=True)
