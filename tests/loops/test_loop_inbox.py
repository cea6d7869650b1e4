"""Escalated work: it is kept, waits in the inbox over restarts, and is decided once, about exactly its tree.

Every call of the program here is a process of its own.
"""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from loop_scene import CALC, DONE, FIX, LOOK, LoopScene, loop, opinion

from program import PROGRAM, donewhen
from repositories import commit, git, write

FIXED = CALC.replace("a - b", "a + b")
EXTRA = {"tool": {"name": "write_file", "input": {"path": "more.py", "content": "x = 1\n"}}}
WRITES = 'command:echo >> "$OUT"'
"""The session and the loop are added to it."""


def inbox(scene: LoopScene) -> list[dict[str, Any]]:
    return [json.loads(line) for line in scene("inbox", "--json").out.splitlines()]


def history(scene: LoopScene, name: str = "fixer") -> tuple[str, str]:
    """Return how the newest round ended, and why."""
    row = json.loads(scene("loop", "history", name, "--json", "--limit", "1").out)
    return row["outcome"], row["reason"]


def escalated(scene: LoopScene, name: str = "fixer") -> str:
    """Run a round that escalates. Return its session."""
    code, finished, _ = scene.run(name)
    assert (code, finished["outcome"]) == (3, "escalated"), finished
    return scene.session()


@pytest.mark.promise("loop.round.escalated")
def test_escalated_work_waits_with_its_branch_and_receipt_and_is_approved_once(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop())
    session = escalated(scene)
    (item,) = inbox(scene)
    assert (item["kind"], item["session"], item["loop"]) == ("loop_action", session, "fixer")
    assert item["commands"] == [f"donewhen {verb} {session}" for verb in ("diff", "approve", "deny")]
    shown = scene("inbox").out
    assert all(command in shown for command in item["commands"]) and "the level is assisted" in shown
    assert "+    return a + b" in scene("diff", session).out and scene("receipt", session).code == 0
    kept = git(scene.root, "rev-parse", f"donewhen/{session}")
    assert scene("resume", session).code == 3
    refused = scene("land", session)
    assert (refused.code, f"donewhen approve {session}" in refused.one_line) == (2, True)
    assert "waits     loop_action" in scene("show", session).out and len(inbox(scene)) == 1

    approved = scene("approve", session)
    assert approved.code == 0 and inbox(scene) == []
    assert f"branch donewhen/{session} ({kept[:12]})" in approved.out and f"donewhen land {session}" in approved.out
    assert git(scene.root, "rev-parse", f"donewhen/{session}") == kept
    for verb in ("approve", "deny"):
        again = scene(verb, session)
        assert again.code == 2 and "the gate loop_action was approved already" in again.one_line
    assert git(scene.root, "rev-parse", f"donewhen/{session}") == kept
    assert history(scene) == ("proceeded", "a person approved it")
    ended = [line for line in scene("log", session).out.splitlines() if "round ended" in line]
    assert [line.partition("ended as ")[2] for line in ended] == ["escalated", "proceeded; approved"]
    assert "engine native: loop 'fixer' asks for it" in scene("log", session).out  # it is the default of loops


def test_denied_work_is_removed_and_the_history_says_so(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop())
    session = escalated(scene)
    denied = scene("deny", session)
    assert (denied.code, scene.branches(), inbox(scene)) == (1, ["main"], [])
    assert "branch donewhen/" not in denied.out
    assert history(scene) == ("escalated", "a person denied it")
    again = scene("approve", session)
    assert again.code == 2 and "the gate loop_action was denied already" in again.one_line
    resumed = scene("resume", session)
    assert resumed.code == 1 and "rejected: a person denied it" in resumed.out and scene.branches() == ["main"]


def test_two_approvals_at_the_same_time_have_one_effect(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(action=WRITES))
    scene.env["OUT"] = str(tmp_path / "out")
    session = escalated(scene)
    command, env = [PROGRAM, "approve", session], {**os.environ, **scene.env}
    both = [subprocess.Popen(command, cwd=scene.root, env=env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in both]
    assert 0 in [process.returncode for process in both], errors
    assert all("Traceback" not in error for error in errors)
    assert (tmp_path / "out").read_text() == f"{session} fixer\n"
    assert history(scene) == ("proceeded", "a person approved it")


def test_work_that_nobody_decides_about_expires_into_a_no(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    scene = LoopScene.made(tmp_path, loop(expires_days=0.00001, deliver=[f"file:{report}"]), loop("patient"))
    session, patient = escalated(scene), escalated(scene, "patient")
    until = time.monotonic() + 60
    while (item := inbox(scene)[0])["reason"] != "expired: it counts as denied":
        assert item["session"] == session and time.monotonic() < until
    assert item["commands"] == [f"donewhen diff {session}", f"donewhen deny {session}"]
    refused = scene("approve", session)
    assert refused.code == 2 and "without a decision, which counts as no" in refused.one_line
    assert f"donewhen/{session}" in scene.branches()

    _, finished, _ = scene.run()
    assert finished["outcome"] == "skipped"
    assert finished["reason"].endswith(f"(session {session}): it expired without a decision")
    assert scene.branches() == [f"donewhen/{patient}", "main"]
    assert [one["session"] for one in inbox(scene)] == [patient]  # the one that may still be decided
    assert "it expired without a decision" in report.read_text()
    assert "state     rejected: it expired without a decision" in scene("show", session).out


def person_commits(scene: LoopScene, session: str) -> str:
    """Add a commit to the branch of a round, as a person or another program may do."""
    git(scene.root, "checkout", "--quiet", f"donewhen/{session}")
    write(scene.root, {"mine.py": "x = 1\n"})
    commit(scene.root, "mine")
    tip = git(scene.root, "rev-parse", "HEAD")
    git(scene.root, "checkout", "--quiet", "main")
    return tip


def test_an_approval_is_about_the_judged_tree_whatever_the_branch_holds_now(tmp_path: Path) -> None:
    looks = 'command:{ ls; cat c*.py; } > "$OUT"; true'
    loops = (loop(), loop("other"), loop("looks", action=looks), loop("lands", action="apply-patch"))
    scene = LoopScene.made(tmp_path, *loops)
    scene.env["OUT"] = str(tmp_path / "out")

    changed = escalated(scene)
    tip = person_commits(scene, changed)
    refused = scene("approve", changed)
    assert refused.code == 4 and f"branch failed: the branch donewhen/{changed} is at {tip[:12]}" in refused.out
    assert git(scene.root, "rev-parse", f"donewhen/{changed}") == tip
    denied = escalated(scene, "other")
    tip = person_commits(scene, denied)
    assert scene("deny", denied).code == 1
    assert git(scene.root, "rev-parse", f"donewhen/{denied}") == tip  # a commit of a person is never removed

    ran = escalated(scene, "looks")
    person_commits(scene, ran)
    assert scene("approve", ran).code == 0
    assert (tmp_path / "out").read_text() == f"calc.py\ncheck.sh\ndonewhen.toml\n{FIXED}"

    landed = escalated(scene, "lands")
    git(scene.root, "branch", "--force", f"donewhen/{landed}", "main")
    assert scene("approve", landed).code == 0
    assert git(scene.root, "show", "--name-only", "--format=", "main").split() == ["calc.py"]
    assert (scene.root / "calc.py").read_text() == FIXED and git(scene.root, "status", "--porcelain") == ""


def test_if_the_branch_has_moved_the_work_is_judged_again_before_it_lands(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(action="apply-patch"))
    session = escalated(scene)
    strict = "python3 -c 'import calc, other; assert calc.add(2, 2) == other.expected'\n"
    write(scene.root, {"check.sh": strict, "other.py": "expected = 5\n"})
    commit(scene.root, "expect something else")
    moved = git(scene.root, "rev-parse", "main")
    refused = scene("approve", session)
    assert refused.code == 4 and "not green on top of main" in refused.out and "works" in refused.out
    assert git(scene.root, "rev-parse", "main") == moved and f"donewhen/{session}" in scene.branches()
    assert history(scene)[0] == "failed"

    write(scene.root, {"other.py": "expected = 4\n"})
    commit(scene.root, "expect the right thing")
    assert scene("resume", session).code == 0
    assert git(scene.root, "log", "-2", "--format=%s").splitlines() == ["keep main green", "expect the right thing"]
    assert (scene.branches(), history(scene)) == (["main"], ("proceeded", "a person approved it"))


def test_red_work_is_judged_again_when_it_is_approved_and_waits_on(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(action="apply-patch"))
    scene.script([EXTRA, DONE] * 8)
    session = escalated(scene)
    (item,) = inbox(scene)
    assert "not verified: the contract is red: works is fail" in item["reason"]
    main = git(scene.root, "rev-parse", "main")
    still = scene("approve", session)
    assert still.code == 3 and "approved, but not carried out: the contract is red" in still.out
    assert git(scene.root, "rev-parse", "main") == main
    assert [one["session"] for one in inbox(scene)] == [session]
    assert scene("deny", session).code == 1 and (scene.branches(), inbox(scene)) == (["main"], [])


def test_an_open_escalation_keeps_the_loop_waiting_until_it_is_decided_or_discarded(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop())
    session = escalated(scene)

    def skipped() -> str:
        code, finished, events = scene.run()
        assert (code, finished["outcome"]) == (0, "skipped")
        assert not [one for one in events if one["type"] == "model_turn"]
        return finished["reason"]

    assert skipped() == f"1 of 1 open already: session {session} waits"
    assert scene("cancel", session).code == 0 and inbox(scene) == []
    assert skipped() == f"1 of 1 open already: merge or remove donewhen/{session}"
    assert (scene("discard", session).code, scene.branches()) == (0, ["main"])
    for verb in ("approve", "resume"):
        gone = scene(verb, session)
        assert gone.code == 2 and "discarded" in gone.one_line
    scene.script([FIX, DONE], [LOOK, opinion()])
    again = escalated(scene)
    assert again != session and [one["session"] for one in inbox(scene)] == [again]


@pytest.mark.promise("command.inbox")
def test_the_inbox_also_lists_ordinary_sessions_and_paused_loops(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(budget={"tokens": 1}))
    scene.script([{**FIX, "usage": {"input": 5, "output": 5}}, DONE])
    assert scene("inbox").err == "nothing waits for you\n"
    assert scene.run()[0] == 5
    claim = {"kind": "non_code_decision", "summary": "not ours", "evidence": "none"}
    scene.script([{"tool": {"name": "report_no_change", "input": claim}}] * 3)
    assert scene("run", "fix it").code == 3
    ordinary, paused = sorted(inbox(scene), key=lambda one: one["kind"])
    assert (ordinary["kind"], ordinary["loop"], ordinary["session"]) == ("no_change", "", scene.session())
    assert (paused["kind"], paused["loop"], paused["commands"]) == ("paused", "fixer", ["donewhen loop resume fixer"])


def test_a_pause_waits_only_if_no_person_made_it_and_its_reason_stays(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(budget={"tokens": 1}), loop("other"))
    scene.script([{**FIX, "usage": {"input": 5, "output": 5}}, DONE])
    assert scene.run()[0] == 5
    assert scene("loop", "pause", "other").out == "loop other: paused; donewhen loop resume other\n"
    again = scene("loop", "pause", "fixer").out
    assert again == "loop fixer: paused already: used 10 of 1 tokens; donewhen loop resume fixer\n"
    (paused,) = inbox(scene)
    assert (paused["loop"], paused["reason"]) == ("fixer", "the loop is paused: tokens: used 10, allowed 1")
    assert "the loop is paused: used 10 of 1 tokens" in scene("inbox").out
    assert "other: paused" in scene("loop", "pause", "other").out  # it stays what it is


def test_the_commands_about_a_loop_of_another_repository_work_from_anywhere(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path / "a place", loop(budget={"tokens": 1}))
    scene.script([{**FIX, "usage": {"input": 5, "output": 5}}, DONE])
    assert scene.run()[0] == 5
    (command,) = json.loads(donewhen("inbox", "--json", cwd=tmp_path).out)["commands"]
    assert command == f"cd '{scene.root}' && donewhen loop resume fixer"
    path = {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", command], cwd=tmp_path, env={**os.environ, **path}, check=True)
    assert inbox(scene) == []


def test_a_question_of_a_live_session_and_of_a_killed_one_is_in_the_inbox(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop())
    scene.script([{"tool": {"name": "ask_user", "input": {"prompt": "which one?"}}}, FIX, DONE])
    command = [PROGRAM, "run", "make it right", "--json", "--ask"]
    with subprocess.Popen(command, cwd=scene.root, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert any('"question_asked"' in line for line in program.stdout)
        (live,) = inbox(scene)
        program.kill()
    (killed,) = inbox(scene)
    session = scene.session()
    for item in (live, killed):
        assert (item["kind"], item["session"], item["reason"]) == ("question", session, "which one?")
        assert item["commands"] == [f"donewhen answer {session} 'TEXT'"]
    assert scene("answer", session, "the left one").code == 0 and inbox(scene) == []
