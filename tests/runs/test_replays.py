"""Sessions that were stopped, ended or left waiting and then resumed, replayed: same events, trees, verdicts."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from program import PROGRAM
from runs.scenes import CHECK, EXPECTED, RIGHT, WRONG, Step, call, run, run_json, run_verb, say, scene, script, write

SHOWN = ("type", "tool", "ok", "status", "phase", "outcome", "iterations", "n", "max", "tree", "preview", "text", "to",
         "gate", "decision", "answer", "results")  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def facts(repo: Path, session: str) -> list[dict[str, Any]]:
    """The log without varying parts: times, paths, costs."""
    events = map(json.loads, run_verb(repo, "log", session, "--json").out.splitlines())
    told_then = [{key: event[key] for key in SHOWN if key in event} for event in events]
    for fact in told_then:
        for result in fact.get("results", ()):
            result.pop("duration_ms")
    return told_then


def assert_plays_again(repo: Path, session: str, code: int = 0) -> None:
    replayed = run_json(repo, "replay", session, "--json")
    assert facts(repo, replayed.session) == facts(repo, session)
    assert replayed.code == code


def stopped_in(repo: Path, steps: list[Step], after: bytes, sign: signal.Signals, *options: str) -> str:
    """A run that gets a signal after an event; its session."""
    model = script(repo.parent / "script.json", steps)
    command = [PROGRAM, "run", "x", "--model", model, "--json", *options]
    program = subprocess.Popen(command, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert program.stdout is not None
    session = json.loads(next(line for line in program.stdout if after in line))["session"]
    program.send_signal(sign)
    program.communicate(timeout=60)
    return session


SLOW: list[Step] = [write("b.txt", "b\n"), {**write("answer.txt", "left\n"), "delay": 600}, say("done"), *RIGHT]


def hurried(repo: Path) -> None:
    steps = json.loads((repo.parent / "script.json").read_text())
    script(repo.parent / "script.json", [{**step, "delay": 0} for step in steps])


def test_a_cancelled_and_resumed_session_replays_the_same(repo: Path) -> None:
    session = stopped_in(repo, SLOW, b'"tool_result"', signal.SIGINT)
    assert_plays_again(repo, session, code=130)
    hurried(repo)
    assert run_verb(repo, "resume", session).code == 0
    assert_plays_again(repo, session)


def test_a_killed_and_resumed_or_cancelled_session_replays_the_same(repo: Path) -> None:
    session = stopped_in(repo, SLOW, b'"tool_result"', signal.SIGKILL)
    hurried(repo)
    assert run_verb(repo, "resume", session).code == 0
    assert_plays_again(repo, session)
    other = stopped_in(repo, SLOW, b'"tool_result"', signal.SIGKILL)
    assert run_verb(repo, "cancel", other).code == 0
    replayed = run_json(repo, "replay", other, "--json")
    assert (replayed.code, len(replayed.of("tool_result"))) == (130, 1)


def test_a_session_resumed_after_its_last_round_replays_the_same(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1")
    assert run_verb(repo, "resume", ran.session).code == 0
    assert_plays_again(repo, ran.session)


def test_a_proposed_contract_and_its_approval_replay_the_same(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": "", "Makefile": "test:\n\tgrep -qx right answer.txt\n"})
    ran = run(repo, RIGHT)
    assert ran.code == 3
    assert run_verb(repo, "approve", ran.session).code == 0
    assert_plays_again(repo, ran.session)


def test_an_approved_or_cancelled_amendment_replays_the_same(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})
    steps = [write("expected.txt", "wrong\n"), say("the expectation was wrong")]
    approved, left = (run(repo, steps, "--max-iterations", "1").session for _ in range(2))
    assert_plays_again(repo, left, code=3)
    assert run_verb(repo, "approve", approved).code == 0
    assert_plays_again(repo, approved)
    assert run_verb(repo, "cancel", left).code == 0
    assert_plays_again(repo, left, code=130)


def test_left_out_edits_are_offered_in_a_replay_but_their_approval_is_not_repeated(tmp_path: Path) -> None:
    contract = f'[contract]\nprotect = ["kept.txt"]\n\n{CHECK}'
    repo = scene(tmp_path / "repo", {"donewhen.toml": contract, "kept.txt": "k\n"})
    session = run(repo, [write("kept.txt", "k\nmore\n"), *RIGHT]).session
    assert_plays_again(repo, session)
    assert run_verb(repo, "approve", session).code == 0
    replayed = run_json(repo, "replay", session, "--json")
    assert (replayed.code, replayed.last["type"]) == (0, "session_finished")
    assert (len(replayed.of("gate_opened")), replayed.of("gate_decided")) == (1, [])


def test_a_question_answered_after_a_crash_replays_the_same(repo: Path) -> None:
    session = stopped_in(
        repo, [call("ask_user", prompt="which?"), *RIGHT], b'"question_asked"', signal.SIGKILL, "--ask"
    )
    assert run_verb(repo, "answer", session, "this").code == 0
    assert_plays_again(repo, session)


def test_a_replay_does_not_wait_for_an_unanswered_question(repo: Path) -> None:
    session = stopped_in(repo, [call("ask_user", prompt="which?"), *RIGHT], b'"question_asked"', signal.SIGINT, "--ask")
    assert run_verb(repo, "resume", session).code == 0
    assert_plays_again(repo, session)
    assert json.loads(run_verb(repo, "show", session, "--json").out)["question"] is None


def test_a_stopped_replay_does_not_continue(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1")
    assert run_verb(repo, "resume", ran.session).code == 0
    program = subprocess.Popen([PROGRAM, "replay", ran.session, "--json"], cwd=repo, stdout=subprocess.PIPE)
    assert program.stdout is not None
    program.stdout.readline()
    program.send_signal(signal.SIGINT)
    program.communicate(timeout=60)
    assert program.returncode == 130
