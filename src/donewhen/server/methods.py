"""Operations on sessions, shared by all user interfaces: the command line today, a daemon later through the same table.

There is one function for each verb. It takes and returns plain data or records and raises a `DonewhenError` with a
one-line message. The user interfaces decide who may call a function and how its result is shown. What a verb needs is
imported in its function, so that reading a session does not load the code that runs one.
"""

import contextlib
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from donewhen.errors import BadInput, MachineryBroke
from donewhen.events import Emit, RoundFinished
from donewhen.records import plain
from donewhen.server.loop_methods import (
    inbox_list,
    loop_add,
    loop_catalogue,
    loop_demote,
    loop_history,
    loop_list,
    loop_pause,
    loop_promote,
    loop_resume,
    loop_run,
    loop_show,
)
from donewhen.server.memory_methods import (
    memory_export,
    memory_forget,
    memory_forget_texts,
    memory_import,
    memory_list,
    memory_recall,
    memory_show,
    memory_signature,
    memory_texts,
)
from donewhen.session.log.open_archive import Say, any_archive, silent
from donewhen.session.log.state import LEFT_OUT_ID, Gate, LeftOutEdits, Round, SessionState, replay_log
from donewhen.session.log.writer import LogWriter
from donewhen.session.outcome import Outcome, SessionResult
from donewhen.session.person import control_socket, left_out
from donewhen.session.person.gates import GateDecision, GateKind
from donewhen.session.verbs import offline
from donewhen.session.verbs.optional import open_decisions
from donewhen.storage.archive import Archive
from donewhen.storage.owner import Owner
from donewhen.storage.record import Record
from donewhen.workspace.state_dir import state_root

if TYPE_CHECKING:
    from donewhen.judge.verdict import Verdict
    from donewhen.session.check.init_contract import ContractProposal
    from donewhen.session.check.judge_tree import CheckRequest
    from donewhen.session.check.receipts import Verified
    from donewhen.session.conclude.land import Landing, LandingRefused
    from donewhen.session.person.watch import SessionWatcher
    from donewhen.session.settings.run_options import RunOptions
    from donewhen.session.verbs.amend import Amended
    from donewhen.session.verbs.check import CheckWatcher
    from donewhen.session.verbs.doctor import Diagnosis
    from donewhen.session.verbs.init import InitWatcher
    from donewhen.session.verbs.newest import Chosen
    from donewhen.session.verbs.sandbox import SandboxOptions
    from donewhen.session.verbs.trust import Trusted
    from donewhen.session.verbs.union import Combined
    from donewhen.workspace.policy import Ruling

ANSWER_SECS = 0.3
"""Timeout for the owner's reply: a healthy owner answers at once; one that does not is stuck."""
END_SECS = 5.0
"""How long an owner that was asked to stop may take to write its last record."""
LOOK_SECS = 0.02


def session_list(repo: str = "", limit: int = 0, say: Say = silent) -> list[dict[str, Any]]:
    """Return all sessions, or those of one repository, newest first."""
    with any_archive(say) as archive:
        rows = archive.sessions(repo or None, limit or None)
        optional = open_decisions(archive, rows, left_out.now())
        return [
            {**asdict(row), "live": _is_live(archive.owner(row.id)), "optional": _expiry(optional.get(row.id))}
            for row in rows
        ]


def _expiry(edits: LeftOutEdits | None) -> dict[str, Any] | None:
    return {"gate": GateKind.AMENDMENT.value, "expires_at": edits.expires_at} if edits is not None else None


def session_newest(verb: str) -> "Chosen":
    """Return the session of the current directory's repository that a verb means if no id is given."""
    from donewhen.session.verbs.newest import newest

    with any_archive() as archive:
        return newest(archive, verb, Path.cwd())


def session_get(session: str) -> dict[str, Any]:
    """Return everything that is known about one session."""
    with any_archive() as archive:
        id = archive.find(session)
        state = replay_log(archive.records(id))
        known = {"id": id, "live": _is_live(archive.owner(id)), **plain_state(state), "action": _action(archive, id)}
    return {**known, "artifacts": _artifacts(id)}


def _action(archive: Archive, session: str) -> dict[str, Any] | None:
    """Return what a loop round has carried out; None for another session, or if it carried out nothing."""
    rounds = [record.event for record in archive.records(session, kinds=(RoundFinished.type(),))]
    last = rounds[-1] if rounds else None
    return dict(last.action) if isinstance(last, RoundFinished) and last.action else None


def _artifacts(session: str) -> dict[str, str]:
    """Return the artifact files of a session by name."""
    here = state_root(os.environ) / "artifacts" / session
    if not here.is_dir():
        return {}
    from donewhen.session.log import plan_files  # loaded on use: it imports the plan classes

    return plan_files.existing_files(session)


def plain_state(state: SessionState) -> dict[str, Any]:
    """Return a session state as plain data for people and programs."""
    question, gate, last, landing = state.question, state.gate, state.last_judged, state.landing
    started, finished = state.started, state.finished
    return {
        "intent": started.intent if started else "",
        "repo": started.repo if started else "",
        "base": started.base if started else "",
        "created_at": state.created_at,
        "state": state.run_state,
        "outcome": finished.outcome if finished else None,
        "reason": finished.reason if finished else None,
        "engine": state.engine or (started.engine if started else None),
        "model": state.model or (started.model if started else None),
        "isolation": started.isolation if started else None,
        "contract": state.start_note.get("contract") or (started.contract if started else {}),
        "baseline": plain(state.baseline_results),
        "results": plain((last.results if last else None) or ()),
        "edits": plain((last.edits if last else None) or ()),
        "refused": plain((last.refused_paths if last else None) or ()),
        "amended": any(
            one.kind == GateKind.AMENDMENT and one.decision == GateDecision.APPROVED for one in state.gates.values()
        )
        or (state.left_out is not None and state.left_out.intent is not None),
        "iterations": state.iterations,
        "rounds": [_round(one) for one in state.rounds],
        "tokens": state.tokens,
        "usd": state.usd,
        "active_secs": round(state.active_secs, 3),
        "question": {"id": question.id, "prompt": question.prompt} if question else None,
        "gate": _gate(gate) if gate else None,
        "optional": _optional(state.left_out) if state.left_out and not state.discarded else None,
        "landed": state.landed.fields() if state.landed else None,
        "lost_records": state.lost,
        "tree": landing.tree if landing else last.tree if last else None,
    }


def _gate(gate: Gate) -> dict[str, Any]:
    known = {"id": gate.id, "kind": gate.kind, "reason": gate.reason, "detail": gate.detail}
    return {**known, "amendment": plain(gate.amendment)}


def _optional(edits: LeftOutEdits) -> dict[str, Any]:
    at = left_out.now()
    return {
        "id": LEFT_OUT_ID,
        "kind": GateKind.AMENDMENT.value,
        "reason": left_out.REASON,
        "detail": edits.detail,
        "amendment": plain(edits.amendment),
        "expires_at": edits.expires_at,
        "decision": edits.decision or None,
        "status": left_out.status_of(edits, at).value,
        "words": left_out.status_words(edits, at),
        "red": edits.red or None,
        "tree": edits.intent.tree if edits.intent else None,
        "receipt": edits.intent.receipt if edits.intent else None,
        "landed": edits.landed.fields() if edits.landed else None,
    }


def _round(one: Round) -> dict[str, Any]:
    attempted, judged = one.attempted, one.judged
    return {
        "n": one.n,
        "engine": one.step,
        "stop": attempted.stop if attempted else None,
        "said": attempted.last_text if attempted else "",
        "green": judged.green if judged else None,
        "failing": plain(judged.failing) if judged else [],
        "opinion": one.opinion.status if one.opinion else "",
    }


def session_config(session: str) -> list[dict[str, Any]]:
    """Return every setting of a session with its value and its source."""
    from donewhen.session.log.start_record import settings_in

    with any_archive() as archive:
        start_note = replay_log(archive.records(archive.find(session))).start_note
    return settings_in(start_note)


def session_events(session: str, after_seq: int = 0) -> Iterator[Record]:
    with any_archive() as archive:
        yield from archive.events(archive.find(session), after_seq)


async def session_follow(session: str) -> AsyncGenerator[Record]:
    """Yield past and new events for as long as a process owns the session."""
    with any_archive() as archive:
        id = archive.find(session)
        async with contextlib.aclosing(archive.follow(id, is_over=lambda: not _is_live(archive.owner(id)))) as records:
            async for record in records:
                yield record


def session_answer(session: str, text: str) -> dict[str, Any]:
    """Answer the pending question. `live` in the result is True if a process is working on the session now."""
    request = {"do": "answer", "text": text}
    return _send_or_record(session, request, lambda log: offline.answer(log, text), "no question is pending")


def session_decide(session: str, approved: bool) -> dict[str, Any]:
    """Approve or deny the pending gate, or decide on the edits that a verified session left out."""
    request = {"do": "decide", "approved": approved}
    return _send_or_record(session, request, lambda log: offline.decide(log, approved), "nothing waits for a decision")


def session_approve(session: str) -> dict[str, Any]:
    return session_decide(session, True)


def session_has_left_out(session: str) -> bool:
    """Return True if a session that has ended left edits out. `session_amend` approves them."""
    with any_archive() as archive:
        state = replay_log(archive.records(archive.find(session)))
        return state.run_state == "finished" and state.left_out is not None and not state.discarded


async def session_amend(session: str, watch: "SessionWatcher") -> "Amended":
    """Approve the edits that a verified session left out: judge them, and land them as a second commit."""
    from donewhen.session.verbs.amend import amend

    return await amend(session, watch)


def session_deny(session: str) -> dict[str, Any]:
    return session_decide(session, False)


def _send_or_record(
    session: str, request: Mapping[str, Any], record: Callable[[LogWriter], bool], nothing: str
) -> dict[str, Any]:
    """Send a request to the owner's control socket, or write to the log if the session has no owner."""
    with any_archive() as archive:
        id = archive.find(session)
        if _is_live(archive.owner(id)):
            answer = control_socket.ask(_control_socket(id), request, END_SECS)
            if answer is None:
                raise MachineryBroke(f"session {id}: its process does not answer")
            if "problem" in answer:
                raise MachineryBroke(f"session {id}: {answer['problem']}")
            if "bad_input" in answer:
                raise BadInput(f"session {id}: {answer['bad_input']}")
            if not answer.get("ok"):
                raise BadInput(f"session {id}: {nothing}")
            return {"id": id, "live": True}
        with offline.own(archive, id) as log:
            if not record(log):
                raise BadInput(f"session {id}: {nothing}{_ending_words(id, log.state)}")
        return {"id": id, "live": False}


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


class Cancelled(NamedTuple):
    id: str
    line: str
    """What was done, or what had already happened."""


def session_cancel(session: str) -> Cancelled:
    """Stop a session. Afterwards no process that it started is alive, and its log records the end."""
    with any_archive() as archive:
        id = archive.find(session)
        state = replay_log(archive.records(id))
        if state.run_state == "finished":
            return Cancelled(id, f"it had already ended as {_outcome(state)}")
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
        return Cancelled(id, "cancelled" if is_cancelled else f"it ended as {outcome} before it could be stopped")


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


def models_list() -> list[dict[str, Any]]:
    """Return the known providers and whether their key or address is set. A key itself is never returned."""
    from donewhen.model.providers import PROVIDERS
    from donewhen.model.router import DEFAULTS

    found: list[dict[str, Any]] = []
    for name, provider in PROVIDERS.items():
        wanted = provider.key_variables if provider.needs_key else provider.url_variables
        there = [variable for variable in wanted if os.environ.get(variable, "").strip()]
        why = f"{there[0]} is set" if there else f"set {' or '.join(wanted)}"
        found.append({"provider": name, "ready": bool(there), "why": why, "model": DEFAULTS.get(name)})
    return found


def _control_socket(session: str) -> Path:
    return control_socket.socket_path(state_root(os.environ), session)


def _is_live(owner: Owner | None) -> bool:
    return owner is not None and owner.is_alive()


async def session_start(options: "RunOptions", watch: "SessionWatcher") -> SessionResult:
    from donewhen.session.verbs.start import start

    return await start(options, watch)


async def session_resume(session: str, watch: "SessionWatcher") -> SessionResult:
    from donewhen.loops.run import resume

    return await resume(session, watch)


async def session_replay(session: str, watch: "SessionWatcher") -> SessionResult:
    from donewhen.session.verbs.replay import replay

    return await replay(session, watch)


async def session_diff(session: str, candidate: bool = False) -> bytes:
    from donewhen.session.verbs.finished import diff

    return await diff(session, candidate)


async def session_land(session: str, onto: str = "") -> "Landing | LandingRefused":
    from donewhen.session.verbs.finished import land

    return await land(session, onto)


async def session_discard(session: str) -> str:
    from donewhen.session.verbs.finished import discard

    return await discard(session)


async def receipt_get(session: str, amended: bool = False) -> str:
    from donewhen.session.verbs.finished import receipt

    return await receipt(session, amended)


async def agents_list(say: Say = silent) -> list[dict[str, str]]:
    from donewhen.session.crew.agent_list import agents_list

    return await agents_list(say)


async def contract_init(watch: "InitWatcher") -> "ContractProposal":
    from donewhen.session.verbs.init import init

    return await init(watch)


async def contract_check(request: "CheckRequest", receipt: Path | None, watch: "CheckWatcher") -> "Verdict":
    from donewhen.session.verbs.check import check

    return await check(request, receipt, watch)


async def receipt_verify(named: str, describe: Say = silent) -> "Verified":
    from donewhen.session.verbs.verify import verify

    return await verify(named, describe)


async def union_run(base: str, words: Sequence[str], say: Say, emit: Emit) -> "Combined":
    from donewhen.session.verbs.union import union

    return await union(base, words, say, emit)


async def doctor_run() -> "list[Diagnosis]":
    from donewhen.session.verbs.doctor import diagnose

    return await diagnose()


async def sandbox_run(
    options: "SandboxOptions", say: Say, stdout: Callable[[bytes], None], stderr: Callable[[bytes], None]
) -> int:
    from donewhen.session.verbs.sandbox import run

    return await run(options, say, stdout, stderr)


async def policy_decide(command: str) -> "Ruling":
    from donewhen.session.verbs.policy import decide

    return await decide(command, Path.cwd())


def trust_accept() -> "tuple[Trusted, ...]":
    from donewhen.session.verbs.trust import accept

    return accept(Path.cwd())


METHODS: Mapping[str, Callable[..., Any]] = {
    function.__name__.replace("_", ".", 1): function
    for function in (
        session_start, session_list, session_get, session_events, session_answer, session_approve, session_deny,
        session_amend, session_cancel, session_resume, session_replay, session_land, session_discard, session_diff,
        contract_init, contract_check, union_run, receipt_get, receipt_verify,
        agents_list, models_list, doctor_run, sandbox_run, policy_decide, trust_accept,
        loop_catalogue, loop_add, loop_list, loop_show, loop_run, loop_pause, loop_resume, loop_promote, loop_demote,
        loop_history, inbox_list,
        memory_list, memory_show, memory_recall, memory_forget, memory_export, memory_import, memory_signature,
        memory_texts, memory_forget_texts,
    )
}  # fmt: skip
"""The functions that a program may call, by the name of the method: `session.start` is `session_start`."""
