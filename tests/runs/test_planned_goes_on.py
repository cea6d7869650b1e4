"""Planned sessions that are killed, resumed or replayed: the same outcome, and no question is asked twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from program import PROGRAM
from runs.agents import opencode
from runs.planned_scenes import (
    DONE,
    DRAFT,
    FAIL,
    INTENT,
    PASS,
    bare,
    build,
    builds,
    cast,
    check,
    crew,
    evaluation,
    finding,
    item,
    landed,
    log,
    notes,
    plan,
    planned,
    roles,
    tracks,
)
from runs.scenes import Run, run_json, run_verb, say, scene, script, shell

DRIVER = Path(__file__).with_name("planned_driver.py")
ITEMS = [item("say right", DONE), item("be kind", "grep -q kind note.txt")]
STRICT = check("strict", "! grep -q ' ' answer.txt && grep -q right answer.txt", 1)
STEPS = crew(
    [say("let me think"), planned(*DRAFT, items=ITEMS), planned(*DRAFT, STRICT, items=ITEMS)],
    [
        tracks(1, "in_progress"),
        *builds(),
        shell("echo kind >> note.txt"),
        tracks(2, "completed", "kind now"),
        say("kind"),
        shell("echo polite >> note.txt"),
        say("polite"),
    ],
    [shell("cat note.txt"), say("fine"), evaluation("fail", finding("rude", "grep -q polite note.txt")), PASS],
)


def driven(repo: Path, points: Sequence[int]) -> list[dict[str, Any]]:
    env = {**os.environ, "PYTHONPATH": str(DRIVER.parents[1])}
    halves = [half for half in (points[::2], points[1::2]) if half]
    model = cast(repo, STEPS)
    drivers = [
        subprocess.Popen([sys.executable, DRIVER, repo, model, *map(str, half)], env=env, stdout=subprocess.PIPE)
        for half in halves
    ]
    said = [json.loads(line) for driver in drivers for line in driver.communicate()[0].splitlines()]
    assert len(said) == len(points)
    return said


def witness(repo: Path, session: str) -> dict[str, Any]:
    """Everything that must be the same however often a session crashed."""
    whole = log(repo, session)
    assert [event["seq"] for event in whole.events] == list(range(1, len(whole.events) + 1))
    once = ("planning_started", "planning_completed", "contract_proposed", "gate_opened", "gate_decided", "tool_call",
            "tool_result", "iteration_started", "evaluation_started", "evaluation_completed", "revision_started",
            "landed", "engine_selected", "model_selected")  # fmt: skip
    return {
        "outcome": whole.last["outcome"],
        "tree": whole.last["tree"],
        "results": [one["name"] for one in whole.last["results"]],
        "roles": roles(whole),
        "changed": landed(repo, session),
        "tracked": [body for kind, body in notes(session, "planned") if kind == "tracked"],
        **{type: len(whole.of(type)) for type in once},
    }


OURS = ("planned", "proposed", "opinion", "gate", "baseline", "tree", "round", "landing")
EVERY = 7
"""For each tried moment there are so many at which something of a plan is written."""


def moments_of(alone: dict[str, Any]) -> list[int]:
    """The first and the last write of each kind that only planned sessions make."""
    places: dict[str, list[int]] = {}
    for number, moment in enumerate(alone["moments"], 1):
        if any(word in moment for word in OURS):
            places.setdefault(moment, []).append(number)
    return sorted({place for found in places.values() for place in (found[0], found[-1])})


@pytest.mark.sample(0)
def test_a_session_killed_while_planning_waiting_or_evaluating_resumes_to_the_same_end(
    tmp_path: Path, show_table: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = bare(tmp_path / "repo")
    monkeypatch.chdir(repo)
    (alone,) = driven(repo, [0])
    expected = witness(repo, alone["session"])
    assert (expected["outcome"], expected["changed"]["note.txt"]) == ("verified", "kind\npolite")
    killed = driven(repo, moments_of(alone)[1::EVERY])
    for one in killed:
        at = (one["point"], alone["moments"][one["point"] - 1])
        assert one["killed"], at
        assert witness(repo, one["session"]) == expected, at
    assert len(killed) >= 10
    show_table(f"crash points of a planned session: {len(killed)} killed and recovered")


def test_a_session_with_a_waiting_plan_is_not_planned_again_on_resume(tmp_path: Path) -> None:
    repo = bare(tmp_path / "repo")
    ran = plan(repo, STEPS)
    again = run_json(repo, "resume", ran.session, "--json")
    assert (again.code, again.of("model_turn"), again.of("gate_opened"), again.of("check_started")) == (3, [], [], [])
    files = json.loads(run_verb(repo, "show", ran.session, "--json").out)["artifacts"]
    assert run_verb(repo, "discard", ran.session).code == 0
    assert not any(Path(file).exists() for file in files.values())


HALF = "sed -i 's/^- \\[ \\] 1/- [x] 1/' .donewhen/tracker.md; echo half > half.txt"
WHOLE = "ls > seen.txt; echo right > answer.txt"


def test_what_a_killed_agent_wrote_into_the_tracker_is_undone_with_its_work_and_never_lands(
    tmp_path: Path,
) -> None:
    repo = scene(tmp_path / "repo")
    engine = opencode(tmp_path / "agent", [{"shell": HALF}, {"hang": True}], [{"shell": WHOLE}])
    model = cast(repo, crew(planned(items=[item("say right", DONE), item("rest", "true")])))
    words = ["run", INTENT, "--engine", engine.replace("external", "planned"), "--model", model, "--json"]
    with subprocess.Popen([PROGRAM, *words], cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        told_so_far = map(json.loads, program.stdout)
        try:
            session = next(event["session"] for event in told_so_far if event["type"] == "tool_result")
        finally:
            program.kill()
    resumed = run_json(repo, "resume", session, "--json")
    assert (resumed.code, resumed.last["outcome"]) == (0, "verified")
    assert landed(repo, session)["answer.txt"] == "right"
    assert not [name for name in landed(repo, session) if name.startswith(".donewhen")]
    assert "half.txt" not in landed(repo, session)
    assert not [body for kind, body in notes(session, "planned") if kind == "tracked"]


def test_a_session_cancelled_while_planning_or_evaluating_resumes_there(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    sound = planned(items=[item("say right", DONE)])
    for role in ("planner", "evaluator"):
        steps = crew(sound)
        words = ["run", INTENT, "--engine", "planned", "--json"]
        model = cast(repo, {**steps, role: [shell("ls"), {**steps[role][0], "delay": 600}]})
        command = [PROGRAM, *words, "--model", model]
        with subprocess.Popen(command, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as program:
            assert program.stdout is not None
            told_so_far = map(json.loads, program.stdout)
            session = next(event["session"] for event in told_so_far if event.get("role") == role)
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=60)
        assert program.returncode == 130
        cast(repo, {**steps, role: [shell("ls"), steps[role][0]]})
        resumed = run_json(repo, "resume", session, "--json")
        assert (resumed.code, resumed.last["outcome"]) == (0, "verified"), role
        assert roles(log(repo, session))[role] == 2


# -- replays --

SHOWN = ("type", "role", "tool", "ok", "status", "phase", "outcome", "iterations", "n", "tree", "preview", "to", "gate",
         "decision", "answer", "name", "engine", "items", "filled", "not_verified", "revised", "scorecard",
         "failed_rules", "round")  # fmt: skip


def facts(repo: Path, session: str) -> list[dict[str, Any]]:
    """The log without varying parts: times, paths, costs, and the model name."""
    return [{key: event[key] for key in SHOWN if key in event} for event in log(repo, session).events]


def assert_plays_again(repo: Path, session: str, code: int = 0) -> Run:
    replayed = run_json(repo, "replay", session, "--json")
    assert facts(repo, replayed.session) == facts(repo, session)
    assert replayed.code == code
    return replayed


def test_a_planned_changed_approved_and_revised_session_replays_the_same(tmp_path: Path) -> None:
    repo = bare(tmp_path / "repo")
    ran = plan(repo, STEPS)
    assert_plays_again(repo, ran.session, code=3)
    assert run_verb(repo, "answer", ran.session, "the word may not be followed by others").code == 3
    assert run_verb(repo, "approve", ran.session).code == 0
    again = assert_plays_again(repo, ran.session)
    assert landed(repo, again.session) == landed(repo, ran.session)


@pytest.mark.parametrize("words", ["", "the word may not be followed by others"])
def test_a_contract_edited_by_a_person_replays_as_edited(tmp_path: Path, words: str) -> None:
    repo = bare(tmp_path / "repo")
    ran = plan(repo, STEPS)
    file = Path(json.loads(run_verb(repo, "show", ran.session, "--json").out)["artifacts"]["contract.toml"])
    file.write_text(file.read_text() + '\n[[check]]\nname = "mine"\ncommand = "test -s answer.txt"\n')
    if words:
        assert run_verb(repo, "answer", ran.session, words).code == 3
    assert run_verb(repo, "approve", ran.session).code == 0
    assert_plays_again(repo, ran.session)


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_an_inconclusive_session_replays_with_the_person_s_decision(tmp_path: Path, verb: str) -> None:
    repo = scene(tmp_path / "repo")
    ran = build(repo, crew(planned(items=[item("say right", DONE)]), evaluator=[say("fine")] * 3))
    assert ran.code == 3
    code = run_verb(repo, verb, ran.session).code
    assert_plays_again(repo, ran.session, code)


def test_a_session_with_another_evaluator_model_can_be_replayed(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    other = script(tmp_path / "other.json", {"evaluator": [PASS]})
    steps = crew(planned(items=[item("say right", DONE)]), evaluator=[])
    ran = build(repo, steps, env={"DONEWHEN__PLANNED__EVALUATOR_MODEL": other})
    assert ran.code == 0
    assert_plays_again(repo, ran.session)


def test_a_resumed_rejected_session_can_be_replayed(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    steps = crew(planned(items=[item("say right", DONE)]), [*builds(), say("no"), say("no"), say("no")], [FAIL] * 3)
    ran = build(repo, steps)
    assert (ran.code, ran.last["outcome"]) == (1, "rejected")
    cast(repo, {**steps, "evaluator": [FAIL, FAIL, FAIL, PASS]})
    assert run_verb(repo, "resume", ran.session).code == 0
    assert_plays_again(repo, ran.session)
