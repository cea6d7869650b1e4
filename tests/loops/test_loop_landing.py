"""Verbs on the work of a loop round that has ended: only work that was accepted lands, and a decision counts once."""

from pathlib import Path
from typing import Any

import pytest
from loop_scene import CALC, DONE, FIX, LoopScene, loop, opinion

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
