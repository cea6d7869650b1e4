"""The cost of `donewhen check` itself: CPU time, which a busy machine does not change much, and loaded modules.

The commands of the checks are the person's own. These tests measure everything around them.
"""

import os
import subprocess
from pathlib import Path

import pytest

from needs import needs
from program import PROGRAM
from repositories import repository

MOST_SECS = 0.3
TRIES = 40
"""Another process on the same core makes every instruction slower for a while, so the lowest of several runs counts."""
TICKS = os.sysconf("SC_CLK_TCK")
CHECK = '[[check]]\nname = "c{number}"\ncommand = "test -f a.txt"\n'
ON_USE = (
    "donewhen.judge.protect",
    "donewhen.judge.run_check",
    "donewhen.judge.seal",
    "donewhen.readers",
    "donewhen.workspace.trees.capture",
    "donewhen.workspace.policy",
    "donewhen.workspace.sandbox.sandbox",
    "rich",
    "tomlkit",
)
"""Modules that a verdict from cached runs on an unchanged tree does not need."""


def scene(tmp_path: Path, checks: int = 1) -> Path:
    needs("bwrap")
    contract = "".join(CHECK.format(number=number) for number in range(checks))
    return repository(tmp_path / "repo", {"a.txt": "a\n", "donewhen.toml": contract})


def environment(**extra: str) -> dict[str, str]:
    """The modules of an installed program are already compiled."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}, **extra}


def spent_by(repo: Path, *options: str) -> tuple[float, float]:
    """Return the CPU seconds of one green `check`: of its own process, and with all processes that it started."""
    process = subprocess.Popen([PROGRAM, "check", *options], cwd=repo, env=environment(), stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    after_its_name = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return sum(map(int, after_its_name[11:13])) / TICKS, used.ru_utime + used.ru_stime


@pytest.mark.parametrize("checks", [1, 20])
def test_a_cached_check_costs_under_three_tenths_of_a_second_of_cpu(tmp_path: Path, checks: int) -> None:
    repo = scene(tmp_path, checks)
    spent_by(repo)
    assert any(spent_by(repo)[0] < MOST_SECS for _ in range(TRIES))


def test_our_own_part_of_a_check_run_costs_under_three_tenths_of_a_second_of_cpu(tmp_path: Path) -> None:
    repo = scene(tmp_path)
    spent_by(repo)
    assert any(spent_by(repo, "--fresh")[0] < MOST_SECS for _ in range(TRIES))


def test_a_verdict_from_cached_runs_does_not_load_protection_runners_or_tables(tmp_path: Path) -> None:
    repo = scene(tmp_path)
    spent_by(repo)
    told = subprocess.run(
        [PROGRAM, "check"], cwd=repo, env=environment(PYTHONPROFILEIMPORTTIME="1"), capture_output=True, check=True
    )
    loaded = [line.rpartition("|")[2].strip() for line in told.stderr.decode().splitlines()]
    assert "donewhen.judge.judge" in loaded
    assert not [name for name in loaded if name.startswith(ON_USE)]
