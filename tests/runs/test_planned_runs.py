"""Planned work that is built and evaluated: builders, trackers, verify commands, evaluations, revisions."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from repositories import contents, git
from runs.agents import configure, configure_agent, opencode
from runs.planned_scenes import (
    DONE,
    FAIL,
    INTENT,
    PASS,
    SCORES,
    STEADY,
    build,
    builds,
    cast,
    crew,
    ended,
    evaluation,
    finding,
    item,
    landed,
    plan_text,
    planned,
    prompts_of,
    roles,
    statuses,
    tracks,
)
from runs.scenes import CHECK, Run, Step, call, run_json, run_verb, say, scene, script, shell, write
from runs.subtasks import crew as hands_of
from runs.subtasks import planned as split
from runs.subtasks import puts, subtask_repository
from wire_server import Answer, Says, serving

PLAN = planned(items=[item("say right", DONE)])
KIND = item("be kind", "grep -q kind note.txt", outcome="note.txt is kind")
TWO = planned(items=[item("say right", DONE), KIND])
"""The verify command of the second item is not in the contract."""
KINDLY: list[Step] = [write("note.txt", "kind\n"), say("kind now")]


def agent_text(ran: Run) -> str:
    """Its text, without the protocol around it."""
    raw = json.dumps([event["raw"] for event in ran.of("external_event")])
    return "".join(re.findall(r'"text": "(.*?)(?<!\\\\)"', raw))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def artifact(repo: Path, ran: Run, name: str) -> str:
    return Path(json.loads(run_verb(repo, "show", ran.session, "--json").out)["artifacts"][name]).read_text()


def statuses_of(ran: Run, name: str) -> list[str]:
    """The status of a command after each round."""
    told_of = [one for one in ran.of("check_completed") if one["name"] == name and one["phase"] == "round"]
    return [one["status"] for one in told_of]


# -- complete runs --


@pytest.mark.promise("events.evaluation")
def test_a_plan_is_built_verified_evaluated_and_landed_in_that_order(repo: Path) -> None:
    ran = build(repo, crew(TWO, [tracks(1, "in_progress"), *builds()[:1], *KINDLY]))
    assert ended(ran) == (0, "verified")
    told_in_order = [
        "session_started", "baseline_completed", "planning_started", "planning_completed", "iteration_started",
        "evaluation_started", "evaluation_completed", "landed", "session_finished",
    ]  # fmt: skip
    assert [type for type in ran.types if type in told_in_order] == told_in_order
    assert [event["engine"] for event in ran.of("engine_selected")] == ["planned", "native"]
    verified = ran.types.index("evaluation_started")
    before = [event["name"] for event in ran.events[:verified] if event["type"] == "check_completed"]
    assert before[-1] == "verify-2.1"
    completed = ran.one("evaluation_completed")
    assert (completed["status"], completed["scorecard"]) == ("passed", dict.fromkeys(SCORES, 4))
    assert completed["summary"] == "looked at it"
    assert landed(repo, ran.session) == {"answer.txt": "right", "note.txt": "kind"}
    assert [one["name"] for one in ran.last["results"]] == ["done"]
    assert [event["seq"] for event in ran.events] == list(range(1, len(ran.events) + 1))


def test_the_builder_gets_the_plan_the_contract_and_the_rules(repo: Path) -> None:
    ran = build(repo, crew(TWO, [*builds()[:1], *KINDLY]))
    said = prompts_of(ran.session, "native")
    for words in (
        "source of truth",
        "one item",
        "without evidence",
        "could continue",
        "The answer is right.",
        "2. be kind",
        DONE,
    ):
        assert words in said


# -- trackers --


@pytest.mark.promise("tools.update-tracker")
def test_update_tracker_changes_item_states_and_nothing_else(repo: Path) -> None:
    steps = [
        tracks(1, "in_progress"),
        tracks("1", "completed", "ran it"),
        tracks("be kind", "blocked", "nobody knows how"),
        tracks(2, "pending"),
        tracks(9, "completed"),
        tracks(2, "done"),
        tracks(2, "completed", verify=["true"]),
        tracks(2, "completed", "verify: true"),
    ]
    ran = build(repo, crew(TWO, [*steps, *builds(), say("I will not")]), "--max-iterations", "1")
    assert [one["ok"] for one in ran.of("tool_result")] == [True] * 4 + [False] * 3 + [True] * 2
    assert all(one["preview"].startswith("ERROR: ") for one in ran.of("tool_result") if not one["ok"])
    assert statuses_of(ran, "verify-2.1") == ["fail"]
    tracker = artifact(repo, ran, "tracker.md")
    assert "- [x] 1. say right" in tracker
    assert "  note: nobody knows how" in tracker
    assert tracker.count("  verify: ") == 2
    assert ended(ran) == (1, "rejected")


def test_update_tracker_is_offered_only_in_the_planned_engine(repo: Path) -> None:
    ran = build(repo, {"maker": [tracks(1, "completed"), *builds()]}, engine="native")
    assert ran.of("tool_result")[0]["preview"].startswith("ERROR: unknown tool update_tracker")


EDITS = (
    "sed -i 's/^- \\[ \\] 1/- [x] 1/; s/^  verify: .*/  verify: true/; s/^# .*/# Nothing/' .donewhen/tracker.md; "
    "echo '  note: made by hand' >> .donewhen/tracker.md; echo right > answer.txt; echo kind > note.txt"
)


def test_an_external_agent_edits_a_tracker_file_of_which_only_states_and_notes_count(
    repo: Path, tmp_path: Path
) -> None:
    engine = opencode(tmp_path / "agent", [{"task": True}, {"shell": EDITS}, {"say": "done"}])
    ran = build(repo, crew(TWO), engine=engine.replace("external", "planned"))
    assert ended(ran) == (0, "verified")
    assert landed(repo, ran.session) == {"answer.txt": "right", "note.txt": "kind"}
    tracker = artifact(repo, ran, "tracker.md")
    assert "- [x] 1. say right" in tracker
    assert "- [ ] 2. be kind" in tracker
    assert "  note: made by hand" in tracker
    assert "grep -q kind note.txt" in tracker
    assert "its verify commands were changed; they stay as they were" in prompts_of(ran.session, "planned/evaluator#1")
    assert "by editing .donewhen/tracker.md" in agent_text(ran)


@pytest.mark.parametrize(
    "deed",
    [
        "rm -rf .donewhen",
        "head -c 3000000 /dev/zero > .donewhen/tracker.md",
        "rm .donewhen/tracker.md; mkdir .donewhen/tracker.md",
        "ln -sf ../answer.txt .donewhen/tracker.md",
        "printf '\\377\\376' > .donewhen/tracker.md",
    ],
)
def test_the_tracker_file_is_never_part_of_the_work(repo: Path, deed: str) -> None:
    engine = configure_agent(f"{deed}; echo right > answer.txt # {{task}}").replace("external", "planned")
    ran = build(repo, crew(PLAN), engine=engine)
    assert (ended(ran), landed(repo, ran.session)) == ((0, "verified"), {"answer.txt": "right"})
    assert "- [ ] 1. say right" in artifact(repo, ran, "tracker.md")


def test_a_repository_with_a_file_of_that_name_keeps_it(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {".donewhen/tracker.md": "- [ ] 1. mine\n"})
    engine = configure_agent("ls .donewhen > seen.txt; echo right > answer.txt # {task}").replace("external", "planned")
    ran = build(repo, crew(PLAN), engine=engine)
    assert ended(ran) == (0, "verified")
    assert landed(repo, ran.session) == {
        "answer.txt": "right", "seen.txt": "tracker-of-this-session.md\ntracker.md"
    }  # fmt: skip


def test_a_foreman_can_build_a_plan_and_one_engine_repairs_what_is_sent_back(tmp_path: Path) -> None:
    repo = subtask_repository(tmp_path / "repo", "ab")
    plan_of_both = planned(items=[item("let both say one", "grep -qx one a.txt b.txt")])
    steps = hands_of(plan_of_both, split("a", "b"), maker=KINDLY, a=puts("a"), b=puts("b"))
    opinions = [evaluation("fail", finding("not kind", "grep -q kind note.txt")), PASS]
    ran = build(repo, {**steps, "evaluator": opinions}, engine="planned:foreman")
    assert (ended(ran), statuses(ran)) == ((0, "verified"), ["rejected", "passed"])
    assert [event["engine"] for event in ran.of("engine_selected")] == ["planned", "foreman", "native"]
    assert landed(repo, ran.session) == {"a.txt": "one", "b.txt": "one", "note.txt": "kind"}
    assert "The answer is right." in prompts_of(ran.session, "foreman/planner")


# -- verify commands --


def test_a_red_verify_command_is_feedback_before_any_evaluation(repo: Path) -> None:
    ran = build(repo, crew(TWO, [*builds(), *KINDLY]))
    assert (ended(ran), ran.last["iterations"], roles(ran)["evaluator"]) == ((0, "verified"), 2, 1)
    assert statuses_of(ran, "verify-2.1") == ["fail", "pass"]
    said = prompts_of(ran.session, "native")
    assert "checks of the plan items fail" in said
    assert "## verify-2.1: fail" in said
    assert len(ran.of("evaluation_started")) == 1


def test_a_verify_command_that_is_the_same_as_a_check_is_not_run_twice(repo: Path) -> None:
    ran = build(repo, crew(PLAN))
    assert {event["name"] for event in ran.of("check_completed")} == {"done"}


def test_the_same_command_in_another_directory_is_a_different_command(tmp_path: Path) -> None:
    toml = CHECK + '\n[[check]]\nname = "below"\ncommand = "test -e here.txt"\ndir = "sub"\n'
    repo = scene(tmp_path / "repo", {"donewhen.toml": toml, "sub/here.txt": "x\n"})
    ran = build(
        repo,
        crew(planned(items=[item("be here", "test -e here.txt")]), [*builds(), write("here.txt", "x\n"), say("ok")]),
    )
    assert (ended(ran), statuses_of(ran, "verify-1.1")) == ((0, "verified"), ["fail", "pass"])


@pytest.mark.parametrize("min_evidence", ["exit", "tests", "control"])
def test_a_verify_command_may_be_green_without_the_work(tmp_path: Path, min_evidence: str) -> None:
    toml = f'[contract]\nmin_evidence = "{min_evidence}"\n\n{CHECK}'
    repo = scene(tmp_path / "repo", {"donewhen.toml": toml})
    ran = build(repo, crew(planned(items=[item("say right", STEADY)])))
    assert (ended(ran), ran.last["iterations"]) == ((0, "verified"), 1)


@pytest.mark.sample(0)
def test_a_verify_command_that_times_out_has_not_passed(repo: Path) -> None:
    ran = build(repo, crew(planned(items=[item("wait", "sleep 1000")])), "--max-minutes", "0.3")
    assert (ran.code, statuses_of(ran, "verify-1.1")) == (3, ["timeout"])
    assert (ran.of("landed"), ran.of("evaluation_started")) == ([], [])
    assert "passed" not in statuses(ran)


# -- the evaluator --


def test_the_evaluator_reads_searches_and_probes_and_changes_nothing(repo: Path) -> None:
    before = contents(repo)
    looks = [
        call("read_file", path="answer.txt"),
        call("grep_files", pattern="right"),
        shell("echo spoilt > answer.txt; echo x > new.txt; cat answer.txt"),
        shell("cat answer.txt; ls"),
        write("answer.txt", "spoilt\n"),
        tracks(1, "completed"),
        shell("git push origin main"),
        PASS,
    ]
    ran = build(repo, crew(PLAN, evaluator=looks))
    assert ended(ran) == (0, "verified")
    since = ran.events[ran.types.index("evaluation_started") :]
    results = [event for event in since if event["type"] == "tool_result"]
    assert [one["ok"] for one in results] == [True, True, True, True, False, False, False]
    assert "spoilt" in results[2]["preview"]
    assert results[3]["preview"].startswith("right\n")
    assert "new.txt" not in results[3]["preview"]
    assert landed(repo, ran.session) == {"answer.txt": "right"}
    assert contents(repo) == before


def test_the_evaluator_gets_all_facts_and_the_change(repo: Path) -> None:
    big = shell("seq 100000 > big.txt")
    steps = [tracks(1, "completed", "I looked at it"), big, *builds()]
    ran = build(repo, crew(planned(items=[item("say right", STEADY)]), steps))
    said = prompts_of(ran.session, "planned/evaluator#1")
    for words in (
        "borderline fails", INTENT, "The answer is right.", f"- done: `{DONE}` (now: fail)", "note: I looked at it",
        "- done: pass", "- verify-1.1: pass", "+right", "-wrong", "characters cut]", "big.txt", "cut: 1 of 2 files",
    ):  # fmt: skip
        assert words in said, words


@pytest.mark.promise("planned.keys")
def test_another_model_may_do_the_evaluation(repo: Path, tmp_path: Path) -> None:
    other = script(tmp_path / "other.json", {"evaluator": [PASS]})
    env = {"DONEWHEN__PLANNED__EVALUATOR_MODEL": other}
    ran = build(repo, crew(PLAN, evaluator=[FAIL]), env=env)
    assert (ended(ran), ran.one("evaluation_started")["model"]) == ((0, "verified"), other)
    assert [one["model"] for one in ran.of("model_turn") if one["role"] == "evaluator"] == [other]
    config = run_verb(repo, "show", ran.session, "--config").out
    assert 'planned.builder = "native"' in config
    assert "planned.max_revision_rounds = 2 " in config


HIDDEN = """
[[check]]
name = "sesame"
command = "grep -q answer-is answer.txt || grep -qx right answer.txt"
held_out = true
"""


def test_held_out_checks_are_hidden_from_planner_and_evaluator(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": CHECK + HIDDEN})
    looks = [call("read_file", path="donewhen.toml"), call("grep_files", pattern="ses[a]me|held_out")]
    probes = [shell("cat donewhen.toml; git log -p; git show HEAD:donewhen.toml")]
    ran = build(repo, crew([*looks, PLAN], evaluator=[*looks, *probes, FAIL, PASS]))
    assert (ended(ran), [one["name"] for one in ran.last["results"]]) == ((0, "verified"), ["done", "sesame"])
    for step in ("planned/planner", "planned/evaluator#1", "planned/evaluator#2", "native"):
        assert "sesame" not in prompts_of(ran.session, step), step
        assert "answer-is" not in prompts_of(ran.session, step), step


@pytest.mark.promise("replies.evaluation")
@pytest.mark.parametrize(
    ("opinion", "rule"),
    [
        (evaluation("fail"), "verdict is fail"),
        (evaluation(score=3.9), "code_quality is 3.9, needs 4"),
        (evaluation("pass", finding()), "1 high-severity finding"),
        (evaluation(high_severity_findings=2), "the count of high-severity findings (2) and the list (0) disagree"),
        (evaluation(unmet_contract_items=["kindness"]), "unmet: kindness"),
    ],
    ids=["verdict", "score", "high", "count", "unmet"],
)
def test_every_rule_that_fails_is_named_and_stops_the_landing(repo: Path, opinion: Step, rule: str) -> None:
    configure("[planned]\nmax_revision_rounds = 0\n")
    ran = build(repo, crew(PLAN, evaluator=[opinion]))
    completed = ran.one("evaluation_completed")
    assert (ended(ran), completed["status"], rule in completed["summary"]) == ((1, "rejected"), "rejected", True)
    assert rule in ran.last["reason"]
    assert rule in artifact(repo, ran, "evaluation.md")
    assert (git(repo, "branch", "--list", "donewhen/*"), ran.of("revision_started")) == ("", [])


# -- revisions --


@pytest.mark.promise("events.revision-started")
def test_rejected_work_is_revised_and_a_failing_probe_becomes_a_check(repo: Path) -> None:
    rude = evaluation("fail", finding("it is rude", "grep -q kind note.txt"), finding("fine really", STEADY))
    ran = build(repo, crew(PLAN, [*builds(), say("I did"), *KINDLY], [rude, PASS]))
    assert (ended(ran), statuses(ran), ran.last["iterations"]) == ((0, "verified"), ["rejected", "passed"], 3)
    revision = ran.one("revision_started")
    assert (revision["round"], "it is rude" in Path(revision["artifact"]).read_text()) == (1, True)
    assert "1 high-severity" not in revision["summary"]
    assert statuses_of(ran, "probe-1") == ["fail", "pass"]
    assert "probe-2" not in [one["name"] for one in ran.of("check_completed")]
    said = prompts_of(ran.session, "native")
    assert "revision 1 of 2" in said
    assert "- grep -q kind note.txt" in said
    assert f"- {STEADY}" not in said
    assert "check whether they are fixed" in prompts_of(ran.session, "planned/evaluator#3")


def test_two_revisions_make_three_evaluations_and_then_it_is_rejected_with_a_hand_off(repo: Path) -> None:
    maker = [*builds(), *builds("right", "again"), *builds("right", "and again")]
    ran = build(repo, crew(PLAN, [tracks(1, "completed"), *maker], [FAIL] * 3))
    assert (ended(ran), statuses(ran), roles(ran)["evaluator"]) == ((1, "rejected"), ["rejected"] * 3, 3)
    assert [event["round"] for event in ran.of("revision_started")] == [1, 2]
    assert [one["status"] for one in ran.last["results"]] == ["pass"]
    (place,) = [line.partition(": ")[2] for line in ran.err.splitlines() if line.startswith("what was tried")]
    handoff = Path(place).read_text()
    for words in (
        "3. rejected: looked at it (not passed",
        "- [x] 1. say right",
        "evaluation.md",
        f"donewhen resume {ran.session}",
    ):
        assert words in handoff, words
    assert f"donewhen resume {ran.session}" in ran.err
    cast(repo, crew(PLAN, [tracks(1, "completed"), *maker, *builds("right", "better")], [FAIL, FAIL, FAIL, PASS]))
    again = run_json(repo, "resume", ran.session, "--json")
    assert (ended(again), landed(repo, ran.session)) == ((0, "verified"), {"answer.txt": "right"})


def test_a_red_contract_is_never_evaluated(repo: Path) -> None:
    ran = build(repo, crew(PLAN, builds("left"), [PASS] * 3), "--max-iterations", "1")
    assert (ended(ran), ran.of("evaluation_started"), "evaluator" in roles(ran)) == ((1, "red"), [], False)


def test_work_that_is_red_after_a_revision_does_not_count_as_green(repo: Path) -> None:
    ran = build(repo, crew(PLAN, [*builds(), *builds("left")], [FAIL, PASS]), "--max-iterations", "2")
    assert (ran.code, ran.of("landed"), git(repo, "branch", "--list", "donewhen/*")) == (1, [], "")


def test_a_probe_that_the_policy_denies_does_not_run(repo: Path) -> None:
    configure('[policy]\ndeny = ["psql"]\n')
    rude = evaluation(
        "fail", finding("broken", "psql -c 'drop table x'; false"), finding("rude", "grep -q kind note.txt")
    )
    ran = build(repo, crew(PLAN, [*builds(), *KINDLY], [rude, PASS]))
    assert (ended(ran), statuses_of(ran, "probe-1")) == ((0, "verified"), ["pass"])
    assert {one["name"] for one in ran.of("check_completed")} == {"done", "probe-of-1.1", "probe-1"}


# -- inconclusive evaluations --

NONSENSE = [say("looks fine to me"), say('{"verdict": "pass"}'), evaluation(score=6)]


def test_an_unusable_evaluation_is_requested_twice_more(repo: Path) -> None:
    ran = build(repo, crew(PLAN, evaluator=[*NONSENSE[:2], PASS]))
    assert (ended(ran), statuses(ran), roles(ran)["evaluator"]) == ((0, "verified"), ["passed"], 3)
    assert "Your evaluation cannot be used" in prompts_of(ran.session, "planned/evaluator#1")


@pytest.mark.parametrize(
    "opinions", [NONSENSE, [{"error": "boom"}] * 3, [say("")] * 3], ids=["shape", "error", "empty"]
)
@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_an_inconclusive_evaluation_is_decided_by_a_person(repo: Path, opinions: list[Step], verb: str) -> None:
    ran = build(repo, crew(PLAN, evaluator=opinions))
    assert (ran.code, statuses(ran), ran.one("gate_opened")["gate"]) == (3, ["inconclusive"], "evaluation")
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    decided = run_json(repo, verb, ran.session, "--json")
    assert ended(decided) == ((0, "verified") if verb == "approve" else (1, "rejected"))
    assert bool(git(repo, "branch", "--list", "donewhen/*")) == (verb == "approve")
    assert decided.of("model_turn") == []


def test_a_limit_reached_while_evaluating_leaves_the_decision_to_a_person(repo: Path) -> None:
    greedy = {**shell("true"), "usage": {"input": 500, "output": 1}}
    ran = build(repo, crew(PLAN, evaluator=[greedy, PASS]), "--max-tokens", "400")
    assert (ran.code, statuses(ran)) == (3, ["inconclusive"])
    assert "tokens" in ran.one("evaluation_completed")["summary"]
    assert run_json(repo, "approve", ran.session, "--json").last["outcome"] == "verified"
    resumed = run_json(repo, "resume", ran.session, "--json")
    assert (resumed.code, resumed.events) == (0, [])  # accepted work is not landed a second time


@pytest.mark.parametrize(("role", "code", "told_then"), [("planner", 1, "no_progress"), ("evaluator", 3, "")])
def test_a_silent_model_times_out(repo: Path, role: str, code: int, told_then: str) -> None:
    configure("[limits]\nsilence_secs = 2\n")
    steps = crew(PLAN)
    ran = build(repo, {**steps, role: [{**steps[role][0], "delay": 600}]})
    assert (ran.code, ran.last.get("outcome", "")) == (code, told_then)
    assert "no activity for 2 s" in ran.err + str(ran.of("evaluation_completed"))


# -- requests to models --


def test_planner_and_evaluator_have_their_own_temperatures(repo: Path) -> None:
    answers = [plan_text(items=[item("leave it", STEADY)]), "nothing to do", PASS["text"]]
    with serving(*(Says(Answer(text=text)) for text in answers)) as server:
        env = {"OPENAI_API_KEY": "x", "DONEWHEN__MODEL__BASE_URL": f"{server.url}/v1"}
        words = ("run", INTENT, "--engine", "planned", "--model", "openai-chat:m", "--json")
        ran = run_json(repo, *words, "--allow-green", "--check", f"done={STEADY}", env=env)
    asked: list[dict[str, Any]] = [json.loads(one.body) for one in server.received]
    assert ended(ran) == (0, "verified")
    assert [one.get("temperature") for one in asked] == [0.2, 0, 0.1]
    tools = [{tool["function"]["name"] for tool in one["tools"]} for one in asked]
    assert ["update_tracker" in one for one in tools] == [False, True, False]
    assert ["write_file" in one for one in tools] == [False, True, False]
    assert ["shell" in one for one in tools] == [False, True, True]
