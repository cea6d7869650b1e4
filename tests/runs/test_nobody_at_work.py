"""Sessions without an owner: cancelled, decided, discarded or landed by hand, or read when damaged."""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM
from repositories import git
from runs.scenes import EXPECTED, RIGHT, WRONG, Run, run, run_verb, say, scene, script, write

CHEAT = [write("expected.txt", "wrong\n"), say("the expectation was wrong")]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo", {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})


@pytest.fixture
def waiting(repo: Path) -> Run:
    """It waits for a decision about its protected edits."""
    return run(repo, CHEAT, "--max-iterations", "1")


def state() -> Path:
    return Path(os.environ["XDG_STATE_HOME"], "donewhen")


def test_cancelling_a_waiting_session_leaves_a_hand_off_file(repo: Path, waiting: Run) -> None:
    assert run_verb(repo, "cancel", waiting.session).out == f"{waiting.session}: cancelled\n"
    text = (state() / "handoffs" / f"{waiting.session}.md").read_text()
    assert f"donewhen resume {waiting.session}" in text
    shown = run_verb(repo, "show", waiting.session).out
    assert "cancelled: a person stopped it" in shown
    assert "waits     amendment" not in shown


def test_a_cancelled_session_takes_no_decision_until_it_is_resumed(repo: Path, waiting: Run) -> None:
    run_verb(repo, "cancel", waiting.session)
    refused = run_verb(repo, "approve", waiting.session)
    assert (refused.code, "it ended as cancelled" in refused.one_line) == (2, True)
    assert run_verb(repo, "resume", waiting.session).code == 3
    assert run_verb(repo, "approve", waiting.session).code == 0


def test_a_discarded_session_waits_for_no_decision(repo: Path, waiting: Run) -> None:
    assert run_verb(repo, "discard", waiting.session).code == 0
    assert "waiting" not in run_verb(repo, "list").out
    log = run_verb(repo, "log", waiting.session, "--json").out
    assert json.loads(log.splitlines()[-1])["reason"] == "a person discarded it"
    for verb in ("approve", "deny"):
        refused = run_verb(repo, verb, waiting.session)
        assert (refused.code, "it was discarded" in refused.one_line) == (2, True)
    assert run_verb(repo, "log", waiting.session, "--json").out == log


def test_a_landing_by_hand_ends_a_session_that_waited_for_its_landing(repo: Path) -> None:
    model = script(repo.parent / "s.json", [{**RIGHT[0], "delay": 1}, RIGHT[1]])
    program = subprocess.Popen([PROGRAM, "run", "x", "--model", model, "--json"], cwd=repo, stdout=subprocess.PIPE)
    assert program.stdout is not None
    session = json.loads(program.stdout.readline())["session"]
    git(repo, "branch", f"donewhen/{session}")  # of another session
    program.communicate(timeout=60)
    assert program.returncode == 3
    assert run_verb(repo, "land", session, "--onto", "main").code == 0
    known = json.loads(run_verb(repo, "show", session, "--json").out)
    assert (known["state"], known["outcome"], known["gate"]) == ("finished", "verified", None)
    log = [json.loads(line)["type"] for line in run_verb(repo, "log", session, "--json").out.splitlines()]
    assert log[-4:] == ["gate_decided", "landed", "state_changed", "session_finished"]
    assert run_verb(repo, "resume", session).code == 0


def test_a_session_with_lost_records_is_shown_and_cannot_be_resumed(repo: Path, waiting: Run) -> None:
    red = run(repo, WRONG, "--max-iterations", "1")
    whole = run(repo, WRONG, "--max-iterations", "1")
    run_verb(repo, "deny", waiting.session)
    lose(waiting.session, "gate_opened")
    lose(red.session, "round")
    listed = run_verb(repo, "list")
    assert (listed.code, len(listed.out.splitlines())) == (0, 3)
    for session in (waiting.session, red.session):
        shown = run_verb(repo, "show", session)
        assert (shown.code, "1 records of its log are lost" in shown.out) == (0, True), shown.err
    refused = run_verb(repo, "resume", red.session)
    assert (refused.code, "log records are lost" in refused.one_line) == (2, True)
    assert "damaged  " not in run_verb(repo, "show", whole.session).out
    assert run_verb(repo, "discard", red.session).code == 0


def lose(session: str, kind: str) -> None:
    """Damage a record in both places where it is stored."""
    with sqlite3.connect(state() / "sessions.db") as database:
        database.execute("UPDATE donewhen_records SET body = '{}' WHERE session = ? AND kind = ?", (session, kind))
    log = state() / "logs" / f"{session}.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(line for line in lines if f'"kind":"{kind}"'.encode() not in line))
