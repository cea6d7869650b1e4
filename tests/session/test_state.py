"""The state of a log: what counts as work, what still waits, and a log with a missing part."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.loop.budget import Allowance, Budget
from donewhen.storage.record import Record


def records(*told_then: tuple[int, int, str, dict[str, Any]]) -> list[Record]:
    """Each with its owner, its minute and its body; a kind that starts with + is a note."""
    found: list[Record] = []
    for position, (generation, minute, kind, body) in enumerate(told_then, 1):
        at = f"2026-01-02T{minute // 60:02}:{minute % 60:02}:00.000Z"
        seq = None if kind.startswith("+") else position
        found.append(Record("5e551011", position, at, kind.removeprefix("+"), body, seq, generation))
    return found


def moved(to: str) -> dict[str, str]:
    return {"from": "x", "to": to}


OPENED = (1, 0, "+opened", {"intent": "x"})
GATE = {"gate": "contract", "id": "contract"}
ENDED: dict[str, Any] = {
    "outcome": "cancelled",
    "reason": "so it is",
    "iterations": 1,
    "results": [],
    "summary": "",
    "tree": "",
}


def test_only_time_in_which_one_owner_worked_counts() -> None:
    state = replay_log(
        records(
            OPENED,
            (1, 2, "gate_opened", GATE),
            (1, 2, "state_changed", moved("waiting")),
            (2, 600, "gate_decided", {**GATE, "decision": "approved"}),
            (3, 700, "+owned", {"anew": False}),
            (3, 703, "state_changed", moved("judging")),
        )
    )
    assert state.active_secs == 5 * 60
    assert Budget(Allowance(minutes=6), state).reached_limit() == ""
    assert Budget(Allowance(minutes=4), state).reached_limit().startswith("minutes: used 5.0")


def test_minutes_continue_after_an_interruption_and_restart_after_an_end() -> None:
    begun = [OPENED, (1, 3, "state_changed", moved("running"))]
    interrupted = replay_log(records(*begun, (2, 50, "+owned", {"anew": False}), (2, 52, "plan_text", {"text": "a"})))
    assert Budget(Allowance(minutes=5), interrupted).reached_limit()
    anew = replay_log(records(*begun, (2, 50, "+owned", {"anew": True}), (2, 52, "plan_text", {"text": "a"})))
    assert Budget(Allowance(minutes=5), anew).reached_limit() == ""


def test_a_jump_of_the_clock_is_corrected() -> None:
    state = replay_log(records(OPENED, (1, 901, "plan_text", {"text": "a"}), (1, 901, "+clock", {"secs": -54000.0})))
    assert state.active_secs == 60


def test_after_a_resume_a_gate_waits_again_and_a_question_does_not() -> None:
    ended = [
        OPENED,
        (1, 0, "gate_opened", GATE),
        (1, 1, "question_asked", {"id": "q", "prompt": "which?", "expires_at": None}),
        (1, 2, "state_changed", moved("finished")),
        (1, 2, "session_finished", ENDED),
    ]
    state = replay_log(records(*ended))
    assert (state.gate, state.question) == (None, None)
    state = replay_log(records(*ended, (2, 3, "+owned", {"anew": True})))
    assert state.gate is not None
    assert (state.gate.id, state.question) == ("contract", None)


WHOLE = records(
    OPENED,
    (1, 0, "session_started", {"intent": "x"}),
    (1, 1, "gate_opened", {**GATE, "reason": "r"}),
    (1, 1, "gate_decided", {**GATE, "decision": "approved"}),
    (1, 2, "baseline_completed", {"results": []}),
    (1, 2, "+round", {"n": 1, "rung": "native"}),
    (1, 3, "question_asked", {"id": "q", "prompt": "which?", "expires_at": None}),
    (1, 3, "question_answered", {"id": "q", "answer": "this"}),
    (1, 3, "question_asked", {"id": "p", "prompt": "and?", "expires_at": None}),
    (1, 3, "question_expired", {"id": "p"}),
    (1, 4, "+attempted", {"n": 1, "stop": "done"}),
    (1, 4, "+judged", {"n": 1, "green": False}),
    (1, 5, "+round", {"n": 2, "rung": "native"}),
    (1, 6, "+attempted", {"n": 2, "stop": "done"}),
    (1, 7, "+judged", {"n": 2, "green": True}),
    (1, 7, "session_finished", {**ENDED, "outcome": "verified"}),
)


@given(st.sets(st.integers(0, len(WHOLE) - 2)))
def test_a_log_can_be_read_with_any_part_missing(lost: set[int]) -> None:
    state: SessionState = replay_log(record for number, record in enumerate(WHOLE) if number not in lost)
    assert state.lost == len(lost)
    assert [one.n for one in state.rounds] == sorted({one.n for one in state.rounds})
    assert state.finished is not None
