"""`donewhen plan --foreman`: a plan is made and shown, and nothing is built before a person has approved it."""

import json
from pathlib import Path

import pytest

from repositories import digest, git
from runs.proposals_typed import at_terminal
from runs.scenes import Run, Step, run_json, run_verb, say, script
from runs.subtasks import (
    INTENT,
    applied,
    crew,
    decomposition,
    ended,
    landed,
    planned,
    puts,
    subtask,
    subtask_repository,
    turns,
)
from wire_server import Answer, Says, serving


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return subtask_repository(tmp_path / "repo", "abc")


PLAN = planned("a", "b", subtask("c", reads=["a.txt"]))
OTHER = planned("a", subtask("rest", "b.txt", "c.txt"))
WORKERS = {id: puts(id) for id in "abc"}
REST: list[Step] = [*puts("b")[:1], *puts("c")]


def plan(repo: Path, *replies: Step, **workers: list[Step]) -> Run:
    model = script(repo.parent / "script.json", crew(*replies, **{**WORKERS, "rest": REST, **workers}))
    return run_json(repo, "plan", INTENT, "--foreman", "--model", model, "--json")


def log(repo: Path, session: str) -> Run:
    """All events of a session so far."""
    return run_json(repo, "log", session, "--json")


@pytest.mark.promise("command.plan.foreman")
def test_a_foreman_plan_is_shown_as_text_and_nothing_is_built(repo: Path) -> None:
    before = digest(repo)
    ran = plan(repo, PLAN)
    assert (ran.code, digest(repo)) == (3, before)
    assert {event["phase"] for event in ran.of("check_completed")} == {"baseline"}
    assert [result["status"] for result in ran.one("baseline_completed")["results"]] == ["fail", "pass"]
    assert (turns(ran), ran.of("subtask_started"), ran.of("landed")) == ({"planner": 1}, [], [])
    gate = ran.one("gate_opened")
    assert gate["gate"] == "plan"
    for words in ("3 subtasks in 2 levels", "a: do a now", "writes b.txt", "waits for a"):
        assert words in gate["detail"]
    assert f"donewhen approve {ran.session}" in ran.err
    assert "waits for a" in run_verb(repo, "show", ran.session).out
    again = run_verb(repo, "plan", INTENT, "--foreman", "--model", f"scripted:{repo.parent}/script.json")
    assert (again.code, "waits for a" in again.out) == (3, True), again.out


def test_an_approved_plan_is_built_and_lands(repo: Path) -> None:
    ran = plan(repo, PLAN)
    approved = run_verb(repo, "approve", ran.session)
    assert approved.code == 0, approved.err
    whole = log(repo, ran.session)
    assert (whole.last["outcome"], turns(whole)["planner"], applied(whole)) == ("verified", 1, ["a", "b", "c"])
    assert len(whole.of("planning_completed")) == 1
    assert landed(repo, ran.session, "c.txt") == "one"


def test_an_approved_plan_is_built_even_without_parallel_work(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "a")
    ran = plan(repo, planned("a"))
    assert ran.one("planning_completed")["prefer_single_session"] is True
    assert run_verb(repo, "approve", ran.session).code == 0
    assert applied(log(repo, ran.session)) == ["a"]


def test_a_denied_plan_ends_the_session_as_rejected(repo: Path) -> None:
    ran = plan(repo, PLAN)
    denied = run_verb(repo, "deny", ran.session)
    assert (denied.code, "a person denied the proposed plan" in denied.out) == (1, True), denied
    whole = log(repo, ran.session)
    assert (whole.last["outcome"], whole.of("subtask_started")) == ("rejected", [])
    assert git(repo, "branch", "--list", "donewhen/*") == ""


def test_a_change_request_makes_the_planner_plan_again(repo: Path) -> None:
    ran = plan(repo, PLAN, OTHER)
    answer = run_verb(repo, "answer", ran.session, "put b and c together")
    assert answer.code == 3, answer.err
    whole = log(repo, ran.session)
    assert (turns(whole), whole.of("subtask_started")) == ({"planner": 2}, [])
    assert [event["decision"] for event in whole.of("gate_decided")] == ["changed"]
    assert "rest: do rest now" in whole.of("gate_opened")[-1]["detail"]
    assert run_verb(repo, "approve", ran.session).code == 0
    assert applied(log(repo, ran.session)) == ["a", "rest"]


def test_a_person_s_own_plan_is_used_unchanged(repo: Path) -> None:
    ran = plan(repo, PLAN)
    own = decomposition("a", subtask("rest", "b.txt", "c.txt"))
    assert run_verb(repo, "answer", ran.session, own).code == 3
    whole = log(repo, ran.session)
    assert turns(whole) == {"planner": 1}
    assert [one["id"] for one in whole.of("planning_completed")[-1]["subtasks"]] == ["a", "rest"]
    assert run_verb(repo, "approve", ran.session).code == 0
    assert applied(log(repo, ran.session)) == ["a", "rest"]


def test_the_planner_gets_the_issues_of_its_plan_and_the_change_request(repo: Path) -> None:
    clash, sound = decomposition("a", subtask("b", "a.txt")), decomposition("a", "b", "c")
    with serving(*(Says(Answer(text=text)) for text in (clash, sound, sound))) as server:
        env = {"OPENAI_API_KEY": "x", "DONEWHEN__MODEL__BASE_URL": f"{server.url}/v1"}
        ran = run_json(repo, "plan", INTENT, "--foreman", "--model", "openai-chat:m", "--json", env=env)
        assert run_verb(repo, "answer", ran.session, "leave a alone", env=env).code == 3
    first, second, third = (json.loads(one.body) for one in server.received)
    assert INTENT in str(first["messages"])
    assert {"write_file", "edit_file", "shell"}.isdisjoint(tool["function"]["name"] for tool in first["tools"])
    assert "'a' and 'b' both write a.txt" in second["messages"][-1]["content"]
    assert "leave a alone" in third["messages"][-1]["content"]


@pytest.mark.parametrize(
    "wish", ["put b and c together", decomposition("a", subtask("rest", "b.txt", "c.txt"))], ids=["words", "plan"]
)
def test_a_session_with_a_changed_and_approved_plan_replays_the_same(repo: Path, wish: str) -> None:
    ran = plan(repo, PLAN, OTHER)
    assert run_verb(repo, "answer", ran.session, wish).code == 3
    assert run_verb(repo, "approve", ran.session).code == 0
    replayed = run_json(repo, "replay", ran.session, "--json")
    whole, again = log(repo, ran.session), log(repo, replayed.session)
    assert (replayed.code, again.last["tree"], applied(again)) == (0, whole.last["tree"], applied(whole))


UNUSABLE = {
    '{"subtasks": []}': "must be a list with at least one entry",
    '{"subtasks": [{"id": "a"': "broken",
    decomposition(subtask("a", "a.txt"), subtask("b", "a.txt")): "'a' and 'b' both write a.txt",
}


def test_an_invalid_plan_of_a_person_is_refused_and_the_proposal_still_waits(repo: Path) -> None:
    ran = plan(repo, PLAN)
    for own, why in UNUSABLE.items():
        answer = run_verb(repo, "answer", ran.session, own)
        assert (answer.code, why in answer.one_line) == (2, True), answer.err
    assert log(repo, ran.session).of("gate_decided") == []
    assert json.loads(run_verb(repo, "show", ran.session, "--json").out)["gate"]["kind"] == "plan"


def test_without_a_valid_plan_nothing_waits_and_nothing_is_built(repo: Path) -> None:
    ran = plan(repo, *[say("I would rather not")] * 3)
    assert ended(ran) != (0, "verified")
    assert (ran.code, ran.of("gate_opened"), ran.of("subtask_started")) == (4, [], [])
    assert "contains no readable JSON object" in ran.last["reason"]


@pytest.mark.parametrize(
    ("typed", "code", "decisions", "planned_again"),
    [
        (["put b and c together", "y"], 0, ["changed", "approved"], True),
        (["n"], 1, ["denied"], False),
        (["l"], 3, [], False),
    ],
)
def test_at_a_terminal_a_plan_is_changed_approved_denied_or_left_for_later(
    repo: Path, typed: list[str], code: int, decisions: list[str], planned_again: bool
) -> None:
    model = script(repo.parent / "script.json", crew(PLAN, OTHER, **{**WORKERS, "rest": REST}))
    ended_with, seen = at_terminal(repo, ["plan", INTENT, "--foreman", "--model", model], *typed)
    assert ended_with == code, seen
    assert "plan: [y]es, [n]o, [l]ater, or what to change?" in seen
    (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
    whole = log(repo, session)
    assert [event["decision"] for event in whole.of("gate_decided")] == decisions
    assert len(whole.of("planning_completed")) == 1 + planned_again
    assert applied(whole) == (["a", "rest"] if planned_again else [])


def test_a_plan_that_cannot_be_used_and_is_typed_at_a_terminal_leaves_the_other_waiting(repo: Path) -> None:
    model = script(repo.parent / "script.json", crew(PLAN, **WORKERS))
    code, seen = at_terminal(repo, ["plan", INTENT, "--foreman", "--model", model], '{"subtasks": []} ')
    assert (code, "the plan cannot be used" in seen) == (3, True), seen
    (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
    assert run_verb(repo, "approve", session).code == 0
