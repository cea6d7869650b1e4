"""How a run can end: every outcome with its exit code, each through the program."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from program import PROGRAM
from reply_server import serve_replies
from repositories import git
from runs.scenes import RIGHT, WRONG, call, run, run_json, run_verb, say, scene, script, shell, write

GREEN = {"answer.txt": "right\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.mark.promise("events.one-iteration-order")
def test_a_success_in_one_round_emits_its_main_events_in_order(repo: Path) -> None:
    ran = run(repo, RIGHT)
    assert ran.code == 0
    main = ["iteration_started", "tool_call", "tool_result", "plan_text", "check_started", "check_completed"]
    after = ran.types[ran.types.index("iteration_started") :]
    told_in_round = [
        event["type"]
        for event in ran.events[ran.types.index("iteration_started") :]
        if event["type"] in main and event.get("phase", "round") == "round"
    ]
    assert told_in_round == main
    assert after[-1] == "session_finished"


@pytest.mark.promise("exit.red")
@pytest.mark.promise("run.max-iterations")
@pytest.mark.promise("limits.iterations-over-rungs")
def test_exhausted_rounds_end_red(repo: Path) -> None:
    steps = [write("answer.txt", "left\n"), say("a"), write("answer.txt", "up\n"), say("b"), *RIGHT]
    ran = run(repo, steps, "--max-iterations", "2")
    assert (ran.code, ran.last["outcome"], ran.last["iterations"]) == (1, "red", 2)
    assert "landed" not in ran.types
    assert git(repo, "branch", "--list", "donewhen/*") == ""


@pytest.mark.promise("exit.flaky")
def test_a_session_with_only_flaky_failures_ends_flaky(tmp_path: Path) -> None:
    with serve_replies("red", "green") as port:
        asks = f"import socket; exit(socket.create_connection(('localhost', {port})).recv(9) != b'green')"
        check = f'[[check]]\nname = "race"\ncommand = """grep -qx right answer.txt && python3 -c "{asks}" """\n'
        repo = scene(tmp_path / "repo", {"donewhen.toml": check})
        reach = {"DONEWHEN__WORKSPACE__REACH": f"localhost:{port}"}
        ran = run(repo, RIGHT, "--max-iterations", "1", env=reach)
    assert (ran.code, ran.last["outcome"]) == (1, "flaky")
    assert [one["status"] for one in ran.last["results"]] == ["flaky"]


@pytest.mark.promise("exit.no-progress")
def test_the_same_result_after_a_warning_ends_as_no_progress(repo: Path) -> None:
    ran = run(repo, [*WRONG, say("I think it is fine"), say("still fine"), *RIGHT])
    assert (ran.code, ran.last["outcome"], ran.last["iterations"]) == (1, "no_progress", 3)


@pytest.mark.promise("limits.silence")
def test_silence_ends_as_no_progress_and_the_tree_is_judged(repo: Path) -> None:
    steps = [write("answer.txt", "left\n"), {**say("zzz"), "delay": 60}]
    ran = run(repo, steps, env={"DONEWHEN__LIMITS__SILENCE_SECS": "1"})
    assert (ran.code, ran.last["outcome"]) == (1, "no_progress")
    assert "no activity" in ran.last["reason"]
    assert [one["status"] for one in ran.last["results"]] == ["fail"]


@pytest.mark.promise("exit.failed")
@pytest.mark.promise("scripted.runs-out")
def test_a_script_that_runs_out_on_a_red_tree_ends_failed(repo: Path) -> None:
    ran = run(repo, [write("answer.txt", "left\n")])
    assert (ran.code, ran.last["outcome"]) == (4, "failed")
    assert ran.of("error")[0]["kind"] == "model"
    assert [one["status"] for one in ran.last["results"]] == ["fail"]


def test_a_script_that_runs_out_on_a_green_tree_is_verified(repo: Path) -> None:
    ran = run(repo, [write("answer.txt", "right\n")])
    assert (ran.code, ran.last["outcome"]) == (0, "verified")


@pytest.mark.promise("scripted.error")
@pytest.mark.promise("events.error")
def test_a_failed_turn_is_reported_and_the_next_step_follows(repo: Path) -> None:
    ran = run(repo, [{"error": "overloaded"}, *RIGHT])
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert ran.one("error")["message"] == "overloaded"


def test_three_failed_turns_in_a_row_end_the_work_and_a_success_resets_the_count(repo: Path) -> None:
    two = [{"error": "one"}, {"error": "two"}]
    ran = run(repo, [*two, write("answer.txt", "left\n"), *two, say("done"), *two, {"error": "three"}, *RIGHT])
    assert (ran.code, ran.last["outcome"], ran.last["iterations"]) == (4, "failed", 2)
    assert len(ran.of("error")) == 7


@pytest.mark.promise("exit.budget")
@pytest.mark.promise("run.max-tokens")
@pytest.mark.promise("limits.keys")
def test_exhausted_tokens_end_the_work_after_a_last_verdict(repo: Path) -> None:
    steps = [{**write("answer.txt", "left\n"), "usage": {"input": 900, "output": 200}}, *RIGHT]
    ran = run(repo, steps, "--max-tokens", "1000")
    assert (ran.code, ran.last["outcome"]) == (5, "budget")
    assert ran.last["reason"] == "tokens: used 1100, allowed 1000"
    assert [one["status"] for one in ran.last["results"]] == ["fail"]


def test_work_that_is_green_when_the_tokens_run_out_is_verified(repo: Path) -> None:
    steps = [{**write("answer.txt", "right\n"), "usage": {"input": 900, "output": 200}}, *WRONG]
    assert run(repo, steps, "--max-tokens", "1000").code == 0


@pytest.mark.promise("run.max-minutes")
def test_exhausted_minutes_stop_a_running_turn(repo: Path) -> None:
    ran = run(repo, [write("answer.txt", "left\n"), {**say("late"), "delay": 60}], "--max-minutes", "0.05")
    assert (ran.code, ran.last["outcome"]) == (5, "budget")
    assert ran.last["reason"].startswith("minutes: used")


@pytest.mark.promise("exit.already-satisfied")
def test_a_green_baseline_ends_before_any_work(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", GREEN)
    ran = run(repo, WRONG)
    assert (ran.code, ran.last["outcome"], ran.last["iterations"]) == (6, "already_satisfied", 0)
    assert "model_turn" not in ran.types


@pytest.mark.promise("run.allow-green")
def test_with_allow_green_the_work_is_done_on_a_green_baseline(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", GREEN)
    ran = run(repo, [write("other.txt", "more\n"), say("done")], "--allow-green")
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    assert ran.one("diff_ready")["files"] == 1


@pytest.mark.promise("exit.no-change")
@pytest.mark.promise("tools.report-no-change")
def test_a_no_change_claim_is_accepted_on_an_unchanged_tree_with_a_green_baseline(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", GREEN)
    claim = call("report_no_change", kind="premise_wrong", summary="it is right already", evidence="I read it")
    ran = run(repo, [claim], "--allow-green")
    assert (ran.code, ran.last["outcome"], ran.last["reason"]) == (6, "no_change", "it is right already")


def test_a_no_change_claim_on_a_red_baseline_waits_for_a_person(repo: Path) -> None:
    claim = call("report_no_change", kind="deliberate_behavior", summary="wrong on purpose", evidence="the docs")
    ran = run(repo, [claim, *RIGHT])
    assert ran.code == 3
    assert ran.one("gate_opened")["gate"] == "no_change"
    assert "session_finished" not in ran.types
    denied = run_json(repo, "deny", ran.session, "--json")
    assert (denied.code, denied.last["outcome"]) == (0, "verified")


def test_an_approved_no_change_claim_ends_as_no_change(repo: Path) -> None:
    claim = call("report_no_change", kind="deliberate_behavior", summary="wrong on purpose", evidence="the docs")
    ran = run(repo, [claim])
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (approved.code, approved.last["outcome"]) == (6, "no_change")


@pytest.mark.promise("exit.cancelled")
@pytest.mark.promise("run.ctrl-c")
@pytest.mark.promise("run.ctrl-c.twice")
def test_an_interrupt_ends_cleanly_and_a_second_one_corrupts_nothing(repo: Path) -> None:
    model = script(repo.parent / "script.json", [write("answer.txt", "left\n"), {**say("late"), "delay": 60}])
    program = subprocess.Popen(
        [PROGRAM, "run", "x", "--model", model, "--json"], cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    lines: list[bytes] = []
    for line in program.stdout:
        lines.append(line)
        if b'"tool_result"' in line:
            program.send_signal(signal.SIGINT)
            program.send_signal(signal.SIGINT)
            break
    rest, errors = program.communicate(timeout=30)
    assert program.returncode == 130, errors
    assert b'"session_finished"' in (*lines, *rest.splitlines())[-1]
    assert b'"outcome": "cancelled"' in (*lines, *rest.splitlines())[-1]


@pytest.mark.promise("command.cancel")
def test_cancel_from_another_terminal_kills_everything_within_a_second(repo: Path) -> None:
    mark = f"sleep 30.{os.getpid()}{time.monotonic_ns() % 10**9}"
    model = script(repo.parent / "script.json", [shell(f"{mark} & setsid {mark} & {mark}"), *RIGHT])
    program = subprocess.Popen(
        [PROGRAM, "run", "x", "--model", model, "--json"], cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert program.stdout is not None
    session = ""
    for line in program.stdout:
        session = session or str(json.loads(line)["session"])
        if b'"tool_call"' in line:
            break
    assert is_so(lambda: mark in processes())
    answer = run_verb(repo, "cancel", session)
    rest, _ = program.communicate(timeout=30)
    assert mark not in processes()
    assert answer.code == 0
    assert program.returncode == 130
    assert b'"cancelled"' in rest.splitlines()[-1]
    again = run_verb(repo, "cancel", session)
    assert (again.code, "already ended as cancelled" in again.out) == (0, True)


def is_so(fact: Callable[[], bool]) -> bool:
    """Poll until a fact of another process is visible."""
    until = time.monotonic() + 30
    while not fact() and time.monotonic() < until:
        os.sched_yield()
    return fact()


def processes() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.promise("limits.turns-end-a-round")
@pytest.mark.promise("run.max-turns")
@pytest.mark.promise("native.limits")
def test_exhausted_turns_end_a_round_and_the_tree_is_judged(repo: Path) -> None:
    ran = run(
        repo, [write("answer.txt", "left\n"), write("a.txt", "a\n"), write("answer.txt", "right\n")], "--max-turns", "2"
    )
    assert (ran.code, ran.last["iterations"]) == (0, 2)
    rounds = [event["status"] for event in ran.of("check_completed") if event["phase"] == "round"]
    assert rounds == ["fail", "pass"]


def test_paths_that_cannot_be_captured_are_reported_to_the_engine_and_the_work_continues(repo: Path) -> None:
    ran = run(repo, [shell("ln -s /etc/passwd leak"), say("done"), shell("rm leak"), *RIGHT])
    assert (ran.code, ran.last["iterations"]) == (0, 2)
