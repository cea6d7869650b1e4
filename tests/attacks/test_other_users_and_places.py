"""The tests pass for another user and in another place.

What keeps keys, the gateway, trust and hostile text in bounds is shown by tests that run as whoever runs the suite.
Where that is root, they run here once more as a user without any rights, in a copy of the checkout that everybody may
read, below a path with a space. Often that user has another Python: that of the system, because root's own lies in
root's home.

The sandbox hides /tmp and most of a home. So the tests that start the program, commands in the sandbox and tools of the
virtual environment also run in clones below /tmp and below the home. The whole fast tier in each place takes longer
than CI may: `make soak` runs it, and here are the files with each kind of test that depends on a place.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from attackers import Attacker, another_user, attacker, can_run

from clones import copy_checkout
from needs import leave_out, needs_root
from tiers import TIER

SECONDS = 1800
FAST_TIER = tuple(os.environ.get("DONEWHEN_FAST_TIER", "").split())
"""The directories of the fast tier in `make soak`; empty otherwise."""
IN_CI = {
    "settings and trust": ("session/test_settings.py", "session/test_toml.py", "session/test_widening.py"),
    "keys": ("model/test_keys_stay_home.py", "runs/test_keys_of_a_run.py", "session/test_model_server.py"),
    "the gateway": ("engines/external/test_gateway_endpoints.py", "engines/external/test_gateway_key.py"),
    "whole runs": (
        "cli/test_verify.py",
        "runs/test_hostile_text.py",
        "runs/test_refused_work.py",
        "runs/test_memory_sources.py",
        "runs/test_large_files.py",
    ),
    "landing": (
        "workspace/landing/test_apply.py",
        "workspace/landing/test_branches.py",
        "workspace/landing/test_delivery.py",
        "workspace/landing/test_shared_repository.py",
    ),
    "observed commands": ("workspace/test_observer.py",),
    "files and parsers": ("workspace/test_beneath.py", "workspace/test_no_hard_links.py", "fuzz/test_parsers.py"),
}
FILES = {"the fast tier": FAST_TIER} if FAST_TIER else IN_CI

DEPEND_ON_THE_PLACE = FAST_TIER or (
    "cli/test_check.py",
    "engines/external/test_acp.py",
    "engines/external/test_finding.py",
    "engines/native/test_native_landlock.py",
    "engines/native/test_native_tools.py",
    "session/test_regression_judge.py",
    "workspace/policy/test_policy_process.py",
    "workspace/test_sandbox_toolchains.py",
)


def run_tests(checkout: Path, files: Sequence[str], env: dict[str, str], *becoming: str) -> str:
    """Run these test files in another checkout; they must pass. Return what was printed."""
    python = f"{checkout}/.venv/bin/python"
    command = [*becoming, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/{file}" for file in files)]
    env = {"PATH": f"{checkout}/.venv/bin:{os.environ['PATH']}", **env}
    ran = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    return ran.stdout


@pytest.fixture(scope="module")
def user_with_checkout() -> Iterator[tuple[Attacker, Path]]:
    needs_root()
    with another_user() as account, attacker(account) as who, tempfile.TemporaryDirectory(dir="/srv") as place:
        if not can_run(who):
            leave_out("a python3 of 3.11 or later that every user may run")
        Path(place).chmod(0o755)
        yield who, copy_checkout(Path(place, "a clone"), who.python)


@pytest.mark.sample(0)
@pytest.mark.parametrize("about", FILES)
def test_these_tests_pass_for_an_ordinary_user(user_with_checkout: tuple[Attacker, Path], about: str) -> None:
    who, checkout = user_with_checkout
    env = {
        "HOME": str(who.home),
        "TMPDIR": str(who.world),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(who.home),
        "DONEWHEN_TESTS": TIER,
    }
    printed = run_tests(checkout, FILES[about], env, *who.becoming())
    left_out = [line for line in printed.splitlines() if line.startswith("SKIPPED")]
    # Other tools of the fast tier are in the home of root, or are installed by scripts/test-runners.
    missing = " is missing" if FAST_TIER else "not run: root is missing"
    assert [line for line in left_out if not line.endswith(missing)] == []


@pytest.mark.sample(0)
@pytest.mark.parametrize("place", ["/tmp", "the home"])
def test_these_tests_pass_in_a_clone_below(place: str, real_home: Path) -> None:
    above = real_home if place == "the home" else place
    env = {"HOME": str(real_home), "CI": os.environ.get("CI", ""), "DONEWHEN_TESTS": "sample"}
    with tempfile.TemporaryDirectory(dir=above) as directory:
        run_tests(copy_checkout(Path(directory, "clone"), sys.executable), DEPEND_ON_THE_PLACE, env)
