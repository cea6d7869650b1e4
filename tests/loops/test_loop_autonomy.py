"""Earned autonomy: promotion by a person after good works, demotion by a work that went wrong."""

import contextlib
import datetime
import json
import os
import subprocess
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from loop_scene import CALC, DONE, FIX, LOOK, LoopScene, loop, opinion
from scheduler_scene import stated

from donewhen.loops.autonomy import PROMOTED_AFTER, digest_of, evidence, in_force, may_be_promoted, proposal
from donewhen.loops.levels import demote_for
from donewhen.loops.loop_records import Claim, LoopState, LoopWork, WorkStatus
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.spec import ActionKind, LoopGateKind, LoopLevel
from donewhen.workspace.state_dir import state_root
from program import PROGRAM
from repositories import commit, git, write

BRANCHES: dict[str, Any] = {"level": "unattended", "allow": ["branch"], "action": "branch", "max_open": 0}
NOW = datetime.datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
ALONE: dict[str, Any] = {"level": "unattended", "allow": ["apply-patch"], "action": "apply-patch"}


def work(number: int, status: WorkStatus = WorkStatus.KEPT, is_verified: bool = True) -> LoopWork:
    return LoopWork(
        session=f"s{number}",
        action="branch",
        onto="main",
        made="c",
        is_verified=is_verified,
        status=status,
        at=NOW + timedelta(hours=number),
    )


def works(*newest_last: LoopWork) -> list[LoopWork]:
    return list(newest_last[::-1])


GOOD = [work(number) for number in range(1, PROMOTED_AFTER + 1)]
STATE = LoopState(repo="/repo", loop="sweeper")


# -- the rules --


def test_a_promotion_is_proposed_after_enough_verified_works_and_names_them() -> None:
    assisted = stated(level="assisted", action="branch")
    assert proposal(assisted, STATE, works(*GOOD[:-1])) == ""
    assert proposal(assisted, STATE, works(*GOOD)) == (
        "5 verified works in a row, none of them reverted or denied: s5, s4, s3, s2, s1"
    )


@pytest.mark.parametrize("status", [WorkStatus.DENIED, WorkStatus.REVERTED, WorkStatus.RED])
def test_a_work_that_went_wrong_ends_the_row(status: WorkStatus) -> None:
    found = evidence(works(*GOOD, work(6, status), work(7)), STATE)
    assert found.sessions == ("s7",) and "session s6" in found.fault and not found.is_enough


def test_open_removed_and_unverified_works_are_no_evidence_and_no_fault() -> None:
    others = [work(6, WorkStatus.OPEN), work(7, WorkStatus.GONE), work(8, is_verified=False)]
    found = evidence(works(*GOOD, *others), STATE)
    assert (len(found.sessions), found.fault, found.is_enough) == (PROMOTED_AFTER, "", True)


def test_works_before_the_last_change_of_the_level_are_no_evidence() -> None:
    since = LoopState(repo="/repo", loop="sweeper", level_since=NOW + timedelta(hours=2))
    assert evidence(works(*GOOD), since).sessions == ("s5", "s4", "s3")


def test_only_an_assisted_loop_that_changes_something_and_may_stop_asking_is_promoted() -> None:
    assert may_be_promoted(stated(level="assisted", action="comment"))
    refused: list[dict[str, Any]] = [
        {"level": "report"},
        {"level": "unattended", "action": "branch"},
        {"level": "assisted", "action": "report"},
        {"level": "assisted", "action": "none"},
        {"level": "assisted", "action": "branch", "gate": "ask"},
    ]
    for keys in refused:
        assert not may_be_promoted(stated(**keys)), keys
        assert proposal(stated(**keys), STATE, works(*GOOD)) == ""


def test_a_promotion_allows_the_action_of_the_loop_and_ends_when_its_table_is_changed() -> None:
    assisted = stated(level="assisted", action="branch")
    promoted = LoopState(repo="/repo", loop="sweeper", level="unattended", level_of=digest_of(assisted))
    spec = in_force(assisted, promoted).spec
    assert (spec.level, spec.allow, spec.gate.kind) == (
        *(LoopLevel.UNATTENDED, (ActionKind.BRANCH,)),
        LoopGateKind.ALLOW_LIST,
    )
    assert proposal(assisted, promoted, works(*GOOD)) == ""
    changed = stated(level="assisted", action="branch", maker="Do more.")
    assert in_force(changed, promoted) is changed


def test_a_demotion_outlives_changes_of_the_table() -> None:
    demoted = LoopState(repo="/repo", loop="sweeper", level="assisted")
    for maker in ("Do it.", "Do more."):
        alone = stated(level="unattended", action="branch", allow=["branch"], maker=maker)
        assert in_force(alone, demoted).spec.level is LoopLevel.ASSISTED


# -- the program --


def shown(scene: LoopScene, name: str = "fixer") -> dict[str, Any]:
    return json.loads(scene("loop", "show", name, "--json").out)


def broken_again(scene: LoopScene, number: int) -> None:
    """Commit another bug, so that the next round finds something new to repair."""
    write(scene.root, {f"part{number}.py": "wrong = True\n", "check.sh": CHECK})
    commit(scene.root, f"add part {number}")
    fix = {"tool": {"name": "edit_file", "input": {"path": f"part{number}.py", "old": "True", "new": "False"}}}
    scene.script([fix, DONE], [LOOK, opinion()])


CHECK = "! grep -l 'wrong = True' part*.py\n"


@pytest.mark.sample(0)
def test_after_good_works_a_person_promotes_the_loop_and_a_revert_demotes_it(tmp_path: Path) -> None:
    scene = LoopScene.made(
        tmp_path, loop(action="apply-patch"), files={"check.sh": CHECK, "part0.py": "wrong = False\n"}
    )
    early = scene("loop", "promote", "fixer")
    assert early.code == 2 and early.one_line.endswith(
        "loop 'fixer' has 0 of the 5 verified works in a row that a promotion needs"
    )
    for number in range(1, PROMOTED_AFTER + 1):
        broken_again(scene, number)
        assert scene.run()[1]["outcome"] == "escalated"
        assert scene("inbox", "--json").out.count('"kind": "promotion"') == 0
        assert scene("approve", scene.session()).code == 0
    (proposed,) = [json.loads(line) for line in scene("inbox", "--json").out.splitlines()]
    assert (proposed["kind"], proposed["loop"]) == ("promotion", "fixer")
    assert proposed["commands"] == ["donewhen loop promote fixer", "donewhen loop demote fixer"]
    assert shown(scene)["level"] == "assisted"

    promoted = scene("loop", "promote", "fixer")
    assert promoted.code == 0 and "5 verified works in a row" in promoted.out
    assert shown(scene)["level"] == "unattended" and scene("inbox", "--json").out == ""
    broken_again(scene, 6)
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["level"]) == (0, "proceeded", "unattended")

    git(scene.root, "revert", "--no-edit", "HEAD")
    _, finished, _ = scene.run()
    assert (finished["level"], shown(scene)["level"]) == ("assisted", "assisted")
    assert "was reverted" in shown(scene)["level_reason"]
    assert shown(scene)["evidence"]["sessions"] == []


def test_work_that_a_person_took_back_by_hand_is_a_revert(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**ALONE))
    assert scene.run()[1]["outcome"] == "proceeded"
    write(scene.root, {"calc.py": CALC})
    commit(scene.root, "as it was")
    scene.run()
    assert "was reverted" in shown(scene)["level_reason"]


def test_a_denial_demotes_a_loop_that_acts_alone_and_a_person_may_promote_it_again(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**ALONE))
    scene.script([FIX, DONE], [LOOK, opinion("unproven", "", "I could not run it")])
    assert scene.run()[1]["outcome"] == "escalated"
    session = scene.session()
    denied = scene("deny", session)
    line = f"loop fixer is assisted from now on: a person denied the work of session {session}"
    assert line in denied.out + denied.err
    state = shown(scene)
    assert (state["level"], state["stated_level"]) == ("assisted", "unattended")
    assert state["level_reason"] == f"a person denied the work of session {session}"
    assert scene("loop", "promote", "fixer").code == 0
    assert shown(scene)["level"] == "unattended"
    again = scene("loop", "promote", "fixer")
    assert again.code == 2 and "is unattended already" in again.one_line


def test_work_that_expires_demotes_nothing(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**ALONE, expires_days=0.000001))
    scene.script([FIX, DONE], [LOOK, opinion("unproven", "", "I could not run it")])
    scene.run()
    assert "it expired without a decision" in scene("resume", scene.session()).out
    assert shown(scene)["level"] == "unattended"


def test_work_that_turns_out_red_at_the_commit_where_it_came_in_demotes_the_loop(tmp_path: Path) -> None:
    """The check depends on something outside of the repository, which breaks after the work came in."""
    scene = LoopScene.made(
        tmp_path,
        loop(**ALONE),
        more='[workspace]\nenv = ["SERVICE"]\n',
        files={"check.sh": 'test "$SERVICE" = up && python3 -c "import calc; assert calc.add(2, 2) == 4"\n'},
    )
    scene.env["SERVICE"] = "up"
    assert scene.run()[1]["outcome"] == "proceeded"
    scene.env["SERVICE"] = "down"
    scene.script([{"text": "I cannot repair a service."}], [])
    scene.run()
    scene.env["SERVICE"] = "up"
    scene.run()
    state = shown(scene)
    assert state["level"] == "assisted" and "a check is red at the commit" in state["level_reason"]


def test_a_merged_branch_counts_also_if_it_was_squashed_and_a_branch_of_another_name_is_no_revert(
    tmp_path: Path,
) -> None:
    scene = LoopScene.made(tmp_path, loop(max_open=0))
    scene.run()
    session = scene.session()
    assert scene("approve", session).code == 0
    assert shown(scene)["evidence"]["sessions"] == []
    git(scene.root, "merge", "--quiet", "--squash", f"donewhen/{session}")
    commit(scene.root, "squashed")
    scene.run()
    assert shown(scene)["evidence"]["sessions"] == [session]
    git(scene.root, "checkout", "--quiet", "-b", "old", "HEAD~1")
    scene.run()
    assert shown(scene)["evidence"] == {"sessions": [session], "needed": PROMOTED_AFTER, "fault": ""}


def test_demote_lets_a_person_decide_and_starts_the_count_again(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop("alone", **ALONE), loop("watcher", level="report", action="report"))
    assert scene("loop", "demote", "alone").out == "loop alone: a person decides from now on\n"
    assert shown(scene, "alone")["level"] == "assisted"
    refused = scene("loop", "demote", "watcher")
    assert refused.code == 2 and "only reports already" in refused.one_line
    refused = scene("loop", "promote", "watcher")
    assert refused.code == 2 and "its level is report" in refused.one_line


# -- what must not let a loop act alone --


MORE_ALLOWED: dict[str, Any] = {"allow": ["apply-patch", "branch"]}
RULES = {"rules.toml": '[[rule]]\ndecide = "proceed"\n'}
BY_VERB = {
    "pause": "the loop is paused: a person paused it",
    "demote": "the loop was demoted while the round was running",
}
BY_FILE: dict[str, tuple[list[str], str]] = {
    "gone": ([], "the loop is not in its file any more"),
    "level": ([loop(**{**ALONE, "level": "assisted"})], "'level' of the loop was changed"),
    "action": ([loop(**{**ALONE, "action": "branch"})], "'action' of the loop was changed"),
    "gate": ([loop(**ALONE, gate="rules:rules.toml")], "'gate' of the loop was changed"),
    "allow": ([loop(**{**ALONE, **MORE_ALLOWED})], "'allow' of the loop was changed"),
    "never": ([loop(**ALONE, never=["calc.py"])], "'never' of the loop was changed"),
}


def interrupted(tmp_path: Path) -> LoopScene:
    """Return a scene with a round whose process was killed while the checker worked."""
    scene = LoopScene.made(tmp_path, loop(**ALONE), files=RULES)
    scene.script([FIX, DONE], [{**opinion(), "delay": 3600}])
    command = [PROGRAM, "loop", "run", "fixer", "--json"]
    with subprocess.Popen(command, cwd=scene.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as killed:
        assert killed.stdout is not None
        next(line for line in killed.stdout if b'"check_completed"' in line and b'"phase": "round"' in line)
        killed.kill()
    scene.script([FIX, DONE], [LOOK, opinion()])
    return scene


def resumed(scene: LoopScene) -> str:
    """Resume the newest round. Return why it waits; empty if it has acted alone."""
    before = git(scene.root, "rev-parse", "main")
    code = scene("resume", scene.session()).code
    has_acted = git(scene.root, "rev-parse", "main") != before
    assert (code, has_acted) in ((0, True), (3, False))
    return "" if has_acted else next(one["reason"] for one in scene.inbox() if one["session"])


@pytest.mark.sample(0)
@pytest.mark.parametrize("verb", BY_VERB)
def test_a_loop_that_a_person_stopped_during_a_round_waits_for_a_person(tmp_path: Path, verb: str) -> None:
    scene = interrupted(tmp_path)
    assert scene("loop", verb, "fixer").code == 0
    assert BY_VERB[verb] in resumed(scene)


@pytest.mark.sample(0)
@pytest.mark.parametrize("changed", BY_FILE)
def test_a_loop_that_may_do_something_else_now_waits_for_a_person(tmp_path: Path, changed: str) -> None:
    scene = interrupted(tmp_path)
    loops, reason = BY_FILE[changed]
    scene.state(*loops)
    assert reason in resumed(scene)


def test_a_loop_whose_file_nobody_has_trusted_waits_for_a_person(tmp_path: Path) -> None:
    scene = interrupted(tmp_path)
    stated = (scene.root / "donewhen.toml").read_text()
    write(scene.root, {"donewhen.toml": stated + "# mine\n"})
    assert "donewhen.toml was changed while the round was running, and is not trusted" in resumed(scene)


def test_a_loop_that_may_still_act_alone_goes_on_after_its_process_was_killed(tmp_path: Path) -> None:
    scene = interrupted(tmp_path)
    scene.state(loop(**ALONE, maker="Be quick."))  # other keys do not matter
    assert resumed(scene) == ""


@pytest.mark.parametrize("is_paused", [True, False])
def test_an_action_that_failed_is_tried_again_alone_only_while_the_loop_may(tmp_path: Path, is_paused: bool) -> None:
    scene = LoopScene.made(tmp_path, loop(**ALONE))
    write(scene.root, {"calc.py": "# mine\n"})
    assert scene.run()[1]["outcome"] == "failed"
    git(scene.root, "checkout", "--quiet", "calc.py")
    if is_paused:
        scene("loop", "pause", "fixer")
    reason = resumed(scene)
    assert ("is paused" in reason and "its result is unknown" in reason) if is_paused else reason == ""


def test_a_paused_loop_that_a_person_runs_never_acts_alone_and_cron_does_not_run_it(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**ALONE))
    scene("loop", "pause", "fixer")
    skipped = scene("loop", "run", "fixer", "--unless-paused")
    assert (skipped.code, skipped.out, skipped.err) == (0, "", "")
    assert scene("list", "--json").out == ""
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["level"]) == (3, "escalated", "assisted")
    scene("loop", "resume", "fixer")
    assert shown(scene)["level"] == "unattended"


def test_a_fault_ends_a_promotion_also_while_the_table_is_another_one(tmp_path: Path) -> None:
    with contextlib.closing(LoopStore(tmp_path)) as store:
        store.set_level("/repo", "sweeper", "unattended", "a person promoted it", NOW, "digest")
        line = demote_for(store, "/repo", "sweeper", LoopLevel.ASSISTED, work(1, WorkStatus.REVERTED))
        assert "is assisted from now on: the work of session s1 was reverted" in line
        assert store.state("/repo", "sweeper").level == "assisted"
        assert demote_for(store, "/repo", "sweeper", LoopLevel.UNATTENDED, work(2, WorkStatus.DENIED)) == ""


def test_work_that_came_in_with_other_commits_is_not_blamed_for_what_they_broke(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop("brancher", **BRANCHES))
    assert scene.run("brancher")[1]["outcome"] == "proceeded"
    session = scene.session()
    git(scene.root, "merge", "--quiet", "--no-ff", "-m", "merged", f"donewhen/{session}")
    write(scene.root, {"calc.py": "def add(a, b):\n    return 5\n"})
    commit(scene.root, "break it again")
    for _ in range(2):
        scene.script([{"text": "I do not know."}], [])
        scene.run("brancher")
    assert shown(scene, "brancher")["level"] == "unattended"


def test_the_revert_of_a_merge_is_a_revert(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop("brancher", **BRANCHES))
    scene.run("brancher")
    write(scene.root, {"other.txt": "1\n"})
    commit(scene.root, "something else")
    git(scene.root, "merge", "--quiet", "--no-ff", "-m", "merged", f"donewhen/{scene.session()}")
    scene.run("brancher")
    git(scene.root, "revert", "--no-edit", "-m", "1", "HEAD")
    write(scene.root, {"calc.py": "def add(a, b):\n    return a - b  # as it was\n"})
    commit(scene.root, "go on")
    scene.run("brancher")
    assert "was reverted" in shown(scene, "brancher")["level_reason"]


def test_an_approval_is_for_the_branch_of_the_round(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(action="apply-patch"))
    scene.run()
    git(scene.root, "checkout", "--quiet", "-b", "elsewhere")
    approved = scene("approve", scene.session())
    assert approved.code == 0, approved.err
    assert "a + b" in git(scene.root, "show", "main:calc.py")
    assert "a - b" in git(scene.root, "show", "elsewhere:calc.py")


def test_a_dry_run_ends_no_round_that_was_interrupted(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(**ALONE))
    with contextlib.closing(LoopStore(state_root(os.environ))) as store:
        claim = store.claim(str(scene.root), "fixer", "k", "0123abcd", "schedule", NOW, NOW)
        assert isinstance(claim, Claim)
        store.release(claim)
    refused = scene("loop", "run", "fixer", "--dry-run")
    assert refused.code == 2 and "an interrupted round must end first" in refused.one_line
