"""What is known about a session, as JSON values for people and programs. Nothing is decided here."""

from typing import Any

from donewhen.records import plain
from donewhen.session.log.state import LEFT_OUT_ID, Gate, LeftOutEdits, Round, SessionState
from donewhen.session.person import left_out
from donewhen.session.person.gates import GateDecision, GateKind


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
