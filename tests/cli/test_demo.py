"""`make demo` as a new user runs it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from needs import needs

DEMO = Path(__file__).parents[2] / "scripts" / "demo"


@pytest.mark.sample(0)
def test_the_demo_ends_verified_refuses_cheats_and_confines_a_command() -> None:
    needs("bwrap")
    shown = subprocess.run([DEMO], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, ""), shown
    run, judge, wall = shown.stdout.partition("add() is wrong")[0], *tables(shown.stdout)
    assert "Not graded (restored from the base): test_slug.py" in run
    assert "verified: every check passed" in run
    assert [line[52:].split()[:2] for line in judge] == [*([["yes", "no"]] * 4), ["yes", "yes"]]
    assert "held-out is fail" in judge[3]
    assert [line.split()[-2:] for line in wall] == [["yes", "yes"], *([["yes", "no"]] * 6)]


def tables(shown: str) -> tuple[list[str], list[str]]:
    lines = shown.splitlines()
    judge = next(number for number, line in enumerate(lines) if line.startswith("add() is wrong")) + 1
    wall = next(number for number, line in enumerate(lines) if line.startswith("A command that")) + 1
    return lines[judge : judge + 5], lines[wall : wall + 7]


def test_a_demo_whose_run_is_not_verified_fails(tmp_path: Path) -> None:
    program = tmp_path / ".venv" / "bin" / "donewhen"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 4\n")
    program.chmod(0o755)
    (tmp_path / "scripts").mkdir()
    copied = shutil.copy2(DEMO, tmp_path / "scripts")
    shown = subprocess.run([copied], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (1, "The run did not end as verified: see above.\n")
