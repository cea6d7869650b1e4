"""The methods by which a person answers, decides and stops: whoever works on the session, also nobody.

A process that works on the session gets the request on its control socket. Otherwise it is written to the log. The
session does not continue here: a caller to whom the result says that no process works on it resumes it.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.errors import BadInput, MachineryBroke
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.session_work import commit_entry
from donewhen.server.methods.sessions import has_left_out, is_live
from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.log.writer import LogWriter
from donewhen.session.outcome import Outcome
from donewhen.session.person import control_socket
from donewhen.session.person.already_decided import ANSWERED, EXPIRED, QUESTION, AlreadyDecided
from donewhen.session.verbs import offline
from donewhen.storage.archive import Archive
from donewhen.storage.owner import Owned, Owner
from donewhen.workspace.state_dir import state_root

if TYPE_CHECKING:
    from donewhen.server.methods.results import Answered, Cancelled, DecisionResult

ANSWER_SECS = 0.3
"""Timeout for the owner's reply: a healthy owner answers at once; one that does not is stuck."""
END_SECS = 5.0
"""How long an owner that was asked to stop may take to write its last record."""
LOOK_SECS = 0.02


def session_answer(id: str, text: str) -> "Answered":
    """Answer the question that waits, or ask for a change of the proposed contract or plan.

    `live` in the result is True if a process is working on the session now. If not, it continues when it is resumed.
    """
    request = {"do": "answer", "text": text}
    return _send_or_record(id, request, lambda log: offline.answer(log, text), "no question is pending")


async def session_approve(context: CallContext, id: str) -> "DecisionResult":
    """Approve what waits for a decision, or the edits that a verified session left out.

    Left-out edits are judged and landed before the result is there.
    """
    if not has_left_out(id):
        return _decide(id, True)
    from donewhen.session.verbs.amend import amend

    amended = await amend(id, context.watcher)
    landed = commit_entry(amended.landed) if amended.landed is not None else None
    return {"id": amended.session, "live": False, "is_optional": True, "landed": landed, "problem": amended.problem}


def session_deny(id: str) -> "DecisionResult":
    """Deny what waits for a decision, or the edits that a verified session left out."""
    return _decide(id, False, is_optional=has_left_out(id))


def _decide(id: str, approved: bool, is_optional: bool = False) -> "DecisionResult":
    request = {"do": "decide", "approved": approved}
    decided = _send_or_record(id, request, lambda log: offline.decide(log, approved), "nothing waits for a decision")
    return {**decided, "is_optional": is_optional, "landed": None, "problem": ""}


def _send_or_record(
    session: str, request: Mapping[str, Any], record: Callable[[LogWriter], bool], nothing: str
) -> "Answered":
    """Send a request to the owner's control socket, or write to the log if the session has no owner.

    An owner that cannot be reached may just begin or end, or write a decision of somebody else: it is looked at again.
    """
    with any_archive() as archive:
        id, until = archive.find(session), time.monotonic() + END_SECS
        while True:
            try:
                if not is_live(archive.owner(id)):
                    return _record_decision(archive, id, request, record, nothing)
                answer = control_socket.ask(_control_socket(id), request, END_SECS)
                if answer is not None:
                    _require_taken(archive, id, request, answer, nothing)
                    return {"id": id, "live": True}
                if time.monotonic() > until:
                    raise MachineryBroke(f"session {id}: its process does not answer")
            except Owned:
                if time.monotonic() > until:
                    raise
            time.sleep(LOOK_SECS)


def _record_decision(
    archive: Archive, id: str, request: Mapping[str, Any], record: Callable[[LogWriter], bool], nothing: str
) -> "Answered":
    """Write to the log of a session. Raise Owned if a process works on it now."""
    with offline.own(archive, id) as log:
        if not record(log):
            words = f"session {id}: {nothing}{_ending_words(id, log.state)}"
            raise _refusal(words, log.state, request)
    return {"id": id, "live": False}


def _require_taken(
    archive: Archive, id: str, request: Mapping[str, Any], answer: Mapping[str, Any], nothing: str
) -> None:
    """Raise the error of an owner that did not do what it was asked to."""
    if "problem" in answer:
        raise MachineryBroke(f"session {id}: {answer['problem']}")
    if "bad_input" in answer:
        raise BadInput(f"session {id}: {answer['bad_input']}")
    if not answer.get("ok"):
        raise _refusal(f"session {id}: {nothing}", replay_log(archive.records(id)), request)


def _refusal(words: str, state: SessionState, request: Mapping[str, Any]) -> BadInput:
    """Return the error about a request for which nothing waits. It says what was decided or answered before."""
    question = next(reversed(state.questions.values()), None)
    if request["do"] == "answer" and question is not None and state.gate is None:
        decision = ANSWERED if question.answer is not None else EXPIRED
        return AlreadyDecided(words, gate=QUESTION, decision=decision)
    decided = [one for one in state.gates.values() if one.decision]
    if state.discarded or not decided:
        return BadInput(words)
    last = decided[-1]
    return AlreadyDecided(words, gate=last.kind, decision=last.decision, by=state.deciders.get(last.id, ""))


def _ending_words(session: str, state: SessionState) -> str:
    if state.discarded:
        return "; it was discarded"
    decided = [f"; the gate {one.kind} was {one.decision} already" for one in state.gates.values() if one.decision]
    judged = state.last_judged
    has_edits = state.start_note.get("loop") and judged is not None and judged.edits
    where = f"; the edits that were left out are in: donewhen diff {session} --candidate" if has_edits else ""
    return "".join(decided[-1:]) + (f"; it ended as {state.finished.outcome}{where}" if state.finished else "")


def _outcome(state: SessionState) -> str | None:
    return state.finished.outcome if state.finished is not None else None


def session_cancel(id: str) -> "Cancelled":
    """Stop a session. Afterwards no process that it started is alive, and its log records the end.

    `line` in the result says what was done, or what had already happened.
    """
    with any_archive() as archive:
        id = archive.find(id)
        state = replay_log(archive.records(id))
        if state.run_state == "finished":
            return {"id": id, "line": f"it had already ended as {_outcome(state)}"}
        owner = archive.owner(id)
        if owner is not None and owner.is_alive():
            _stop(archive, id, owner)
        state = replay_log(archive.records(id))
        if state.run_state != "finished":
            with offline.own(archive, id, force=True) as log:
                offline.cancel(log)
                state = log.state
        outcome = _outcome(state)
        is_cancelled = Outcome.of(outcome) is Outcome.CANCELLED
        line = "cancelled" if is_cancelled else f"it ended as {outcome} before it could be stopped"
        return {"id": id, "line": line}


def _stop(archive: Archive, session: str, owner: Owner) -> None:
    """Ask the owner to stop; kill it if it does not and is on this host. Every process it started dies with it."""
    if control_socket.ask(_control_socket(session), {"do": "cancel"}, ANSWER_SECS) is not None:
        until = time.monotonic() + END_SECS
        while owner.is_alive() and time.monotonic() < until:
            if archive.owner(session) is None:
                return
            time.sleep(LOOK_SECS)
    if owner.host == os.uname().nodename and owner.is_alive():
        with contextlib.suppress(ProcessLookupError):
            os.kill(owner.pid, signal.SIGKILL)


def _control_socket(session: str) -> Path:
    return control_socket.socket_path(state_root(os.environ), session)
