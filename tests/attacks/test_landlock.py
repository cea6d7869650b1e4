"""The Landlock level: ordinary work succeeds as root and as an ordinary user, and older versions count as no
isolation."""

import errno
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attackers import run_as_every_user
from under_landlock import CHANGES, FAILURES, WORK

from donewhen.errors import MachineryBroke
from donewhen.session.workplace import enforce_isolation
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox import level
from donewhen.workspace.sandbox.level import LEAST_LANDLOCK, Level, SandboxProbe, try_landlock
from needs import leave_out, needs
from tiers import SPARSE

pytestmark = pytest.mark.anyio
NO_NAMESPACES = SandboxProbe(
    Level.NONE, "/usr/bin/bwrap", "0.9", "no user namespaces", False, "no user namespaces", 5, True
)


@pytest.fixture(scope="module")
def by_user() -> dict[str, dict[str, Any]]:
    needs("setpriv")
    found = {user: json.loads(output) for user, output in run_as_every_user("under_landlock.py", str(SPARSE)).items()}
    if any(one["abi"] < LEAST_LANDLOCK for one in found.values()):
        leave_out(f"landlock of version {LEAST_LANDLOCK}")
    return found


def test_a_command_governs_its_own_processes_and_files_behind_landlock(by_user: dict[str, dict[str, Any]]) -> None:
    for found in by_user.values():
        assert found["work"] == {name: WORK[name][2] for name in found["work"]}


def test_the_filter_and_not_the_file_system_refuses_versions_and_subvolumes() -> None:
    command = [sys.executable, "-c", f"{FAILURES}print(set(map(failure, {CHANGES})))"]
    answers = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert str(errno.EOPNOTSUPP) not in answers


def test_older_landlock_versions_cannot_stop_truncation_or_signals(
    by_user: dict[str, dict[str, Any]],
) -> None:
    for found in by_user.values():
        older: dict[str, dict[str, bool]] = found["older"]
        assert all(older["1"].values())
        assert all(older["2"].values())
        assert older["3"] == {"a tool emptied by its path": False, "a process group outside killed": True}
        assert all(older["5"].values())
        assert not any(older["6"].values())


@pytest.mark.parametrize("version", range(LEAST_LANDLOCK))
async def test_an_older_landlock_counts_as_no_isolation_and_the_reason_names_its_version(version: int) -> None:
    async with Launcher.open() as launcher:
        problem = await try_landlock(launcher, version)
    assert f"version {LEAST_LANDLOCK} is needed" in problem
    assert (f"version {version} " in problem) == (version > 0)


async def test_landlock_counts_as_isolation_if_a_test_command_cannot_reach_its_starter() -> None:
    async with Launcher.open() as launcher:
        if (await level.probe(launcher, Path("/var/tmp"))).landlock_abi < LEAST_LANDLOCK:
            leave_out(f"landlock of version {LEAST_LANDLOCK}")
        assert await try_landlock(launcher, LEAST_LANDLOCK) == ""
        assert "does not work" in await try_landlock(launcher, LEAST_LANDLOCK - 1, least=1)


@pytest.mark.promise("workspace.isolation.required")
def test_required_isolation_names_both_missing_levels_and_the_fix() -> None:
    probe = replace(NO_NAMESPACES, landlock_problem="Landlock is version 5 and version 6 is needed")
    with pytest.raises(MachineryBroke, match=r"no user namespaces; Landlock is version 5 .* fix: "):
        enforce_isolation(probe, "required")
    assert enforce_isolation(probe, "best").level is Level.NONE
