"""The events of `run --json`: a wrong round, a right one, several calls in one turn. One run, checked in several
tests."""

import json
import os
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from repositories import git
from runs.scenes import Run, Step, call, run, scene, write

STEPS: list[Step] = [
    {
        "tools": [
            {"name": "read_file", "input": {"path": "answer.txt"}},
            {"name": "list_dir", "input": {}},
            {"name": "write_file", "input": {"path": "long.txt", "content": "é" * 900}},
            {"name": "read_file", "input": {"path": "missing.txt"}},
        ],
        "say": "looking around",
        "usage": {"input": 100, "output": 10},
    },
    write("answer.txt", "left\n"),
    {"text": "done"},
    {**write("answer.txt", "right\n"), "usage": {"input": 50, "output": 5}},
    call("read_file", path="long.txt"),
    {"text": "now it is right"},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scene(tmp_path_factory.mktemp("events") / "repo")


@pytest.fixture(scope="module")
def ran(place: Path) -> Run:
    home = place.parent / "home"
    home.mkdir()
    env = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config")}
    return run(place, STEPS, env=env)


@pytest.mark.promise("events.envelope")
@pytest.mark.promise("events.seq")
@pytest.mark.promise("run.json")
def test_every_event_has_an_envelope_and_the_numbers_have_no_gap(ran: Run) -> None:
    assert [event["seq"] for event in ran.events] == list(range(1, len(ran.events) + 1))
    for event in ran.events:
        assert datetime.fromisoformat(event["at"]).tzinfo is not None
        assert event["at"].endswith("Z")
        assert event["session"] == ran.session


@pytest.mark.promise("events.first-and-last")
@pytest.mark.promise("events.session-started")
def test_session_started_is_first_and_session_finished_is_last(ran: Run, place: Path) -> None:
    first = ran.events[0]
    assert first["type"] == "session_started"
    assert first["intent"] == "say right"
    assert first["repo"] == str(place)
    assert first["base"] == git(place, "rev-parse", "main")
    assert first["contract"]["checks"][0]["name"] == "done"
    assert first["isolation"] == "bubblewrap"
    assert first["path_transparent"] is True
    assert {"engine", "model"} <= first.keys()
    assert ran.types.count("session_finished") == 1
    assert ran.last["type"] == "session_finished"


@pytest.mark.promise("events.session-finished")
@pytest.mark.promise("exit.verified")
@pytest.mark.promise("command.run")
@pytest.mark.promise("engine.use")
def test_session_finished_has_outcome_results_and_the_landed_tree(ran: Run, place: Path) -> None:
    assert ran.code == 0
    assert ran.last["outcome"] == "verified"
    assert ran.last["iterations"] == 2
    assert [one["status"] for one in ran.last["results"]] == ["pass"]
    assert ran.last["tree"] == git(place, "rev-parse", f"donewhen/{ran.session}^{{tree}}")
    assert ran.last["summary"]
    assert ran.last["reason"]


@pytest.mark.promise("events.landed")
@pytest.mark.promise("run.land.branch")
@pytest.mark.promise("trees.judged-tree-lands")
def test_the_branch_is_made_and_nothing_else_of_the_repository_changes(ran: Run, place: Path) -> None:
    landed = ran.one("landed")
    assert landed["branch"] == f"donewhen/{ran.session}"
    assert landed["commit"] == git(place, "rev-parse", landed["branch"])
    assert git(place, "show", f"{landed['branch']}:answer.txt") == "right"
    assert git(place, "rev-parse", f"{landed['branch']}^") == git(place, "rev-parse", "main")
    assert git(place, "status", "--porcelain") == ""
    message = git(place, "log", "-1", "--format=%B", landed["branch"])
    assert message.startswith("say right\n")
    assert f"Donewhen-Session: {ran.session}" in message
    assert "Donewhen-Receipt: sha256:" in message


@pytest.mark.promise("events.state-changed")
def test_states_follow_each_other(ran: Run) -> None:
    changes = ran.of("state_changed")
    assert changes[0]["from"] == "created"
    assert changes[-1]["to"] == "finished"
    for before, after in pairwise(changes):
        assert before["to"] == after["from"]
    assert {change["to"] for change in changes} == {"judging", "running", "finished"}


@pytest.mark.promise("events.baseline-completed")
@pytest.mark.promise("events.results")
def test_the_baseline_event_comes_before_the_work(ran: Run) -> None:
    (result,) = ran.one("baseline_completed")["results"]
    assert result.keys() == {"name", "status", "exit_code", "duration_ms"}
    assert (result["name"], result["status"], result["exit_code"]) == ("done", "fail", 1)
    assert ran.types.index("baseline_completed") < ran.types.index("iteration_started")


@pytest.mark.promise("events.model-choice")
@pytest.mark.promise("events.engine-selected")
def test_engine_and_model_events_have_a_reason(ran: Run) -> None:
    assert ran.one("engine_selected")["engine"] == "native"
    assert ran.one("engine_selected")["reason"]
    assert ran.one("model_selected")["model"].startswith("scripted:")
    assert ran.one("model_selected")["reason"]


@pytest.mark.promise("events.iteration-started")
def test_rounds_are_counted(ran: Run) -> None:
    assert [(event["n"], event["max"]) for event in ran.of("iteration_started")] == [(1, 8), (2, 8)]


@pytest.mark.promise("events.model-turn")
@pytest.mark.promise("events.spend")
@pytest.mark.promise("scripted.usage-and-delay")
def test_each_turn_reports_its_usage_and_the_sum_is_kept(ran: Run) -> None:
    turns = ran.of("model_turn")
    assert len(turns) == len(STEPS)
    assert {turn["role"] for turn in turns} == {"maker"}
    assert turns[0]["usage"] == {"input": 100, "output": 10, "cache_read": 0, "cache_write": 0}
    assert all(turn["cost_usd"] is None for turn in turns)
    assert all(turn["duration_ms"] >= 0 for turn in turns)
    assert ran.of("spend")[-1]["tokens"] == 165
    assert ran.of("spend")[-1]["usd"] is None


@pytest.mark.promise("events.tool-order")
@pytest.mark.promise("events.tool-call")
@pytest.mark.promise("events.tool-result")
@pytest.mark.promise("scripted.tool-steps")
@pytest.mark.promise("tools.failures-recoverable")
def test_calls_of_one_turn_come_all_before_their_results_in_the_same_order(ran: Run) -> None:
    tools = [event for event in ran.events if event["type"] in ("tool_call", "tool_result")]
    first = tools[:8]
    assert [event["type"] for event in first] == ["tool_call"] * 4 + ["tool_result"] * 4
    names = ["read_file", "list_dir", "write_file", "read_file"]
    assert [event["tool"] for event in first] == names * 2
    ids = [event["id"] for event in first]
    assert ids[:4] == ids[4:]
    assert len(set(ids[:4])) == 4
    assert [event["ok"] for event in first[4:]] == [True, True, True, False]
    assert first[7]["preview"].startswith("ERROR: ")
    assert "answer.txt" in first[0]["params_preview"]


@pytest.mark.promise("events.previews")
def test_previews_are_cut_at_400_bytes_between_characters(ran: Run) -> None:
    previews = [event[key] for event in ran.events for key in ("preview", "params_preview") if key in event]
    assert all(len(preview.encode()) <= 400 for preview in previews)
    cut = [preview for preview in previews if "ééé" in preview]
    assert cut
    assert all(preview.endswith("…") for preview in cut)


@pytest.mark.promise("events.plan-text")
def test_model_text_becomes_an_event_unless_it_is_blank(ran: Run) -> None:
    assert [event["text"] for event in ran.of("plan_text")] == ["looking around", "done", "now it is right"]


@pytest.mark.promise("events.diff-ready")
def test_diff_ready_has_the_size_of_the_change(ran: Run) -> None:
    assert ran.one("diff_ready") | {"files": 2, "insertions": 2, "deletions": 1} == ran.one("diff_ready")


def test_the_checks_of_both_rounds_are_reported(ran: Run) -> None:
    rounds = [event["status"] for event in ran.of("check_completed") if event["phase"] == "round"]
    assert rounds == ["fail", "pass"]


@pytest.mark.promise("run.json.human-output")
def test_text_for_people_goes_to_stderr(ran: Run) -> None:
    assert "verified: every check passed" in ran.err
    assert f"donewhen diff {ran.session}" in ran.err


def test_the_environment_of_the_caller_is_not_in_the_log(ran: Run) -> None:
    assert os.environ["PATH"] not in json.dumps(ran.events)
