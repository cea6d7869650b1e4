"""Decisions of a person: a proposed contract, protected edits, a question; made through the program."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from program import PROGRAM
from repositories import git
from runs.scenes import EXPECTED, FILES, RIGHT, call, run, run_json, run_verb, say, scene, script, write

CHEAT = [write("expected.txt", "wrong\n"), say("the expectation was wrong")]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo", {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})


@pytest.mark.promise("amendment.not-graded")
def test_protected_edits_are_reported_as_not_graded_and_the_work_continues(repo: Path) -> None:
    ran = run(repo, [*CHEAT, *RIGHT])
    assert (ran.code, ran.last["iterations"]) == (0, 2)
    assert ran.of("protected_edit")[0] | {"path": "expected.txt", "action": "modified"} == ran.of("protected_edit")[0]
    assert git(repo, "show", f"donewhen/{ran.session}:expected.txt") == "right"


@pytest.mark.promise("amendment.waits")
@pytest.mark.promise("exit.waiting")
@pytest.mark.promise("events.gates")
@pytest.mark.promise("amendment.approved")
@pytest.mark.promise("command.approve")
def test_work_that_is_green_only_with_protected_edits_waits_and_lands_when_approved(repo: Path) -> None:
    ran = run(repo, CHEAT, "--max-iterations", "1")
    assert ran.code == 3
    gate = ran.one("gate_opened")
    assert gate["gate"] == "amendment"
    assert "-right" in gate["detail"]
    assert "+wrong" in gate["detail"]
    assert "session_finished" not in ran.types
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (approved.code, approved.last["outcome"]) == (0, "verified")
    assert approved.one("landed")["branch"] == f"donewhen/{ran.session}"
    assert git(repo, "show", f"donewhen/{ran.session}:expected.txt") == "wrong"
    assert json.loads(run_verb(repo, "receipt", ran.session).out)["amended"] is True
    seen = run_verb(repo, "log", ran.session, "--json").out.splitlines()
    assert [json.loads(line)["seq"] for line in seen] == list(range(1, len(seen) + 1))
    assert any(json.loads(line).get("decision") == "approved" for line in seen)


@pytest.mark.promise("amendment.denied")
@pytest.mark.promise("exit.rejected")
@pytest.mark.promise("command.deny")
def test_denied_edits_end_the_session_as_rejected(repo: Path) -> None:
    ran = run(repo, CHEAT, "--max-iterations", "1")
    denied = run_json(repo, "deny", ran.session, "--json")
    assert (denied.code, denied.last["outcome"]) == (1, "rejected")
    again = run_verb(repo, "approve", ran.session)
    assert (again.code, "rejected" in again.one_line) == (2, True)


def test_a_candidate_that_is_red_with_its_edits_too_does_not_wait(repo: Path) -> None:
    ran = run(repo, [write("expected.txt", "else\n"), say("done")], "--max-iterations", "1")
    assert (ran.code, ran.last["outcome"]) == (1, "red")


def test_work_that_cannot_be_landed_waits_and_lands_later(repo: Path) -> None:
    git(repo, "branch", "donewhen")  # a branch of this name blocks donewhen/ID
    ran = run(repo, RIGHT)
    assert ran.code == 3
    assert ran.one("gate_opened")["gate"] == "landing"
    again = run_json(repo, "resume", ran.session, "--json")
    assert again.code == 3
    git(repo, "branch", "-D", "donewhen")
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (approved.code, approved.last["outcome"]) == (0, "verified")
    assert git(repo, "rev-parse", f"donewhen/{ran.session}^{{tree}}") == approved.last["tree"]


def test_a_denied_landing_ends_as_rejected_and_is_not_retried(repo: Path) -> None:
    git(repo, "branch", "donewhen")
    ran = run(repo, RIGHT)
    git(repo, "branch", "-D", "donewhen")
    denied = run_json(repo, "deny", ran.session, "--json")
    assert (denied.code, denied.last["outcome"]) == (1, "rejected")
    assert git(repo, "branch", "--list", "donewhen/*") == ""


# -- a detected contract --


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A repository without a contract, but with a Makefile that has tests."""
    files = {**FILES, "Makefile": "test:\n\tgrep -qx right answer.txt\n"}
    return scene(tmp_path / "repo", {**files, "donewhen.toml": ""})


@pytest.mark.promise("contract.none.proposed")
@pytest.mark.promise("events.contract-proposed")
def test_without_a_contract_the_proposed_one_waits_for_a_person(bare: Path) -> None:
    ran = run(bare, RIGHT)
    assert ran.code == 3
    proposed = ran.one("contract_proposed")
    assert proposed["contract"]["checks"]
    assert proposed["why"]
    assert "model_turn" not in ran.types
    approved = run_json(bare, "approve", ran.session, "--json")
    assert (approved.code, approved.last["outcome"]) == (0, "verified")


@pytest.mark.promise("run.yes")
def test_the_yes_option_accepts_the_proposed_contract(bare: Path) -> None:
    ran = run(bare, RIGHT, "--yes")
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert "gate_opened" not in ran.types


def test_a_denied_contract_ends_as_rejected(bare: Path) -> None:
    ran = run(bare, RIGHT)
    denied = run_json(bare, "deny", ran.session, "--json")
    assert (denied.code, denied.last["outcome"]) == (1, "rejected")


def test_without_a_proposal_one_line_says_what_to_type(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": ""})
    answer = run_verb(repo, "run", "x", "--model", script(tmp_path / "s.json", RIGHT))
    assert (answer.code, "--check" in answer.one_line) == (2, True)


# -- questions --


def asking(repo: Path, *options: str, env: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    steps = [call("ask_user", prompt="which one?"), *RIGHT]
    model = script(repo.parent / "script.json", steps)
    command = [PROGRAM, "run", "x", "--model", model, "--json", *options]
    return subprocess.Popen(
        command,
        cwd=repo,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until(program: "subprocess.Popen[str]", type: str) -> list[dict[str, Any]]:
    """The events of a program until one of this type."""
    assert program.stdout is not None
    seen: list[dict[str, Any]] = []
    for line in program.stdout:
        seen.append(json.loads(line))
        if seen[-1]["type"] == type:
            return seen
    raise AssertionError(f"it ended without {type}: {seen[-1:]}")


@pytest.mark.promise("run.ask")
@pytest.mark.promise("tools.ask-user")
@pytest.mark.promise("events.questions")
@pytest.mark.promise("command.answer")
def test_a_question_is_answered_from_another_terminal_while_the_run_waits(repo: Path) -> None:
    program = asking(repo, "--ask")
    seen = until(program, "question_asked")
    assert seen[-1]["prompt"] == "which one?"
    assert seen[-1]["expires_at"]
    answer = run_verb(repo, "answer", seen[0]["session"], "the left one")
    rest, _ = program.communicate(timeout=60)
    events = [*seen, *map(json.loads, rest.splitlines())]
    types = [event["type"] for event in events]
    assert (answer.code, program.returncode) == (0, 0)
    start = types.index("question_asked")
    assert types[start - 1] == "tool_call"
    assert types[start + 1 : start + 3] == ["question_answered", "tool_result"]
    assert events[start + 2]["preview"] == "the left one"


def test_without_ask_and_without_a_terminal_ask_user_is_not_offered(repo: Path) -> None:
    ran = run(repo, [call("ask_user", prompt="which one?"), *RIGHT])
    assert ran.code == 0
    assert ran.of("tool_result")[0]["preview"].startswith("ERROR: ")
    assert "question_asked" not in ran.types


def test_cancel_ends_a_pending_question_at_once(repo: Path) -> None:
    program = asking(repo, "--ask")
    seen = until(program, "question_asked")
    assert run_verb(repo, "cancel", seen[0]["session"]).code == 0
    program.communicate(timeout=30)
    assert program.returncode == 130


@pytest.mark.promise("engine.on-question")
def test_a_question_survives_a_crash_and_can_be_answered_later(repo: Path) -> None:
    program = asking(repo, "--ask")
    seen = until(program, "question_asked")
    program.kill()
    program.communicate()
    session = seen[0]["session"]
    assert "which one?" in run_verb(repo, "show", session).out
    answered = run_json(repo, "answer", session, "the left one", "--json")
    assert (answered.code, answered.last["outcome"]) == (0, "verified")
    assert answered.of("tool_result")[0]["preview"] == "the left one"
    log = [json.loads(line) for line in run_verb(repo, "log", session, "--json").out.splitlines()]
    assert [event["type"] for event in log].count("question_asked") == 1


def test_an_answer_without_a_question_is_one_clear_line(repo: Path) -> None:
    ran = run(repo, RIGHT)
    answer = run_verb(repo, "answer", ran.session, "hello")
    assert (answer.code, "no question is pending" in answer.one_line) == (2, True)
