"""A month of twenty loops with changes of the clock, downtime and killed processes: nothing runs twice or is lost, and
no branch is left over.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loops import loop_month
from loops.loop_month import LOOPS
from tiers import EVERYTHING, sampled

PROGRAM = Path(loop_month.__file__)
DAYS = 32 if EVERYTHING else 8
WITH_CLOCK_CHANGES = 8


def simulated(*words: object) -> tuple[str, list[str]]:
    """Return the summary and the faults that the program prints."""
    path = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(PROGRAM), *map(str, words)]
    ran = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    summary, *faults = ran.stdout.splitlines()
    return summary, faults


@pytest.mark.parametrize("seed", sampled([1, 2], 1))
def test_in_a_month_no_occurrence_runs_twice_and_none_is_lost(tmp_path: Path, seed: int) -> None:
    assert len(LOOPS) == 20
    summary, faults = simulated("month", tmp_path, DAYS, seed, "sound")
    assert faults == []
    lives, rounds, escalated = (int(part.split()[0]) for part in summary.split(","))
    assert lives > DAYS and rounds > 20 * DAYS and escalated > 3 * DAYS, summary


def test_a_round_survives_a_kill_at_each_of_its_steps_and_during_recovery(tmp_path: Path) -> None:
    summary, faults = simulated("steps", tmp_path, 1 if EVERYTHING else 5, "sound")
    assert faults == []
    assert int(summary.split()[0]) > 50, summary


def test_the_month_would_notice_an_occurrence_that_can_be_claimed_again(tmp_path: Path) -> None:
    _, faults = simulated("month", tmp_path, WITH_CLOCK_CHANGES, 1, "repeating")
    assert any(fault.startswith("double run: ") for fault in faults)


def test_the_month_would_notice_an_occurrence_without_a_row(tmp_path: Path) -> None:
    _, faults = simulated("month", tmp_path, 2, 1, "forgetful")
    assert any(fault.startswith("lost occurrence: ") for fault in faults)


@pytest.mark.parametrize(
    ("kind", "fault"), [("unresumed", "lost escalation: "), ("undenied", "orphaned branch: ")], ids=["lost", "orphaned"]
)
def test_the_steps_would_notice_an_escalation_that_a_kill_leaves_half_done(
    tmp_path: Path, kind: str, fault: str
) -> None:
    _, faults = simulated("steps", tmp_path, 2, kind)
    assert any(fault in one for one in faults), faults
