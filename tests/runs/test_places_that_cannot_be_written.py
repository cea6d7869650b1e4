"""Files besides the log that cannot be written: the outcome stays the same and is reported in one line."""

import os
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM
from runs.scenes import RIGHT, WRONG, run, run_json, run_verb, scene, script


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def state() -> Path:
    return Path(os.environ["XDG_STATE_HOME"], "donewhen")


def test_a_hand_off_that_cannot_be_written_does_not_change_the_outcome(repo: Path) -> None:
    state().mkdir()
    (state() / "handoffs").write_text("in the way")
    ran = run(repo, WRONG, "--max-iterations", "1")
    assert (ran.code, ran.last["outcome"]) == (1, "red")
    assert run_verb(repo, "cancel", ran.session).code == 0


def test_a_receipt_that_cannot_be_written_fails_the_session_and_resume_continues(repo: Path) -> None:
    assert run(repo, WRONG, "--max-iterations", "1").code == 1
    (place,) = state().glob("repos/*")
    (place / "receipts").write_text("in the way")
    ran = run(repo, RIGHT)
    assert (ran.code, ran.last["outcome"]) == (4, "failed")
    assert "receipts" in ran.last["reason"]
    (place / "receipts").unlink()
    resumed = run_json(repo, "resume", ran.session, "--json")
    assert (resumed.code, resumed.last["outcome"]) == (0, "verified")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_run_with_unwritable_output_still_finishes(repo: Path, options: tuple[str, ...]) -> None:
    command = [PROGRAM, "run", "x", "--model", script(repo.parent / "s.json", RIGHT), *options]
    with open("/dev/full", "wb") as full:
        subprocess.run(command, cwd=repo, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120)
    (listed,) = run_verb(repo, "list").out.splitlines()
    assert "verified" in listed
