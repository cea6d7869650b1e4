"""The control of the crash points: without a part that recovery needs, a crash does harm."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from repositories import git
from runs.driver import NEVER
from runs.scenes import Step, say, scene, script, shell

DRIVER = Path(__file__).with_name("forgetful_driver.py")
DONE = "before native.result tool_result"
"""After a change, before its result is recorded."""
STEPS: list[Step] = [shell("echo once >> trace.txt; echo right > answer.txt"), say("done")]


def dying(repo: Path, first: int, left_out: str) -> list[dict[str, Any]]:
    """A run that crashes at one moment and resumes, then an undisturbed one."""
    model = script(repo.parent / "again.json", STEPS)
    env = {**os.environ, "PYTHONPATH": str(DRIVER.parents[1])}
    command = [sys.executable, DRIVER, repo, model, str(first), str(NEVER), left_out]
    ran = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


@pytest.mark.sample(0)
@pytest.mark.parametrize("left_out", ["undo", "intent"])
def test_without_recovery_unrecorded_work_would_be_done_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: str
) -> None:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    (undisturbed,) = dying(repo, NEVER, left_out)
    assert trace(repo, undisturbed) == "once"  # without a crash nothing is missing
    died, _ = dying(repo, undisturbed["moments"].index(DONE) + 1, left_out)
    assert (died["killed"], died["moments"][-1]) == (True, DONE)
    assert trace(repo, died) == "once\nonce"


def trace(repo: Path, ran: dict[str, Any]) -> str:
    return git(repo, "show", f"donewhen/{ran['session']}:trace.txt")
