"""The inputs of loops that donewhen reads itself, and loops that have nothing to do."""

import re
from pathlib import Path
from typing import Any

import pytest
from catalogue_scene import catalogue_scene, scene_for
from loop_scene import CALC, DONE, FIX, opinion
from test_loop_catalogue import COMMENT, ENTRY, REPORT

from donewhen.errors import BadInput
from donewhen.events import CheckCompleted
from donewhen.loops.forge.marker import Marker
from donewhen.loops.spec import spec_of
from donewhen.session.log.open_archive import any_archive
from forge_server import BOT, ME, Answers, User
from needs import needs
from repositories import commit, git


def test_a_loop_that_comments_sees_only_what_it_may_answer(tmp_path: Path) -> None:
    with scene_for("issue-triage", "forge", tmp_path) as made:
        assert made.server is not None
        discussed, asked = made.server.issue("discussed by people"), made.server.issue("only a bot has answered")
        made.server.comment(discussed, "I have it, too", User("grace"))
        made.server.comment(asked, "Thank you for this issue.", User("welcome[bot]", "Bot"))
        made.add("issue-triage")
        made.add("daily-triage")
        made.scene.script(COMMENT, [opinion()])
        made.scene.run("issue-triage")
        issues = made.inputs()["issues"]
        assert f"#{asked} " in issues and f"#{discussed} " not in issues
        made.scene.script(REPORT, [opinion()])
        made.scene.run("daily-triage")
        assert f"#{discussed} " in made.inputs()["issues"]


def test_a_marker_of_others_hides_nothing_and_names_no_loop(tmp_path: Path) -> None:
    marker = str(Marker("issue-triage", "s", "f"))
    with scene_for("issue-triage", "forge", tmp_path) as made:
        assert made.server is not None
        quoted, answered = made.server.issue("quoted by its author"), made.server.issue("answered by us")
        made.server.comment(quoted, f"> done\n{marker}")
        made.server.comment(answered, f"done\n{marker}", ME)
        by_bot = made.server.issue("a bot has our words")
        made.server.comment(by_bot, f"done\n{marker}", BOT)
        made.add("issue-triage")
        made.scene.script(COMMENT, [opinion()])
        made.scene.run("issue-triage")
        issues = made.inputs()["issues"]
        assert f"#{quoted} " in issues and f"#{by_bot} " in issues
        assert f"#{answered} " not in issues, "the control: our own marker counts"


def test_a_request_of_others_is_not_shown_as_one_of_a_loop(tmp_path: Path) -> None:
    marker = str(Marker("ci-sweeper", "s", "f"))
    with scene_for("pr-babysitter", "forge", tmp_path) as made:
        assert made.server is not None
        foreign = made.server.pull("main", "evil change", marker, User("mallory"))
        own = made.server.pull("main", "own change", marker, ME)
        made.add("pr-babysitter")
        made.scene.script(COMMENT, [opinion()])
        made.scene.run("pr-babysitter")
        pulls = made.inputs()["pulls"]
        assert f"#{foreign} " in pulls and "opened by the loop" not in pulls and f"#{own} " not in pulls


def test_failing_to_read_a_forge_is_not_nothing_to_do(tmp_path: Path) -> None:
    with scene_for("ci-sweeper", "forge", tmp_path) as made:
        assert made.server is not None
        made.add("ci-sweeper")
        made.server.fail("checks/list-for-ref", Answers(403, "Resource not accessible by personal access token"))
        code, finished, _ = made.scene.run("ci-sweeper")
        assert (code, finished["outcome"]) == (4, "failed")
        assert "input 'ci': the token in FORGE_TOKEN has no right" in finished["reason"]
        made.server.fail("checks/list-for-ref", Answers(200, value={}, is_wrong=True))
        code, finished, _ = made.scene.run("ci-sweeper")
        assert (code, finished["reason"]) == (4, "input 'ci': the answer of the forge has an unexpected shape")
        made.server.world.check_runs.clear()
        code, finished, _ = made.scene.run("ci-sweeper")
        assert (code, finished["reason"]) == (0, "nothing to do: the inputs are empty")
        del made.scene.env["FORGE_TOKEN"]
        answer = made.scene("loop", "run", "ci-sweeper")
        assert answer.code == 2 and "failed-ci cannot be read: the variable FORGE_TOKEN is not set" in answer.one_line


@pytest.mark.sample(0)
def test_a_package_registry_that_does_not_answer_is_not_nothing_to_do(tmp_path: Path) -> None:
    needs("npm")
    package = '{"name": "widgets", "dependencies": {"left-pad": "1.0.0"}}\n'
    closed = "registry=http://127.0.0.1:9/\nfetch-retries=0\n"
    made = catalogue_scene(tmp_path, files={"package.json": package, ".npmrc": closed})
    made.add("dependency-sweeper")
    code, finished, _ = made.scene.run("dependency-sweeper")
    assert (code, finished["outcome"]) == (4, "failed")
    assert finished["reason"].startswith("input 'outdated-npm' exited with 2: npm ")


def test_a_round_that_found_nothing_to_do_is_not_paid_for_again(tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path, files={"calc.py": CALC.replace("a - b", "a + b")})
    made.add("ci-sweeper")
    made.scene.script([{"text": "Nothing fails."}], [])
    code, finished, events = made.scene.run("ci-sweeper")
    assert (code, finished["reason"]) == (0, "nothing to do")
    assert [one for one in events if one["type"] == "model_turn"]
    code, finished, events = made.scene.run("ci-sweeper")
    assert (code, finished["outcome"]) == (0, "skipped") and "nothing is new" in finished["reason"]
    assert not [one for one in events if one["type"] == "model_turn"]
    commit(made.scene.root, "another commit")
    assert made.scene.run("ci-sweeper")[1]["reason"] == "nothing to do"


def test_an_entry_with_another_change_beside_it_is_red(tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path)
    made.add("changelog-drafter")
    made.scene.script([ENTRY, FIX, *[DONE] * 10], [opinion()])
    code, finished, _ = made.scene.run("changelog-drafter")
    assert (code, finished["outcome"]) == (3, "escalated")
    assert "not verified: the contract is red: only-changelog is fail" in finished["reason"]


def completed(name: str, status: str) -> CheckCompleted:
    return CheckCompleted(
        name=name,
        phase="round",
        attempt=1,
        status=status,
        exit_code=1,
        signal=None,
        duration_ms=1,
        output_tail="test_add timed out",
        tests=None,
        evidence="exit",
        cached=False,
    )


def test_checks_that_were_flaky_in_earlier_sessions_are_evidence(tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path)
    made.add("flaky-test-hunter")
    made.scene.script(REPORT, [opinion()])
    made.scene.run("flaky-test-hunter")
    assert made.inputs()["evidence"] == ""
    with any_archive() as archive:
        lease = archive.create("e1", str(made.scene.root), "an earlier session")
        for name, status in (("works", "flaky"), ("lint", "fail"), ("works", "flaky")):
            lease.write(completed(name, status))
        lease.release()
    made.scene.run("flaky-test-hunter")
    evidence = made.inputs()["evidence"]
    assert "works: flaky 2 times" in evidence and "  test_add timed out" in evidence and "lint" not in evidence


def test_a_branch_whose_change_was_picked_counts_as_merged(tmp_path: Path) -> None:
    made = catalogue_scene(tmp_path)
    commit(made.scene.root, "main goes on")
    git(made.scene.root, "cherry-pick", "stuck")
    made.add("post-merge-cleanup")
    made.scene.script(REPORT, [opinion()])
    made.scene.run("post-merge-cleanup")
    assert "stuck: merged, 1 behind" in made.inputs()["branches"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"read": "everything"}, "'loop[0].inputs[0].read' must be one of open-issues"),
        ({"read": "branches", "command": "true"}, "'loop[0].inputs[0].command' is for commands"),
        ({"read": "branches", "env": ["X"]}, "'loop[0].inputs[0].env' is for commands"),
        ({"command": "true", "timeout_secs": 0}, "'loop[0].inputs[0].timeout_secs' must be more than 0"),
        ({}, "'loop[0].inputs[0].command' is missing or empty"),
    ],
)
def test_an_input_is_a_command_or_a_known_reading(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=re.escape(words)):
        spec_of({"name": "x", "intent": "y", "inputs": [{"name": "one", **given}]}, "loop[0].")
