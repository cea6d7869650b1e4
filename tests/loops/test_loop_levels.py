"""The levels of a loop: what its agents may use, how a round ends, and what it tells the next round."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from loop_scene import DONE, FIX, LOOK, LoopScene, loop, offered, on_wire, opinion, task_of

from donewhen.memory.open_store import RepairStoreHandle
from donewhen.memory.tagged_texts import TaggedText
from donewhen.workspace.state_dir import state_root
from repositories import git
from runs.agents import configure_agent
from wire_server import Answer, SaidCall, Says, serving

READING = {"read_file", "list_dir", "find_files", "grep_files"}
WRITES = ("shell", "write_file", "edit_file")
TRIES_TO_WRITE = """\
(echo x > new.txt) 2> /dev/null && echo written || echo not written
python3 -c "import urllib.request as it; it.urlopen('{url}')" 2>&1 | grep -q 404 && echo reached || echo not reached
: {task}"""


def said(text: object) -> Says:
    return Says(Answer(text=str(text)))


def call(tool: str, **given: str) -> Says:
    return Says(Answer(calls=(SaidCall("call_1", tool, json.dumps(given)),)))


CONFIRMS = said(opinion()["text"])
FIXES = call("edit_file", path="calc.py", old="a - b", new="a + b")


@pytest.mark.promise("events.rounds")
@pytest.mark.promise("loop.level.report")
@pytest.mark.promise("loop.round.reported")
def test_at_level_report_no_agent_gets_a_tool_that_writes_and_no_contract_is_needed(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop("looker", level="report", action="report"))
    writes = call("write_file", path="calc.py", content="broken")
    with serving(writes, said("add() subtracts: calc.py:2"), CONFIRMS) as server:
        on_wire(scene, server)
        code, finished, events = scene.run("looker")
    assert (code, finished["outcome"], finished["reason"]) == (0, "reported", "")
    assert events[0]["contract"]["checks"] == []
    started, ended = [one for one in events if one["type"].startswith("round_")]
    assert (started["loop"], started["level"], started["trigger"]) == ("looker", "report", "manual")
    assert {
        "outcome",
        "level",
        "decision",
        "action",
        "input_tokens",
        "output_tokens",
        "maker",
        "checker",
    } <= ended.keys()
    maker, again, checker = server.received
    assert offered(maker) == offered(checker) == READING
    assert "READ-ONLY" in task_of(maker) and "shell" not in str(json.loads(maker.body)["system"])
    assert "ERROR: unknown tool write_file" in again.body.decode()
    assert git(scene.root, "status", "--porcelain") == "" and scene.branches() == ["main"]


@pytest.mark.promise("loop.level.assisted")
def test_at_level_assisted_the_maker_may_write_and_a_person_decides(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop())
    with serving(FIXES, said("Fixed."), CONFIRMS) as server:
        on_wire(scene, server)
        code, finished, _ = scene.run()
    assert (code, finished["outcome"]) == (3, "escalated") and "the level is assisted" in finished["reason"]
    maker, _, checker = server.received
    assert set(WRITES) <= offered(maker) and "READ-ONLY" not in task_of(maker)
    assert offered(checker) == READING | {"shell"}
    assert git(scene.root, "show", f"donewhen/{scene.session()}:calc.py").endswith("a + b")
    assert (scene.root / "calc.py").read_text().endswith("a - b\n")


@pytest.mark.promise("loop.level.unattended")
@pytest.mark.promise("loop.round.proceeded")
@pytest.mark.promise("command.loop.run")
def test_verified_work_of_an_allowed_kind_proceeds_once_and_quietly(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    keys: dict[str, Any] = {
        "action": f"command:echo carried >> {marks}",
        "allow": ["command"],
        "deliver": ["stdout", "file:told.txt"],
    }
    scene = LoopScene.made(tmp_path, loop(level="unattended", **keys))
    used = {"usage": {"input": 100, "output": 10}}
    scene.script([{**FIX, **used}, {**DONE, **used}], [{**LOOK, **used}, {**opinion(), **used}])
    answer = scene("loop", "run", "fixer")
    assert answer.code == 0 and "[unattended]" not in answer.out, answer.err
    assert len(marks.read_text().splitlines()) == 1 and not (scene.root / "told.txt").exists()
    (row,) = [json.loads(line) for line in scene("loop", "history", "--json").out.splitlines()]
    assert (row["outcome"], row["input_tokens"], row["output_tokens"]) == ("proceeded", 400, 40)


@pytest.mark.promise("loop.checks")
def test_a_loop_has_the_checks_that_it_names_and_its_own_and_a_green_base_is_nothing_to_do(tmp_path: Path) -> None:
    red = '[[check]]\nname = "red"\ncommand = "false"\n'
    keys: dict[str, Any] = {"checks": ["works"], "check": [{"name": "own", "command": "test -f calc.py"}]}
    right = {"calc.py": "def add(a, b):\n    return a + b\n"}
    scene = LoopScene.made(tmp_path, loop(**keys), more=red, files=right)
    scene.script([{"text": "Nothing is wrong."}])
    code, finished, events = scene.run()
    (baseline,) = [one["results"] for one in events if one["type"] == "baseline_completed"]
    assert [(one["name"], one["status"]) for one in baseline] == [("works", "pass"), ("own", "pass")]
    assert (code, finished["outcome"], finished["reason"]) == (0, "skipped", "nothing to do")


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    ("keys", "reason"),
    [({"allow": ["open-pr"]}, "the action branch is not in 'allow'"), ({}, "the gate always asks a person")],
)
def test_without_permission_unattended_work_waits_for_a_person(
    tmp_path: Path, keys: dict[str, Any], reason: str
) -> None:
    scene = LoopScene.made(tmp_path, loop(level="unattended", **keys))
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["reason"]) == (3, "escalated", reason)


def test_an_action_that_fails_is_a_failed_round_that_is_delivered_and_keeps_the_work(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"action": "command:echo no luck >&2; exit 7", "allow": ["command"]}
    scene = LoopScene.made(tmp_path, loop(level="unattended", **keys))
    answer = scene("loop", "run", "fixer")
    assert answer.code == 4 and "Traceback" not in answer.err
    report = answer.out[answer.out.index("[unattended]") :]
    head, intent, maker, text, checker, verdict, reason, *_ = report.splitlines()
    assert (head, intent) == ("[unattended] loop fixer (failed)", "intent: keep main green")
    assert (maker, text) == ("maker: done in 2 turns", "  Fixed the sign in add().")
    assert (checker, verdict) == ("checker: confirmed in 2 turns", "  add() is right")
    assert "command failed" in reason and reason.count("no luck") == 1  # as the command has it
    assert "error (action): the last line of its output: no luck" in answer.out + answer.err
    assert git(scene.root, "show", f"donewhen/{scene.session()}:calc.py").endswith("a + b")


def test_the_maker_is_told_how_the_last_five_rounds_ended_the_newest_first(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop("looker", level="report", action="report"))
    handle = RepairStoreHandle(state_root(os.environ))
    for number in range(6):
        at, words = f"2026-11-1{number}T09:00:00.000Z", f"reported — finding {number}"
        old = TaggedText(
            repo=str(scene.root), source="loop:looker", session=f"old{number}", tags=("loop-state",), text=words, at=at
        )
        handle.write(lambda store, old=old: store.texts.put(old))
    handle.close()
    scene.script([{"text": "calc.py:2 subtracts."}], [opinion()])
    assert scene.run("looker")[0] == 0
    with serving(said("NOTHING TO DO"), CONFIRMS) as server:
        on_wire(scene, server)
        scene.run("looker")
    lines = [line for line in task_of(server.received[0]).splitlines() if " reported" in line]
    assert [line.partition(" reported — ")[2] for line in lines] == [
        "calc.py:2 subtracts.",
        *(f"finding {number}" for number in (5, 4, 3, 2)),
    ]


def test_an_agent_of_another_vendor_can_write_nowhere_at_level_report(tmp_path: Path) -> None:
    with serving(said("never asked"), again=True) as service:
        url = f"http://localhost:{service.port}/"
        engine = configure_agent(TRIES_TO_WRITE.format(url=url, task="{task}"))
        reads = loop("looker", level="report", action="report", engine=engine)
        more = f'[workspace]\nreach = ["localhost:{service.port}"]\n'
        scene = LoopScene.made(tmp_path, reads, loop("writer", engine=engine), more=more)
        scene.script([], [opinion()])
        code, finished, _ = scene.run("looker")
        assert (code, finished["outcome"], finished["maker"]["text"]) == (0, "reported", "not written\nnot reached")
        assert not service.asides
        # The control: the same agent writes where it may. What it said stays although no engine could finish the work.
        code, finished, _ = scene.run("writer")
        assert (code, finished["outcome"], finished["maker"]["text"]) == (4, "failed", "written\nreached")
        assert service.asides


def test_unattended_without_isolation_is_refused_before_anything_runs(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(level="unattended", allow=["branch"]), loop("asking"))
    scene.env["DONEWHEN__WORKSPACE__ISOLATION"] = "none"
    answer = scene("loop", "run", "fixer")
    assert answer.code == 2
    assert "the level unattended needs isolation, and there is none" in answer.err
    assert scene("list", "--json").out == "" == scene("loop", "history", "--json").out
    assert scene.run("asking")[0] == 3  # the control: the same machine runs a loop that a person watches
