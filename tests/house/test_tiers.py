"""`make test` runs a sample of the long proofs. The sample contains every family of proofs, and nearly every file."""

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import tiers

ROOT = Path(__file__).parents[2]
OF_ITS_OWN = "real_agents"
"""`make test-agents` runs these."""
CHEATS = "tests/cheats/test_cheats.py"
ONLY_IN_TEST_ALL = {
    "tests/attacks/test_other_users_and_places.py",
    "tests/projects/test_planned_projects.py",
    "tests/runs/test_crash_control.py",
    "tests/runs/test_memory_crashes.py",
}
"""Files of one long test. Other files of the same families (attacks, real projects, crash sweeps) are in the sample."""


@cache
def collected(tier: str, place: str) -> Counter[str]:
    """How many tests of each file run in a tier."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", place]
    env = {**os.environ, "DONEWHEN_TESTS": tier, "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-3000:]
    return Counter(line.partition("::")[0] for line in ran.stdout.splitlines() if "::" in line)


def test_every_family_of_proofs_and_nearly_every_file_is_in_the_sample() -> None:
    tests = (ROOT / "tests").rglob("test_*.py")
    files = {str(path.relative_to(ROOT)) for path in tests if OF_ITS_OWN not in path.parts}
    assert files - collected("sample", "tests").keys() == ONLY_IN_TEST_ALL


def test_without_the_makefile_all_tests_run() -> None:
    assert collected("", CHEATS)[CHEATS] > 4 * collected("sample", CHEATS)[CHEATS]


def test_a_test_that_shows_a_promise_comes_first_in_the_sample(tmp_path: Path) -> None:
    names = [f"test_{number}" for number in range(tiers.EVERY_RUN - 1)]
    tests = "\n".join(f"def {name}() -> None: pass" for name in names)
    runs = tmp_path / "tests" / "runs"
    runs.mkdir(parents=True)
    (runs / "test_it.py").write_text(f"import pytest\n{tests}\n@pytest.mark.promise('a')\ndef test_promise(): pass\n")
    (tmp_path / "tests" / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-c", str(ROOT / "pyproject.toml")]
    env = {**os.environ, "DONEWHEN_TESTS": "sample", "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT / "tests")}
    ran = subprocess.run(
        [*command, f"--rootdir={tmp_path}", runs], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    found = [line for line in ran.stdout.splitlines() if "::" in line]
    assert found == ["tests/runs/test_it.py::test_promise"]


@pytest.mark.parametrize(("most", "expected"), [(0, []), (1, [0]), (3, [0, 3, 6]), (10, list(range(10)))])
def test_a_sample_is_evenly_spread(most: int, expected: list[int]) -> None:
    assert tiers.spread(range(10), most) == expected
