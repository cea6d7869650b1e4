"""Edits that verified work left out: named at the end, offered as an optional decision, landed as a second commit."""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen.events import GateOpened
from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.state import LEFT_OUT_ID
from donewhen.session.verbs import offline
from repositories import commit, git, try_git
from repositories import write as write_files
from runs.driver import NEVER
from runs.scenes import RIGHT, Run, Step, run, run_json, run_verb, say, scene, script, shell, write
from tiers import SPARSE

DRIVER = Path(__file__).with_name("amend_driver.py")

CONTRACT = """[contract]
protect = ["kept.txt", "other.txt", "gone.txt"]

[[check]]
name = "done"
command = "grep -qx right answer.txt && ! grep -qx never kept.txt"
"""
FILES = {"donewhen.toml": CONTRACT, "kept.txt": "one\n", "other.txt": "two\n", "gone.txt": "three\n"}
ADDS: list[Step] = [shell("printf 'two\\nthree\\n' >> kept.txt"), *RIGHT]
BREAKS: list[Step] = [shell("echo never >> kept.txt"), *RIGHT]
NOT_GRADED = "Not graded (restored from the base)"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo", FILES)


def log_of(repo: Path, session: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run_verb(repo, "log", session, "--json").out.splitlines()]


def known(repo: Path, session: str) -> dict[str, Any]:
    return json.loads(run_verb(repo, "show", session, "--json").out)


def own(ran: Run) -> str:
    return f"donewhen/{ran.session}"


def subjects(repo: Path, branch: str) -> list[str]:
    return git(repo, "log", "--format=%s", branch).splitlines()


# -- the end of a run --


@pytest.mark.promise("amendment.left-out")
def test_verified_work_lands_without_its_protected_edits_and_names_them_at_the_end(repo: Path) -> None:
    ran = run(repo, ADDS)
    assert (ran.code, ran.last["type"], ran.last["outcome"]) == (0, "session_finished", "verified")
    assert git(repo, "show", f"{own(ran)}:kept.txt") == "one"
    lines = ran.err.splitlines()
    assert f"  {NOT_GRADED}: kept.txt (2 lines added)" in lines
    gate = ran.one("gate_opened")
    assert (gate["gate"], gate["optional"], gate["amendment"]["edit_count"]) == ("amendment", True, 1)
    assert gate["amendment"]["edits"][0] == {
        "path": "kept.txt",
        "action": "modified",
        "added": 2,
        "removed": 0,
        "reason": "protected by 'kept.txt' in the contract",
    }
    assert lines[-3].startswith(f"optional until {gate['expires_at']}: ")
    assert lines[-2:] == [f"      donewhen approve {ran.session}", f"      donewhen deny {ran.session}"]
    days = datetime.datetime.fromisoformat(gate["expires_at"]) - datetime.datetime.fromisoformat(gate["at"])
    assert round(days / datetime.timedelta(days=1)) == 14
    assert known(repo, ran.session)["state"] == "finished"


def test_additions_are_shown_apart_from_changes_and_deletions(repo: Path) -> None:
    ran = run(repo, [shell("sed -i s/two/2/ other.txt; rm gone.txt; echo more >> kept.txt"), *RIGHT])
    lines = [line.strip() for line in ran.err.splitlines()]
    start = lines.index("additions:")
    assert lines[start : start + 5] == [
        "additions:",
        f"{NOT_GRADED}: kept.txt (1 line added)",
        "changes and deletions:",
        f"{NOT_GRADED}: gone.txt (the file is deleted, 1 line removed)",
        f"{NOT_GRADED}: other.txt (1 line added, 1 line removed)",
    ]
    detail = ran.one("gate_opened")["detail"]
    assert detail.index("additions:") < detail.index("changes and deletions:") < detail.index("diff --git")
    assert "answer.txt" not in detail


def test_work_without_protected_edits_offers_nothing(repo: Path) -> None:
    ran = run(repo, RIGHT)
    assert (ran.code, "gate_opened" in ran.types, "optional" in ran.err) == (0, False, False)
    assert known(repo, ran.session)["optional"] is None
    assert run_verb(repo, "approve", ran.session).code == 2


@pytest.mark.promise("amendment.words")
def test_the_engine_reads_at_once_which_edits_are_not_graded(repo: Path) -> None:
    steps = [shell("echo more >> kept.txt"), write("answer.txt", "left\n"), say("done"), *RIGHT]
    ran = run(repo, steps)
    assert (ran.code, ran.last["iterations"]) == (0, 2)
    with any_archive() as archive:
        told = [str(one.body["text"]) for one in archive.records(ran.session, kinds=("native.round",))]
    line = f"{NOT_GRADED}: kept.txt (modified): protected by 'kept.txt' in the contract"
    assert (line in told[0], line in told[-1].splitlines()) == (False, True)


# -- approve and deny --


@pytest.mark.promise("amendment.left-out-approved")
def test_approved_edits_land_as_a_second_commit_with_a_receipt_of_their_own(repo: Path) -> None:
    ran = run(repo, ADDS)
    first = git(repo, "rev-parse", own(ran))
    assert "(left-out edits: donewhen show" in run_verb(repo, "list").out
    approved = run_json(repo, "approve", ran.session, "--json")
    assert approved.code == 0
    assert [(one["phase"], one["status"]) for one in approved.of("check_completed")] == [("final", "pass")]
    landed = approved.last
    assert (landed["type"], landed["branch"], landed["amended"]) == ("landed", own(ran), True)
    second = git(repo, "rev-parse", own(ran))
    assert (second, git(repo, "rev-parse", f"{second}^")) == (landed["commit"], first)
    assert git(repo, "diff", "--stat", first, second).splitlines()[0].split()[0] == "kept.txt"
    assert git(repo, "log", "-1", "--format=%s", second) == "Amended: say right"
    receipt = json.loads(run_verb(repo, "receipt", ran.session, "--amended").out)
    assert (receipt["amended"], receipt["tree"]) == (True, git(repo, "rev-parse", f"{second}^{{tree}}"))
    assert f"Donewhen-Receipt: {receipt['digest']}" in git(repo, "log", "-1", "--format=%B", second)
    for each, amended in ((first, False), (second, True)):
        verified = run_verb(repo, "verify", each)
        assert (verified.code, "amended: a person approved" in verified.out) == (0, amended), verified.err
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.promise("command.diff.candidate")
def test_every_verb_knows_the_approved_edits(repo: Path) -> None:
    ran = run(repo, ADDS)
    assert "+three" not in run_verb(repo, "diff", ran.session).out
    assert "+three" in run_verb(repo, "diff", ran.session, "--candidate").out
    assert run_verb(repo, "approve", ran.session).code == 0
    assert "+three" in run_verb(repo, "diff", ran.session).out
    first = run_verb(repo, "receipt", ran.session)
    assert (json.loads(first.out)["amended"], "--amended" in first.one_line) == (False, True)
    shown = run_verb(repo, "show", ran.session).out
    assert f"approved; landed on {own(ran)} as {git(repo, 'rev-parse', own(ran))[:12]}" in shown
    optional = known(repo, ran.session)["optional"]
    assert (optional["status"], optional["decision"], optional["landed"]["amended"]) == ("landed", "approved", True)
    assert "left-out" not in run_verb(repo, "list").out
    resumed = run_verb(repo, "resume", ran.session)
    assert (resumed.code, "optional until" in resumed.out) == (0, False)
    assert [event["seq"] for event in log_of(repo, ran.session)] == [*range(1, len(log_of(repo, ran.session)) + 1)]
    assert run_verb(repo, "land", ran.session).code == 0
    assert subjects(repo, own(ran)) == ["Amended: say right", "say right", "the first commit"]


def test_edits_that_were_decided_cannot_be_decided_again(repo: Path) -> None:
    ran = run(repo, ADDS)
    assert run_verb(repo, "approve", ran.session).code == 0
    branch, log = git(repo, "rev-parse", own(ran)), log_of(repo, ran.session)
    for verb in ("approve", "deny"):
        again = run_verb(repo, verb, ran.session)
        assert (again.code, "decided already: approved; landed on" in again.one_line) == (2, True)
    assert (git(repo, "rev-parse", own(ran)), log_of(repo, ran.session)) == (branch, log)


@pytest.mark.promise("amendment.left-out-red")
def test_approved_edits_that_are_not_green_change_nothing(repo: Path) -> None:
    ran = run(repo, BREAKS)
    first = git(repo, "rev-parse", own(ran))
    approved = run_verb(repo, "approve", ran.session)
    assert approved.code == 1
    assert "not green with these edits: 0 of 1 checks passed; done is fail" in approved.one_line
    assert git(repo, "rev-parse", own(ran)) == first
    about = known(repo, ran.session)
    assert (about["outcome"], about["optional"]["status"], about["amended"]) == ("verified", "red", False)
    again = run_verb(repo, "approve", ran.session)
    assert (again.code, "decided already: approved, but not green" in again.one_line) == (2, True)


@pytest.mark.promise("amendment.left-out-denied")
def test_denied_edits_stay_left_out_and_the_session_stays_verified(repo: Path) -> None:
    ran = run(repo, ADDS)
    denied = run_verb(repo, "deny", ran.session)
    assert (denied.code, denied.out) == (0, "the edits stay left out\n")
    assert log_of(repo, ran.session)[-1]["decision"] == "denied"
    about = known(repo, ran.session)
    assert (about["outcome"], about["optional"]["status"]) == ("verified", "denied")
    again = run_verb(repo, "approve", ran.session)
    assert (again.code, "decided already: denied" in again.one_line) == (2, True)
    assert "left-out" not in run_verb(repo, "list").out


@pytest.mark.promise("amendment.left-out-expires")
def test_edits_cannot_be_approved_after_the_decision_has_expired(repo: Path) -> None:
    ran = run(repo, ADDS)
    late = GateOpened(gate="amendment", id=LEFT_OUT_ID, optional=True, expires_at="2020-01-02T03:04:05Z")
    with any_archive() as archive, offline.own(archive, ran.session) as log:
        log.write(late)
    for verb in ("approve", "deny"):
        refused = run_verb(repo, verb, ran.session)
        assert (refused.code, "expired at 2020-01-02T03:04:05Z" in refused.one_line) == (2, True)
    assert known(repo, ran.session)["optional"]["status"] == "expired"
    assert "left-out" not in run_verb(repo, "list").out
    assert "optional until" not in run_verb(repo, "resume", ran.session).out


def test_without_an_id_approve_does_not_mean_an_optional_decision(repo: Path) -> None:
    run(repo, ADDS)
    refused = run_verb(repo, "approve")
    assert (refused.code, "that waits for a decision" in refused.one_line) == (2, True)


def test_a_discarded_session_has_no_edits_to_approve(repo: Path) -> None:
    ran = run(repo, ADDS)
    assert run_verb(repo, "approve", ran.session).code == 0
    assert run_verb(repo, "discard", ran.session).out.startswith("its trees and its branch are removed")
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    refused = run_verb(repo, "approve", ran.session)
    assert (refused.code, "it was discarded" in refused.one_line) == (2, True)


# -- where the second commit goes --


@pytest.mark.parametrize("change", ["moved", "removed"])
def test_a_branch_that_is_no_longer_at_our_commit_gets_no_second_commit(repo: Path, change: str) -> None:
    ran = run(repo, ADDS)
    if change == "moved":
        git(repo, "branch", "-f", own(ran), "main")
    else:
        git(repo, "branch", "-D", own(ran))
    before, log = git(repo, "for-each-ref"), log_of(repo, ran.session)
    refused = run_verb(repo, "approve", ran.session)
    assert (refused.code, "no longer at the landed commit" in refused.one_line) == (1, True)
    assert (git(repo, "for-each-ref"), log_of(repo, ran.session)) == (before, log)
    assert known(repo, ran.session)["optional"]["status"] == "open"


def test_the_second_commit_follows_the_first_onto_the_branch_where_it_was_landed(repo: Path) -> None:
    ran = run(repo, ADDS)
    assert run_verb(repo, "land", ran.session, "--onto", "main").code == 0
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (approved.code, approved.last["branch"]) == (0, "main")
    assert subjects(repo, "main") == ["Amended: say right", "say right", "the first commit"]
    assert (repo / "kept.txt").read_text() == "one\ntwo\nthree\n"
    assert git(repo, "status", "--porcelain") == ""
    assert subjects(repo, own(ran)) == ["say right", "the first commit"]


def test_a_branch_that_went_on_after_the_landing_leaves_the_second_commit_to_our_own(repo: Path) -> None:
    ran = run(repo, ADDS)
    assert run_verb(repo, "land", ran.session, "--onto", "main").code == 0
    write_files(repo, {"later.txt": "later\n"})
    commit(repo)
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (approved.code, approved.last["branch"]) == (0, own(ran))
    landed = run_verb(repo, "land", ran.session, "--onto", "main")
    assert landed.code == 0, landed.err
    assert git(repo, "show", "main:kept.txt") == "one\ntwo\nthree"
    assert git(repo, "show", "main:later.txt") == "later"
    assert run_verb(repo, "verify", "main").code == 0


def test_work_that_was_merged_with_a_branch_gets_its_edits_merged_and_judged_there(repo: Path) -> None:
    ran = run(repo, ADDS)
    write_files(repo, {"later.txt": "later\n"})
    commit(repo)
    assert run_verb(repo, "land", ran.session, "--onto", "main").code == 0
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (approved.code, approved.last["branch"]) == (0, "main")
    assert git(repo, "show", "main:later.txt") == "later"
    assert git(repo, "diff", "--name-only", "main^", "main") == "kept.txt"
    assert run_verb(repo, "verify", "main").code == 0


def test_a_session_that_lands_nothing_lands_both_commits_when_asked(repo: Path) -> None:
    ran = run(repo, ADDS, "--land", "none")
    approved = run_verb(repo, "approve", ran.session)
    assert (approved.code, "lands nothing by itself" in approved.out) == (0, True)
    assert git(repo, "branch", "--list", "donewhen/*") == ""
    assert known(repo, ran.session)["optional"]["status"] == "judged"
    assert run_verb(repo, "land", ran.session).code == 0
    assert subjects(repo, own(ran)) == ["Amended: say right", "say right", "the first commit"]
    assert git(repo, "show", f"{own(ran)}:kept.txt") == "one\ntwo\nthree"


def test_applied_work_gets_its_edits_in_a_checkout_that_still_has_it(repo: Path) -> None:
    ran = run(repo, ADDS, "--land", "apply")
    assert (repo / "kept.txt").read_text() == "one\n"
    assert run_verb(repo, "approve", ran.session).code == 0
    assert (repo / "kept.txt").read_text() == "one\ntwo\nthree\n"
    assert git(repo, "write-tree") == git(repo, "rev-parse", f"{own(ran)}^{{tree}}")
    assert try_git(repo, "diff", "--quiet").returncode == 0


def test_applied_work_that_was_edited_since_keeps_the_files_of_the_checkout(repo: Path) -> None:
    ran = run(repo, ADDS, "--land", "apply")
    (repo / "kept.txt").write_text("mine\n")
    approved = run_verb(repo, "approve", ran.session)
    assert (approved.code, "the files of the checkout were not changed" in approved.one_line) == (0, True)
    assert (repo / "kept.txt").read_text() == "mine\n"
    assert git(repo, "show", f"{own(ran)}:kept.txt") == "one\ntwo\nthree"


def test_work_of_uncommitted_changes_gets_its_edits_on_top_too(repo: Path) -> None:
    (repo / "mine.txt").write_text("mine\n")
    ran = run(repo, ADDS, "--dirty")
    assert ran.code == 0
    assert run_verb(repo, "approve", ran.session).code == 0
    assert subjects(repo, own(ran)) == ["Amended: say right", "say right", "the first commit"]
    assert git(repo, "show", f"{own(ran)}:mine.txt") == "mine"


# -- crashes --


def witness(repo: Path, session: str) -> dict[str, Any]:
    """Everything that must be the same however often an approval crashed."""
    events = log_of(repo, session)
    assert [event["seq"] for event in events] == [*range(1, len(events) + 1)]
    kinds, branch = [event["type"] for event in events], f"donewhen/{session}"
    commits = git(repo, "log", "--format=%H", branch).splitlines()
    return {
        "last": (events[-1]["type"], events[-1]["branch"] == branch, events[-1]["commit"] == commits[0]),
        **{kind: kinds.count(kind) for kind in ("gate_opened", "gate_decided", "landed", "session_finished")},
        "trees": git(repo, "log", "--format=%T", branch),
        "amended": [subject.startswith("Amended: ") for subject in subjects(repo, branch)],
        "status": known(repo, session)["optional"]["status"],
    }


def test_an_approval_killed_at_any_write_is_finished_by_the_next_one(
    tmp_path: Path, show_table: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = scene(tmp_path / "repo", FILES)
    monkeypatch.chdir(repo)
    session = run(repo, ADDS).session
    assert run_verb(repo, "approve", session).code == 0
    expected = witness(repo, session)
    assert (expected["amended"], expected["status"]) == ([True, False, False], "landed")
    env = {**os.environ, "PYTHONPATH": str(DRIVER.parents[1])}
    command = [sys.executable, DRIVER, repo, script(tmp_path / "again.json", ADDS), "1", str(SPARSE)]
    ran = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    *killed, undisturbed = map(json.loads, ran.stdout.splitlines())
    assert not undisturbed["killed"]
    assert len(killed) >= 10 // SPARSE
    for one in killed:
        at = (one["point"], one["moments"][-1:])
        *earlier, last = [one, *one["recovered"]]
        is_done = any("after  landed" in attempt["moments"] for attempt in earlier)
        assert last["code"] == (1 if is_done else 0), at  # 1: it was decided already
        assert witness(repo, one["session"]) == expected, at
    show_table(f"crash points of an approval: {len(killed)} killed and recovered")
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.sample(0)
def test_without_its_intent_an_approval_killed_after_landing_could_not_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the crash points: the repeated approval takes its own commit for another's."""
    repo = scene(tmp_path / "repo", FILES)
    monkeypatch.chdir(repo)
    env = {**os.environ, "PYTHONPATH": str(DRIVER.parents[1])}
    model = script(tmp_path / "again.json", ADDS)

    def dying(first: int) -> list[dict[str, Any]]:
        forgetful = DRIVER.with_name("forgetful_driver.py")
        command = [sys.executable, forgetful, repo, model, str(first), str(NEVER), "amendment"]
        ran = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in ran.stdout.splitlines()]

    (undisturbed,) = dying(NEVER)
    assert undisturbed["code"] == 0  # without a crash nothing is missing
    died, _ = dying(undisturbed["moments"].index("before  landed") + 1)
    assert (died["killed"], died["moments"][-1]) == (True, "before  landed")
    assert [again["code"] for again in died["recovered"]] != [0]
    assert known(repo, died["session"])["optional"]["status"] != "landed"
