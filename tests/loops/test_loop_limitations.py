"""Each limitation of the loop engine that this one replaces, and the tests that show it gone.

The table names a test in this file or in another one. That every named test exists is a test, too.
"""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from loop_scene import DONE, FILES, FIX, LOOK, LoopScene, loop, opinion

from repositories import git, repository, write

HERE = "test_loop_limitations"
GONE: Mapping[int, tuple[str, Sequence[str]]] = {
    1: (
        "the normal end of the checker is the proof",
        [
            "test_loop_checker::test_work_that_the_checker_does_not_confirm_waits_for_a_person",
            "test_loop_checker::test_a_program_that_did_not_read_the_answer_would_verify_broken_work",
        ],
    ),
    2: (
        "the checker is the same model, in the same writable files, and sees only what the maker says",
        [
            "test_loop_checker::test_another_model_checks_the_work_where_one_is_named",
            "test_loop_checker::test_what_a_checker_writes_while_it_probes_is_gone",
            "test_loop_checker::test_the_checker_sees_change_results_and_inputs_as_fenced_data",
        ],
    ),
    3: ("escalated work is destroyed", [f"{HERE}::test_escalated_work_is_there_for_every_later_process"]),
    4: ("only the action can save the work", [f"{HERE}::test_work_is_kept_although_no_action_exported_it"]),
    5: ("all rounds use one branch name", [f"{HERE}::test_each_round_has_a_branch_of_its_own"]),
    6: ("without settings the live files are edited", [f"{HERE}::test_without_settings_no_round_touches_the_checkout"]),
    7: (
        "nothing brings a refutation back to the maker",
        [
            "test_loop_checker::test_a_refutation_goes_back_to_the_maker_once_with_its_evidence",
            "test_loop_checker::test_a_second_refutation_waits_for_a_person",
        ],
    ),
    8: (
        "a budget is checked between agents only, without failed calls, money, time or days",
        [
            "test_loop_budget::test_a_round_goes_beyond_a_limit_by_at_most_one_model_call",
            "test_loop_budget::test_calls_that_fail_count_with_what_they_used",
            "test_loop_budget::test_a_loop_ends_at_its_limit_of_money",
            "test_loop_budget::test_turns_and_minutes_end_the_maker",
            "test_loop_budget::test_a_spent_budget_is_delivered_pauses_the_loop_and_waits_in_the_inbox",
        ],
    ),
    9: (
        "no level acts as delivered",
        ["test_loop_levels::test_verified_work_of_an_allowed_kind_proceeds_once_and_quietly"],
    ),
    10: ("a person cannot answer an escalation", [f"{HERE}::test_a_person_answers_an_escalation_with_approve_or_deny"]),
    11: (
        "the same finding is reported each time, without a wait or a pause after failures",
        [
            f"{HERE}::test_a_finding_that_waits_is_not_worked_on_again",
            "test_loop_store::test_failures_wait_longer_each_time_and_the_fifth_pauses_the_loop",
        ],
    ),
    12: (
        "earlier rounds are recalled by words and grow without limit",
        [
            "test_loop_levels::test_the_maker_is_told_how_the_last_five_rounds_ended_the_newest_first",
            "test_loop_store::test_old_rows_are_removed_but_their_usage_still_counts",
        ],
    ),
    13: (
        "the scheduler runs one loop at a time, in memory, by the clock alone",
        [
            "test_scheduler::test_loops_run_side_by_side_up_to_the_places_and_the_longest_due_goes_first",
            "test_scheduler::test_a_new_loop_is_due_after_now_and_a_restart_makes_nothing_due",
            "test_scheduler::test_occurrences_during_downtime_are_one_round_and_their_rows_say_so",
            "test_scheduler::test_an_occurrence_with_jitter_starts_later_and_once",
            "test_schedule::test_every_form_of_a_schedule_says_when_it_is_due_and_in_words",
            "test_loop_triggers::test_a_red_baseline_of_the_present_commit_is_an_occurrence_once",
        ],
    ),
    14: (
        "a report may use tools with a network",
        [
            "test_loop_levels::test_at_level_report_no_agent_gets_a_tool_that_writes_and_no_contract_is_needed",
            "test_loop_levels::test_an_agent_of_another_vendor_can_write_nowhere_at_level_report",
        ],
    ),
    15: (
        "loops are connected to nothing, and no command runs one",
        [
            "test_loop_checker::test_the_checker_sees_change_results_and_inputs_as_fenced_data",
            "test_forge_actions::test_a_loop_comments_after_approval_and_mentions_no_one",
            "test_loop_catalogue::test_each_ready_made_loop_runs_as_it_was_added",
            "test_loop_levels::test_verified_work_of_an_allowed_kind_proceeds_once_and_quietly",
        ],
    ),
    16: (
        "the walls around commands and around file tools are different ones",
        [f"{HERE}::test_file_tools_and_commands_of_a_maker_have_the_same_walls"],
    ),
    17: ("work that proceeded is shown to nobody", [f"{HERE}::test_work_that_proceeded_is_in_the_history"]),
    18: (
        "to verify the work is left to the user",
        [
            "test_loop_checker::test_the_checker_is_not_asked_about_red_work",
            "test_loop_checker::test_work_that_the_checker_does_not_confirm_waits_for_a_person",
        ],
    ),
}


def test_every_limitation_names_tests_that_exist() -> None:
    assert list(GONE) == list(range(1, 19))
    named = {test for _, tests in GONE.values() for test in tests}
    known: set[str] = set()
    for module in {test.partition("::")[0] for test in named}:
        parsed = ast.parse(Path(__file__).with_name(f"{module}.py").read_text())
        known |= {f"{module}::{one.name}" for one in parsed.body if isinstance(one, ast.FunctionDef)}
    assert named <= known, named - known


@dataclass(frozen=True)
class Rounds:
    """Rounds of three loops in one repository with an uncommitted edit, and what a person decided."""

    scene: LoopScene
    outside: Path
    status: str
    """What git says about the checkout before the first round."""
    finished: Mapping[str, Mapping[str, Any]]
    sessions: Mapping[str, str]
    events: Mapping[str, Sequence[Mapping[str, Any]]]
    branches: Sequence[str]
    """Before a person decided; so are the diffs and what waits."""
    diffs: Mapping[str, str]
    waiting: Sequence[str]
    decided: tuple[int, int]
    """The exit codes of `deny` about the first round and of `approve` about the second."""


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    place = tmp_path_factory.mktemp("loops")
    places = {"HOME": "home", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"}
    env = {name: str(place / directory) for name, directory in places.items()}
    outside = place / "outside"
    for directory in (outside, *map(Path, env.values())):
        directory.mkdir()
    root = repository(place / "repo", FILES)
    (root / "link").symlink_to(outside)
    scene = LoopScene(root, env)
    scene.script()
    scene.state(loop("one"), loop("two"), loop("quiet", level="unattended", action="none", allow=["none"]))
    write(root, {"notes.txt": "not committed\n"})
    status = git(root, "status", "--porcelain")
    finished: dict[str, Mapping[str, Any]] = {}
    events: dict[str, Sequence[Mapping[str, Any]]] = {}
    for round in ("one", "two", "quiet", "one again"):
        scene.script([*tries_to_leave(outside), FIX, DONE] if round == "one" else (FIX, DONE), [LOOK, opinion()])
        _, finished[round], events[round] = scene.run(round.partition(" ")[0])
    sessions = {round: str(one["session"]) for round, one in finished.items()}
    diffs = {round: scene("diff", session).out for round, session in sessions.items()}
    branches, waiting = scene.branches(), inbox(scene)
    decided = scene("deny", sessions["one"]).code, scene("approve", sessions["two"]).code
    return Rounds(scene, outside, status, finished, sessions, events, branches, diffs, waiting, decided)


def inbox(scene: LoopScene) -> list[str]:
    """Return the sessions that wait for a person."""
    return [json.loads(line)["session"] for line in scene("inbox", "--json").out.splitlines()]


def tries_to_leave(outside: Path) -> list[dict[str, Any]]:
    """Return calls that write outside of the tree: by a file tool and by a command, each directly and over a link."""
    files = [{"name": "write_file", "input": {"path": path, "content": "x"}} for path in ("../x", "link/x")]
    commands = [{"name": "shell", "input": {"command": f"echo x > {path}"}} for path in (f"{outside}/x", "link/x")]
    return [{"tool": call} for call in (*files, *commands)]


def test_escalated_work_is_there_for_every_later_process(rounds: Rounds) -> None:
    assert rounds.finished["one"]["outcome"] == "escalated"
    assert rounds.sessions["one"] in rounds.waiting and "+    return a + b" in rounds.diffs["one"]


def test_work_is_kept_although_no_action_exported_it(rounds: Rounds) -> None:
    finished = rounds.finished["quiet"]
    assert (finished["outcome"], finished["action"]["kind"]) == ("proceeded", "none")
    assert "+    return a + b" in rounds.diffs["quiet"]


def test_each_round_has_a_branch_of_its_own(rounds: Rounds) -> None:
    assert set(rounds.branches) == {"main", *(f"donewhen/{rounds.sessions[name]}" for name in ("one", "two"))}


def test_without_settings_no_round_touches_the_checkout(rounds: Rounds) -> None:
    root = rounds.scene.root
    assert git(root, "status", "--porcelain") == rounds.status == "?? notes.txt"
    assert (root / "calc.py").read_text() == FILES["calc.py"] and (root / "notes.txt").read_text() == "not committed\n"


def test_a_person_answers_an_escalation_with_approve_or_deny(rounds: Rounds) -> None:
    assert rounds.decided == (1, 0) and inbox(rounds.scene) == []
    assert rounds.scene.branches() == [f"donewhen/{rounds.sessions['two']}", "main"]


def test_a_finding_that_waits_is_not_worked_on_again(rounds: Rounds) -> None:
    again = rounds.finished["one again"]
    assert again["outcome"] == "skipped" and rounds.sessions["one"] in again["reason"]
    assert not [one for one in rounds.events["one again"] if one["type"] == "model_turn"]


def test_file_tools_and_commands_of_a_maker_have_the_same_walls(rounds: Rounds) -> None:
    results = [one for one in rounds.events["one"] if one["type"] == "tool_result"][:4]
    assert [(one["tool"], one["ok"]) for one in results[:2]] == [("write_file", False)] * 2
    assert all("exit code 0" not in one["preview"] for one in results[2:]), results
    assert not list(rounds.outside.iterdir()) and not (rounds.scene.root.parent / "x").exists()


def test_work_that_proceeded_is_in_the_history(rounds: Rounds) -> None:
    lines = rounds.scene("loop", "history", "quiet", "--json").out.splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["proceeded"]
    assert json.loads(lines[0])["session"] == rounds.sessions["quiet"]
