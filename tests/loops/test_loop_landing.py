"""Verbs on the work of a loop round that has ended: only work that was accepted lands, and a decision counts once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loop_scene import CALC, DONE, FIX, LoopScene, loop, opinion

from program import PROGRAM
from repositories import git

FIXED = CALC.replace("a - b", "a + b").strip()
OTHER = {"tool": {"name": "write_file", "input": {"path": "more.py", "content": "x = 1\n"}}}
REFUTED = [opinion("refuted")] * 3
ENDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "red": ("deny", {"maker": [OTHER, DONE] * 9}, "rejected (a person denied it)"),
    "refuted": ("deny", {"maker": [FIX, DONE, DONE, DONE], "checker": REFUTED}, "rejected (a person denied it)"),
    "denied": ("deny", {}, "rejected (a person denied it)"),
    "expired": ("resume", {}, "rejected (it expired without a decision)"),
    "cancelled": ("cancel", {}, "cancelled (a person stopped it)"),
}
"""How the work ends: the verb, the script of the agents, and what `land` says."""


def refs(scene: LoopScene) -> str:
    return git(scene.root, "for-each-ref")


@pytest.mark.sample(0)
@pytest.mark.parametrize("onto", [(), ("--onto", "main")])
@pytest.mark.parametrize("how", ENDS)
def test_work_that_was_not_accepted_never_lands(tmp_path: Path, how: str, onto: tuple[str, ...]) -> None:
    verb, script, words = ENDS[how]
    keys: dict[str, Any] = {"expires_days": 0.000001} if how == "expired" else {}
    scene = LoopScene.made(tmp_path, loop(action="apply-patch", **keys))
    scene.script(**script)
    assert scene.run()[1]["outcome"] == "escalated"
    session = scene.session()
    scene(verb, session)
    before = refs(scene)
    refused = scene("land", session, *onto)
    assert (refused.code, refs(scene)) == (2, before), refused.out
    assert refused.one_line.endswith(f"session {session} is not verified: {words}")
    newest = scene("land", *onto)
    assert (newest.code, "there is no session of" in newest.one_line) == (2, True)


@pytest.mark.parametrize("onto", [(), ("--onto", "release")])
def test_work_that_was_approved_lands(tmp_path: Path, onto: tuple[str, ...]) -> None:
    scene = LoopScene.made(tmp_path, loop())
    git(scene.root, "branch", "release")
    scene.run()
    session = scene.session()
    assert scene("approve", session).code == 0
    assert scene("land", *onto).code == 0  # without a name, it is the newest session that is verified
    branch = onto[1] if onto else f"donewhen/{session}"
    assert git(scene.root, "show", f"{branch}:calc.py") == FIXED


def test_red_work_has_no_receipt_and_that_is_what_is_said(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop())
    scene.script([OTHER, DONE] * 9)
    assert scene.run()[1]["outcome"] == "escalated"
    session = scene.session()
    answer = scene("receipt", session)
    assert answer.code == 2 and answer.one_line.endswith(f"{session} has no receipt: its contract was not green")


# -- a decision that was recorded, and whose process was killed --


def recorded(scene: LoopScene, session: str, approved: bool) -> None:
    """Record a decision, and do not carry it out."""
    verb = f"anyio.run(session_approve, SILENT, {session!r})" if approved else f"session_deny({session!r})"
    code = (
        "import anyio; from donewhen.server.methods.call_context import SILENT; "
        f"from donewhen.server.methods.session_decisions import session_approve, session_deny; {verb}"
    )
    subprocess.run([sys.executable, "-c", code], cwd=scene.root, check=True)


@pytest.mark.parametrize("approved", [True, False])
def test_work_whose_decision_is_not_carried_out_yet_is_not_discarded(tmp_path: Path, approved: bool) -> None:
    scene = LoopScene.made(tmp_path, loop())
    scene.run()
    session, before = scene.session(), refs(scene)
    recorded(scene, session, approved)
    refused = scene("discard", session)
    word = "approved" if approved else "denied"
    assert (refused.code, refs(scene)) == (2, before)
    assert f"session {session} was {word}, which is not carried out yet; first: donewhen resume" in refused.one_line
    assert scene("resume", session).code == (0 if approved else 1)
    assert scene("discard", session).code == 0 and scene.branches() == ["main"]


@pytest.mark.parametrize(("denied", "reason"), [(True, "a person denied it"), (False, "it expired without a decision")])
def test_a_denial_that_is_carried_out_after_the_expiry_is_the_no_of_a_person(
    tmp_path: Path, denied: bool, reason: str
) -> None:
    scene = LoopScene.made(tmp_path, loop(expires_days=0.000001))
    scene.run()
    session = scene.session()
    if denied:
        recorded(scene, session, False)
    assert f"rejected: {reason}" in scene("resume", session).out
    (row,) = [json.loads(line) for line in scene("loop", "history", "--json").out.splitlines()]
    assert row["reason"] == reason


# -- an approval that is repeated --

PROTECTED = '[contract]\nprotect = ["tests/**"]\n'
EDIT = {"tool": {"name": "write_file", "input": {"path": "tests/t.py", "content": "T = 2\n"}}}


def commits(scene: LoopScene) -> list[str]:
    return git(scene.root, "log", "--format=%H").split()


@pytest.mark.sample(0)
@pytest.mark.parametrize("action", ["apply-patch", "branch"])
def test_a_repeated_approval_answers_what_was_decided_and_lands_no_protected_edit(tmp_path: Path, action: str) -> None:
    scene = LoopScene.made(tmp_path, loop(action=action), more=PROTECTED, files={"tests/t.py": "T = 1\n"})
    scene.script([FIX, EDIT, DONE])
    assert scene.run()[1]["outcome"] == "escalated"
    session = scene.session()
    assert scene("approve", session).code == 0
    before = refs(scene)
    for verb in ("approve", "deny"):
        again = scene(verb, session)
        assert (again.code, refs(scene), scene.inbox()) == (2, before, [])
        assert again.one_line.endswith(
            "nothing waits for a decision; the gate loop_action was approved already; it ended as verified; the edits "
            f"that were left out are in: donewhen diff {session} --candidate"
        )
    assert "+T = 2" in scene("diff", session, "--candidate").out
    assert "T = 2" not in git(scene.root, "grep", "T =", *scene.branches())


def test_an_approval_that_was_killed_at_its_end_and_is_repeated_has_one_effect(tmp_path: Path) -> None:
    scene = LoopScene.made(tmp_path, loop(action="apply-patch"), more=PROTECTED, files={"tests/t.py": "T = 1\n"})
    scene.script([FIX, EDIT, DONE])
    scene.run()
    session, before = scene.session(), commits(scene)
    command = [PROGRAM, "approve", session, "--json"]
    with subprocess.Popen(command, cwd=scene.root, stdout=-1, stderr=-3, env={**os.environ, **scene.env}) as killed:
        assert killed.stdout is not None
        next(line for line in killed.stdout if b'"session_finished"' in line)
        killed.kill()
    after = commits(scene)
    assert after[1:] == before
    assert scene("approve", session).code == 2 and commits(scene) == after
