"""A loop round never raises: a failure is an outcome, with the documented exit code and what was reported so far."""

import json
from pathlib import Path
from typing import Any

import pytest
from loop_scene import DONE, FIX, LoopScene, Step, loop, on_wire

from program import Answer as Printed
from repositories import git
from wire_server import Act, Answer, Decides, Received, Refuses, Says, serving

LIST: Step = {"tool": {"name": "list_dir", "input": {}}}
REPORT: Step = {"text": "calc.py:2 subtracts."}
ALLOWED: dict[str, Any] = {"level": "unattended", "allow": ["branch", "apply-patch"]}


def looker(**keys: Any) -> str:
    return loop("looker", level="report", action="report", **keys)


def failed(scene: LoopScene, name: str) -> dict[str, Any]:
    """Run a round that fails. Return the event that says how; the report of it is delivered."""
    answer: Printed = scene("loop", "run", name, "--json")
    events = [json.loads(line) for line in answer.out.splitlines()]
    (finished,) = [one for one in events if one["type"] == "round_finished"]
    assert (answer.code, finished["outcome"], events[-1]["type"]) == (4, "failed", "session_finished"), answer.err
    assert "Traceback" not in answer.err and "(failed)" in answer.err
    return finished


@pytest.mark.sample(2)
@pytest.mark.promise("loop.round.failed")
@pytest.mark.parametrize(
    ("level", "maker", "text"),
    [
        ("report", [{"error": "overloaded"}] * 3, ""),
        ("report", [], ""),
        ("assisted", [{"error": "overloaded"}] * 3, ""),
        ("assisted", [DONE, *[{"error": "overloaded"}] * 3], DONE["text"]),
    ],
)
def test_a_maker_whose_model_fails_is_a_failed_round(tmp_path: Path, level: str, maker: list[Step], text: str) -> None:
    scene = LoopScene.made(tmp_path, loop("one", level=level))
    scene.script(maker)
    finished = failed(scene, "one")
    assert finished["maker"]["text"] == text and finished["checker"] is None
    assert "overloaded" in finished["reason"] or "the script has 0 steps" in finished["reason"]


@pytest.mark.sample(0)
def test_a_maker_that_writes_no_report_has_failed(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker())
    scene.script([{"text": " \n"}], [])
    assert failed(scene, "looker")["reason"] == "the maker wrote no report"


@pytest.mark.sample(0)
def test_work_that_is_green_is_kept_although_the_model_failed_after_it(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**ALLOWED))
    scene.script([FIX, *[{"error": "overloaded"}] * 3])
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["maker"]["status"]) == (0, "proceeded", "model_failed")


@pytest.mark.sample(0)
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("maker", "code", "outcome", "reason"),
    [
        ([{"error": "overloaded"}] * 3, 4, "failed", "the maker changed nothing and did not finish: overloaded"),
        ([LIST] * 4, 5, "budget", "turns: used 4, allowed 4"),
        ([LIST, {"text": "All is well."}], 0, "skipped", "nothing to do"),
    ],
)
def test_on_a_green_base_only_a_maker_that_finished_found_nothing_to_do(
    tmp_path: Path, maker: list[Step], code: int, outcome: str, reason: str
) -> None:
    right = {"calc.py": "def add(a, b):\n    return a + b\n"}
    scene = LoopScene.made(tmp_path, loop(**ALLOWED, budget={"turns": 4}), files=right)
    scene.script(maker)
    ended, finished, _ = scene.run()
    assert (ended, finished["outcome"], finished["reason"]) == (code, outcome, reason)


def test_a_check_that_cannot_start_is_named_and_the_work_waits_for_a_person(tmp_path: Path) -> None:
    checks = [{"name": "missing", "command": "no-such-program"}, {"name": "barred", "command": "./check.sh"}]
    scene = LoopScene.made(tmp_path, loop(**ALLOWED, check=checks), more="[native]\nmax_iterations = 1\n")
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["checker"]) == (3, "escalated", None)
    assert finished["reason"] == "not verified: the contract is red: barred is infra, missing is infra"
    assert git(scene.root, "show", f"donewhen/{scene.session()}:calc.py").endswith("a + b")


def test_a_quota_that_is_used_up_fails_the_round_and_keeps_what_was_reported(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker())
    body = json.dumps({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}).encode()
    with serving(Says(Answer(text=str(REPORT["text"]))), Refuses(429, body)) as server:
        on_wire(scene, server, "openai-chat:gpt-4o")
        finished = failed(scene, "looker")
    assert finished["maker"]["text"] == REPORT["text"] and "exceeded your current quota" in finished["reason"]
    assert scene("inbox", "--json").out == ""  # the next occurrence tries again; no person is needed


def test_a_report_that_the_maker_never_wrote_is_a_failure_and_spends_no_budget(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker())
    again: Step = {"tool": {"name": "read_file", "input": {"path": "nowhere"}}}
    scene.script([again] * 12)
    assert failed(scene, "looker")["reason"] == "no report was written in 6 turns"


def test_what_stops_being_sound_during_a_round_fails_it_and_keeps_what_was_reported(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"checker": []}))
    scene = LoopScene.made(tmp_path, looker(checker_model=f"scripted:{other}"))

    def remove(request: Received) -> Act:
        del request
        other.unlink()
        return Says(Answer(text=str(REPORT["text"])))

    with serving(Decides(remove)) as server:
        on_wire(scene, server)
        finished = failed(scene, "looker")
    assert f"{other}: the script cannot be read" in finished["reason"]
    assert finished["maker"]["text"] == REPORT["text"] and finished["checker"] is None


def test_a_script_that_cannot_be_read_is_one_line_and_nothing_is_started(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, looker())
    scene.script_file.write_text("{broken")
    answer = scene("loop", "run", "looker")
    assert answer.code == 2 and f"{scene.script_file}: not JSON" in answer.one_line
    assert scene("loop", "history", "--json").out == "" == scene("list", "--json").out


def test_a_commit_of_a_person_during_the_round_is_kept_and_the_work_is_judged_on_top_of_it(tmp_path: Path) -> None:
    commits = "git add -A && git -c user.name=p -c user.email=p@x.org commit -qm theirs"
    program = f"command:echo theirs > theirs.txt; {commits}; echo proceed"
    scene = LoopScene.made(tmp_path, loop(level="unattended", action="apply-patch", gate=program))
    code, finished, _ = scene.run()
    assert (code, finished["outcome"]) == (0, "proceeded"), finished
    assert git(scene.root, "log", "-1", "--format=%s", "HEAD^") == "theirs"
    assert git(scene.root, "show", "HEAD:theirs.txt", "HEAD:calc.py").split("\n")[0] == "theirs"
    assert git(scene.root, "show", "HEAD:calc.py").endswith("a + b") and git(scene.root, "status", "--porcelain") == ""


@pytest.mark.sample(0)
def test_work_that_a_commit_of_a_person_breaks_is_not_landed(tmp_path: Path) -> None:
    commits = "git add -A && git -c user.name=p -c user.email=p@x.org commit -qm theirs"
    theirs = "python3 -c 'import os; assert not os.path.exists(\"other.txt\")'\n"
    more = '[[check]]\nname = "alone"\ncommand = "sh alone.sh"\n'
    program = f"command:echo x > other.txt; {commits}; echo proceed"
    scene = LoopScene.made(
        tmp_path, loop(level="unattended", action="apply-patch", gate=program), more=more, files={"alone.sh": theirs}
    )
    code, finished, _ = scene.run()
    assert (code, finished["outcome"]) == (4, "failed") and "alone" in finished["reason"], finished
    assert git(scene.root, "log", "-1", "--format=%s") == "theirs"
    assert git(scene.root, "show", f"donewhen/{scene.session()}:calc.py").endswith("a + b")
