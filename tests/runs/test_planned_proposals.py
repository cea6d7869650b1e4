"""`donewhen plan` and drafted contracts: what is proposed, what is refused, and who approves it."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories import digest, git
from runs.agents import configure
from runs.planned_scenes import (
    DONE,
    DRAFT,
    INTENT,
    STEADY,
    Entry,
    Script,
    bare,
    build,
    cast,
    check,
    checks_of,
    crew,
    ended,
    item,
    landed,
    log,
    plan,
    planned,
    prompts_of,
    roles,
)
from runs.proposals_typed import at_terminal
from runs.scenes import RIGHT, Run, run, run_json, run_verb, say, scene

SOUND = planned(*DRAFT)
STRICT = check("strict", "grep -qx 'right.*' answer.txt", 1)
MAKEFILE = {"Makefile": f"test:\n\t{DONE}\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return bare(tmp_path / "repo")


def shown(repo: Path, ran: Run) -> dict[str, Any]:
    return json.loads(run_verb(repo, "show", ran.session, "--json").out)


def artifact(repo: Path, ran: Run, name: str) -> Path:
    return Path(shown(repo, ran)["artifacts"][name])


# -- proposals --


@pytest.mark.promise("command.plan")
@pytest.mark.promise("replies.plan")
def test_a_plan_is_shown_with_its_contract_and_baseline_and_nothing_is_built(repo: Path) -> None:
    before = digest(repo)
    items = [item("say right", DONE), item("be kind", outcome="it is kind")]
    ran = plan(repo, crew(planned(*DRAFT, items=items, not_verified=["that people like it"])))
    assert (ran.code, digest(repo), roles(ran), ran.of("iteration_started")) == (3, before, {"planner": 1}, [])
    proposed = ran.one("contract_proposed")
    assert checks_of(proposed) == {"done": DONE, "steady": STEADY}
    assert proposed["not_verified"] == ["it is kind", "that people like it"]
    assert [one["status"] for one in ran.one("baseline_completed")["results"]] == ["fail", "pass"]
    assert [one["description"] for one in ran.one("planning_completed")["items"]] == ["say right", "be kind"]
    gate = ran.one("gate_opened")
    assert gate["gate"] == "contract"
    for words in (
        "The answer is right.",
        f"- done: `{DONE}` (now: fail)",
        f"- steady: `{STEADY}` (now: pass)",
        "Not verified by this contract",
        "- that people like it",
        "- [ ] 2. be kind",
    ):
        assert words in gate["detail"]
        assert words in ran.err, "whoever reads only the end sees all that they decide about"
    assert "session_finished" not in ran.types
    seen = shown(repo, ran)
    assert (seen["state"], seen["gate"]["kind"]) == ("waiting", "contract")
    assert {"spec.md", "contract.md", "tracker.md", "contract.toml"} == set(seen["artifacts"])
    assert "(now: fail)" in artifact(repo, ran, "contract.md").read_text()
    assert "- [ ] 1. say right" in artifact(repo, ran, "tracker.md").read_text()


def test_an_approved_plan_is_built_by_its_contract_and_lands(repo: Path) -> None:
    ran = plan(repo, crew(SOUND))
    approved = run_json(repo, "approve", ran.session, "--json")
    assert ended(approved) == (0, "verified")
    assert roles(log(repo, ran.session)) == {"planner": 1, "maker": 2, "evaluator": 1}
    assert landed(repo, ran.session) == {"answer.txt": "right"}
    assert [one["name"] for one in approved.last["results"]] == ["done", "steady"]


@pytest.mark.parametrize("given", ["no contract", "a contract"])
def test_a_denied_proposal_ends_as_rejected_and_nothing_is_built(tmp_path: Path, given: str) -> None:
    repo = bare(tmp_path / "repo") if given == "no contract" else scene(tmp_path / "repo")
    ran = plan(repo, crew(SOUND))
    denied = run_json(repo, "deny", ran.session, "--json")
    assert (ended(denied), "a person denied" in denied.last["reason"]) == ((1, "rejected"), True)
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    again = run_verb(repo, "resume", ran.session)
    assert (again.code, roles(log(repo, ran.session))) == (1, {"planner": 1})


def test_a_run_waits_for_its_drafted_contract_unless_yes_is_given(repo: Path) -> None:
    waits = build(repo, crew(SOUND))
    assert (waits.code, waits.one("gate_opened")["gate"]) == (3, "contract")
    takes = build(repo, crew(SOUND), "--yes")
    assert (ended(takes), takes.of("gate_opened")) == ((0, "verified"), [])


def test_a_plan_does_not_change_the_person_s_own_contract(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    ran = plan(repo, crew(planned(check("weaker", "test -e answer.txt"))))
    assert (ran.code, ran.one("gate_opened")["gate"], ran.of("contract_proposed")) == (3, "plan", [])
    assert "contract.toml" not in shown(repo, ran)["artifacts"]
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (ended(approved), [one["name"] for one in approved.last["results"]]) == ((0, "verified"), ["done"])


# -- a person's decisions --


@pytest.mark.promise("command.answer.contract")
def test_a_change_request_revises_the_contract_and_runs_it_on_the_base_again(repo: Path) -> None:
    ran = plan(repo, crew([SOUND, planned(*DRAFT, STRICT)]))
    answered = run_json(repo, "answer", ran.session, "the word may not be followed by others", "--json")
    assert answered.code == 3
    proposed = answered.one("contract_proposed")
    assert (proposed["revised"], list(checks_of(proposed))) == (True, ["done", "steady", "strict"])
    assert [one["name"] for one in answered.one("baseline_completed")["results"]] == ["done", "steady", "strict"]
    said = prompts_of(ran.session, "planned/planner")
    assert "the word may not be followed by others" in said
    assert f"- done: `{DONE}` (now: fail)" in said
    assert run_json(repo, "approve", ran.session, "--json").code == 0
    whole = log(repo, ran.session)
    assert [event["decision"] for event in whole.of("gate_decided")] == ["changed", "approved"]
    assert [one["name"] for one in whole.last["results"]] == ["done", "steady", "strict"]


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_is_one_line_and_the_proposal_still_waits(repo: Path, text: str) -> None:
    ran = plan(repo, crew(SOUND))
    answer = run_verb(repo, "answer", ran.session, text)
    assert (answer.code, "the answer is empty" in answer.one_line) == (2, True)
    assert shown(repo, ran)["gate"]["kind"] == "contract"
    assert run_json(repo, "approve", ran.session, "--json").code == 0


@pytest.mark.parametrize(
    ("replies", "why"),
    [
        ([planned(*DRAFT, contract_markdown="the same in other words")], "the planner changed no checks"),
        ([say("I would rather not")] * 3, "JSON"),
        ([planned(check("done", "true"))] * 3, "proves nothing"),
        ([{"error": "boom"}] * 3, "boom"),
    ],
    ids=["prose only", "no plan", "weaker", "no answer"],
)
def test_a_contract_that_is_not_revised_is_proposed_again_with_the_reason_and_its_baseline(
    repo: Path, replies: list[Entry], why: str
) -> None:
    ran = plan(repo, crew([SOUND, *replies]))
    answered = run_json(repo, "answer", ran.session, "make it nicer please", "--json")
    proposed = answered.one("contract_proposed")
    assert (answered.code, proposed["revised"], why in proposed["reason"]) == (3, False, True), proposed
    assert checks_of(proposed) == {"done": DONE, "steady": STEADY}
    assert [one["status"] for one in answered.one("baseline_completed")["results"]] == ["fail", "pass"]
    assert answered.one("gate_opened")["detail"].startswith("Not revised: ")
    assert run_json(repo, "approve", ran.session, "--json").last["outcome"] == "verified"


def test_a_plan_for_a_given_contract_that_is_not_revised_proposes_no_contract(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    ran = plan(repo, crew([SOUND, *[say("I would rather not")] * 3]))
    answered = run_json(repo, "answer", ran.session, "make it nicer please", "--json")
    assert (answered.code, answered.of("contract_proposed")) == (3, [])
    gate = answered.one("gate_opened")
    assert (gate["gate"], gate["detail"].startswith("Not revised: ")) == ("plan", True)
    assert "contract.toml" not in shown(repo, ran)["artifacts"]
    assert run_json(repo, "approve", ran.session, "--json").last["outcome"] == "verified"


def test_a_contract_edited_in_its_file_is_accepted_as_edited(repo: Path) -> None:
    ran = plan(repo, crew(SOUND))
    file = artifact(repo, ran, "contract.toml")
    assert [one["name"] for one in tomllib.loads(file.read_text())["check"]] == ["done", "steady"]
    file.write_text(file.read_text() + '\n[[check]]\nname = "mine"\ncommand = "test -s answer.txt"\n')
    approved = run_json(repo, "approve", ran.session, "--json")
    assert ended(approved) == (0, "verified")
    assert [one["name"] for one in approved.last["results"]] == ["done", "steady", "mine"]
    assert "test -s answer.txt" in prompts_of(ran.session, "native")


def test_edits_in_the_file_are_kept_by_a_change_request(repo: Path) -> None:
    ran = plan(repo, crew([SOUND, planned(*DRAFT, STRICT)]))
    file = artifact(repo, ran, "contract.toml")
    file.write_text(file.read_text() + '\n[[check]]\nname = "mine"\ncommand = "test -s answer.txt"\n')
    answered = run_json(repo, "answer", ran.session, "the word may not be followed by others", "--json")
    assert answered.code == 3
    assert "test -s answer.txt" in prompts_of(ran.session, "planned/planner")
    first, edited, revised = log(repo, ran.session).of("contract_proposed")
    assert [list(checks_of(one))[-1] for one in (first, edited, revised)] == ["steady", "mine", "strict"]


def kinds_of(repo: Path, session: str) -> list[Any]:
    whole = log(repo, session)
    decided = [(one["decision"], one["answer"], one["edited"]) for one in whole.of("gate_decided")]
    return [decided, [(list(checks_of(one)), one["by_person"]) for one in whole.of("contract_proposed")]]


@pytest.mark.parametrize("words", ["as edited", "no other words please"])
def test_an_answer_with_any_text_survives_a_replay(repo: Path, words: str) -> None:
    ran = plan(repo, crew([SOUND, planned(*DRAFT, STRICT)]))
    run_json(repo, "answer", ran.session, words, "--json")
    assert run_json(repo, "approve", ran.session, "--json").code == 0
    replayed = run_json(repo, "replay", ran.session, "--json")
    assert replayed.code == 0
    assert kinds_of(repo, replayed.session) == kinds_of(repo, ran.session)
    assert kinds_of(repo, ran.session)[0] == [("changed", words, False), ("approved", "", False)]


def test_a_contract_edited_in_its_file_survives_a_replay(repo: Path) -> None:
    ran = plan(repo, crew(SOUND))
    file = artifact(repo, ran, "contract.toml")
    file.write_text(file.read_text() + '\n[[check]]\nname = "mine"\ncommand = "test -s answer.txt"\n')
    assert run_json(repo, "approve", ran.session, "--json").code == 0
    replayed = run_json(repo, "replay", ran.session, "--json")
    assert replayed.code == 0
    assert kinds_of(repo, replayed.session) == kinds_of(repo, ran.session)
    assert kinds_of(repo, ran.session)[1][-1] == (["done", "steady", "mine"], True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[check]]\nname = 'done'\n", "command"),
        ("[[check\n", "contract.toml"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = 0x" + "f" * 100_000, "too large"),
        ("", "at least one"),
        ("[[check]]\nname = 'a'\ncommand = 'x'\n" * 2, "a"),
    ],
)
def test_an_invalid_edited_contract_is_one_line_and_the_proposal_still_waits(repo: Path, text: str, why: str) -> None:
    ran = plan(repo, crew(SOUND))
    artifact(repo, ran, "contract.toml").write_text(text)
    answer = run_verb(repo, "approve", ran.session)
    assert (answer.code, why in answer.one_line) == (2, True), answer.err
    assert shown(repo, ran)["gate"]["kind"] == "contract"


def test_a_detected_contract_can_be_changed_by_a_change_request(tmp_path: Path) -> None:
    repo = bare(tmp_path / "repo", MAKEFILE)
    ran = run(repo, {"maker": RIGHT, "planner": [planned(*DRAFT)]})
    before = ran.one("contract_proposed")
    assert (ran.code, list(checks_of(before))) == (3, ["tests"])
    answered = run_json(repo, "answer", ran.session, "ask for the word itself", "--json")
    proposed = answered.one("contract_proposed")
    assert (answered.code, proposed["revised"], list(checks_of(proposed))) == (3, True, ["done", "steady"])
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (ended(approved), approved.of("evaluation_started")) == ((0, "verified"), [])
    assert [one["name"] for one in approved.last["results"]] == ["done", "steady"]


# -- refused drafts --


@pytest.mark.parametrize("verb", [["plan"], ["run", "--engine", "planned"]])
@pytest.mark.parametrize("intent", ["fix it", "make it better"])
def test_an_intent_without_detail_is_answered_with_what_is_missing(repo: Path, verb: list[str], intent: str) -> None:
    answer = run_verb(repo, *verb, intent, "--model", cast(repo, crew(SOUND)))
    assert (answer.code, "no observable change" in answer.one_line) == (2, True)
    assert run_verb(repo, "list").out == ""


WEAK: dict[str, Entry] = {
    "proves nothing": check("done", "echo right"),
    "prints a version": check("done", "git --version"),
    "hides the failure": check("done", f"{DONE} || true"),
    "cannot fail": check("done", f"{DONE} && echo yes || echo no"),
    "placeholder": check("short-name", DONE),
    "for a person to decide": check("done", DONE, allow_skips=True),
    "unknown key 'checks[0].": check("done", DONE, editable=["x"]),
}


@pytest.mark.parametrize("why", WEAK)
def test_a_weak_check_is_sent_back_with_the_reason(repo: Path, why: str) -> None:
    ran = plan(repo, crew([planned(WEAK[why], DRAFT[1]), SOUND]))
    assert (ran.code, roles(ran), list(checks_of(ran.one("contract_proposed")))) == (
        3,
        {"planner": 2},
        ["done", "steady"],
    )
    assert why in prompts_of(ran.session, "planned/planner")


def test_a_check_that_cannot_start_here_is_sent_back_before_a_person_sees_it(repo: Path) -> None:
    missing = check("tests", "no-such-runner --all")
    ran = plan(repo, crew([planned(DRAFT[0], missing), SOUND]))
    assert (ran.code, roles(ran), list(checks_of(ran.one("contract_proposed")))) == (
        3,
        {"planner": 2},
        ["done", "steady"],
    )
    assert "check 'tests' cannot start here: " in prompts_of(ran.session, "planned/planner")


def test_a_draft_with_a_check_that_cannot_start_is_proposed_without_it(repo: Path) -> None:
    ran = plan(repo, crew([planned(DRAFT[0], check("tests", "no-such-runner --all"))] * 3))
    assert (roles(ran), list(checks_of(ran.one("contract_proposed")))) == ({"planner": 3}, ["done"])
    assert [one["status"] for one in ran.one("baseline_completed")["results"]] == ["fail"]
    assert "check 'tests' cannot start here" in ran.one("gate_opened")["detail"]


@pytest.mark.parametrize("contract", ["drafted", "given"])
def test_a_planner_s_command_that_the_policy_denies_never_runs(tmp_path: Path, contract: str) -> None:
    configure('[policy]\ndeny = ["psql"]\n')
    drops = "psql -c 'drop table x'; grep -qx right answer.txt"
    repo = bare(tmp_path / "repo") if contract == "drafted" else scene(tmp_path / "repo")
    ran = plan(repo, crew([planned(DRAFT[0], check("db", drops), items=[item("say right", drops)])] * 3))
    assert (ran.code, roles(ran)) == (3, {"planner": 3})
    assert "denied by the policy, rule" in prompts_of(ran.session, "planned/planner")
    assert {one["name"] for one in ran.of("check_completed")} == {"done"}
    assert ran.one("planning_completed")["items"][0]["verify"] == []
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (ended(approved), "psql" in str(approved.of("check_started"))) == ((0, "verified"), False)
    assert {one["name"] for one in approved.of("check_completed")} == {"done"}


def test_a_draft_that_is_green_on_the_base_is_requested_once_more(repo: Path) -> None:
    ran = plan(repo, crew([planned(DRAFT[1]), SOUND]))
    assert (ran.code, roles(ran)) == (3, {"planner": 2})
    assert "every check passes already, before any work: steady" in prompts_of(ran.session, "planned/planner")
    assert list(checks_of(ran.one("contract_proposed"))) == ["done", "steady"]


def test_a_draft_that_stays_green_waits_and_names_every_check(repo: Path) -> None:
    ran = plan(repo, crew([planned(DRAFT[1])] * 2))
    assert (ended(ran), roles(ran), ran.of("gate_opened")) == ((6, "already_satisfied"), {"planner": 2}, [])
    assert "steady" in ran.last["reason"]


def test_an_unreadable_plan_is_replaced_by_one_item_and_the_detected_checks(tmp_path: Path) -> None:
    repo = bare(tmp_path / "repo", MAKEFILE)
    ran = plan(repo, crew([say("first I would look"), say(""), say('{"items": 3}')]))
    assert (ran.code, roles(ran)) == (3, {"planner": 3})
    (only,) = ran.one("planning_completed")["items"]
    assert (only["description"], only["verify"], only["is_detected"]) == (INTENT, ["make test"], True)
    assert checks_of(ran.one("contract_proposed")) == {"tests": "make test"}
    assert "the planner gave no better one: items must be" in ran.one("gate_opened")["detail"]
    assert "items must be" in ran.err
    said = prompts_of(ran.session, "planned/planner")
    assert "Your plan cannot be used as it is" in said
    assert run_json(repo, "approve", ran.session, "--json").last["outcome"] == "verified"


def test_without_a_plan_and_detected_checks_one_line_says_what_to_type(repo: Path) -> None:
    ran = plan(repo, crew([say("no")] * 3))
    assert (ended(ran), "--check NAME=COMMAND" in ran.last["reason"]) == ((4, "failed"), True)


def test_blank_parts_of_a_plan_are_filled_in_and_reported(tmp_path: Path) -> None:
    repo = bare(tmp_path / "repo", MAKEFILE)
    ran = plan(repo, crew(say(json.dumps({"items": [{"description": " ", "verify": []}], "checks": []}))))
    completed = ran.one("planning_completed")
    (only,) = completed["items"]
    assert (only["description"], only["verify"]) == (INTENT, ["make test"])
    assert "spec made from the intent" in completed["filled"]
    assert "the planner drafted no checks; using those found in the repository" in completed["filled"]
    assert INTENT in artifact(repo, ran, "spec.md").read_text()


def test_the_planner_reads_the_repository_and_changes_nothing(repo: Path) -> None:
    looks = [{"tools": [
        {"name": "read_file", "input": {"path": "answer.txt"}},
        {"name": "write_file", "input": {"path": "answer.txt", "content": "right\n"}},
        {"name": "shell", "input": {"command": "echo right > answer.txt"}},
    ]}]  # fmt: skip
    ran = plan(repo, crew([*looks, SOUND]))
    assert [event["ok"] for event in ran.of("tool_result")] == [True, False, False]
    assert [one["status"] for one in ran.one("baseline_completed")["results"]] == ["fail", "pass"]


def test_a_limit_reached_while_planning_is_reported_as_such(repo: Path) -> None:
    greedy = {**SOUND, "usage": {"input": 500, "output": 1}, "text": "not yet"}
    ran = plan(repo, crew([greedy, SOUND]), "--max-tokens", "100")
    assert (ended(ran), ran.of("contract_proposed")) == ((5, "budget"), [])


# -- at a terminal --


def run_at_terminal(repo: Path, steps: Script, *typed: str | Callable[[], str]) -> tuple[int, str]:
    return at_terminal(repo, ["run", INTENT, "--engine", "planned", "--model", cast(repo, steps)], *typed)


def test_at_a_terminal_a_proposal_is_changed_by_text_and_approved_by_yes(repo: Path) -> None:
    steps = crew([SOUND, planned(*DRAFT, STRICT)])
    code, seen = run_at_terminal(repo, steps, "maybe", "no other words please", "y")
    assert code == 0, seen
    for words in (
        "(now: fail)",
        "contract: [y]es, [n]o, [l]ater, or what to change?",
        "strict: ",
        "verified",
    ):
        assert words in seen
    (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
    whole = log(repo, session)
    assert [event["decision"] for event in whole.of("gate_decided")] == ["changed", "approved"]
    assert "no other words please" in prompts_of(session, "planned/planner")


def edits(text: str) -> Callable[[], str]:
    """A person who writes this into the file of the proposed contract before approving it."""

    def edit() -> str:
        (file,) = Path(os.environ["XDG_STATE_HOME"]).glob("donewhen/artifacts/*/contract.toml")
        file.write_text(file.read_text() + text)
        return "y"

    return edit


def test_edits_in_the_file_count_for_a_yes_at_the_terminal(repo: Path) -> None:
    mine = '\n[[check]]\nname = "mine"\ncommand = "test -s answer.txt"\n'
    code, seen = run_at_terminal(repo, crew(SOUND), edits(mine))
    assert code == 0, seen
    (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
    whole = log(repo, session)
    assert [one["name"] for one in whole.last["results"]] == ["done", "steady", "mine"]
    assert list(checks_of(whole.of("contract_proposed")[-1])) == ["done", "steady", "mine"]
    assert whole.of("contract_proposed")[-1]["reason"] == "edited by a person"


def test_an_invalid_edit_approved_at_the_terminal_waits_until_it_is_fixed(repo: Path) -> None:
    code, seen = run_at_terminal(repo, crew(SOUND), edits("[[check]]\nname = 'mine'\n"))
    assert (code, "the edited file is invalid" in seen) == (3, True), seen
    (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
    assert "maker" not in roles(log(repo, session))
    edits("command = 'test -s answer.txt'\n")()
    resumed = run_json(repo, "resume", session, "--json")
    assert (ended(resumed), len(resumed.last["results"])) == ((0, "verified"), 3)


def test_an_approval_from_another_terminal_takes_the_edited_file_or_says_what_is_wrong_with_it(repo: Path) -> None:
    answers: list[tuple[int, str]] = []

    def approve_elsewhere() -> str:
        (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
        for text in ("[[check]]\nname = 'mine'\n", "command = 'test -s answer.txt'\n"):
            edits(text)()
            approved = run_verb(repo, "approve", session)
            answers.append((approved.code, approved.err))
        return ""

    code, seen = run_at_terminal(repo, crew(SOUND), approve_elsewhere)
    assert (code, "contract: decided elsewhere" in seen) == (0, True), seen
    (refused, why), (taken, _) = answers
    assert (refused, "command" in why, taken) == (2, True, 0), answers
    (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
    whole = log(repo, session)
    assert [(one["decision"], one["edited"], one["by"]) for one in whole.of("gate_decided")] == [
        ("approved", True, "another terminal")
    ]
    assert [one["name"] for one in whole.last["results"]] == ["done", "steady", "mine"]


@pytest.mark.parametrize(("typed", "code", "outcome"), [("n", 1, "rejected"), ("l", 3, "")])
def test_at_a_terminal_a_proposal_can_be_denied_or_left_for_later(
    repo: Path, typed: str, code: int, outcome: str
) -> None:
    ended_with, seen = run_at_terminal(repo, crew(SOUND), typed)
    assert ended_with == code, seen
    (session,) = [line.split()[0] for line in run_verb(repo, "list").out.splitlines()]
    whole = log(repo, session)
    assert (whole.last.get("outcome", ""), roles(whole)) == (outcome, {"planner": 1})


def test_a_plan_without_a_model_is_one_clear_line(repo: Path) -> None:
    answer = run_verb(repo, "plan", INTENT, env={"PATH": "/usr/bin:/bin"})
    assert (answer.code, "a planner needs a model" in answer.one_line) == (2, True)
