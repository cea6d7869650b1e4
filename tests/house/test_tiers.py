"""`make test` runs a sample of the long proofs. The sample leaves no file and no family of proofs out."""

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import tiers

ROOT = Path(__file__).parents[2]


@cache
def collected(tier: str) -> Counter[str]:
    """How many tests of each file run in a tier."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"]
    env = {**os.environ, "DONEWHEN_TESTS": tier, "PYTEST_ADDOPTS": ""}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return Counter(line.partition("::")[0] for line in ran.stdout.splitlines() if "::" in line)


def test_every_file_and_every_family_of_proofs_is_in_the_sample() -> None:
    sample, everything = collected("sample"), collected("")
    only_maven = {"tests/readers/test_real_maven.py"}
    assert everything.keys() - sample.keys() <= only_maven, "these files have no test in `make test`"
    assert sum(sample.values()) < sum(everything.values())


def test_without_the_makefile_all_tests_run() -> None:
    assert tiers.EVERYTHING or os.environ.get("DONEWHEN_TESTS") == "sample"
    assert collected("")["tests/cheats/test_cheats.py"] > 4 * collected("sample")["tests/cheats/test_cheats.py"]


@pytest.mark.parametrize(("most", "expected"), [(0, []), (1, [0]), (3, [0, 3, 6]), (10, list(range(10)))])
def test_a_sample_is_evenly_spread(most: int, expected: list[int]) -> None:
    program = f"import tiers; print(tiers.sampled(range(10), {most}))"
    env = {**os.environ, "DONEWHEN_TESTS": "sample", "PYTHONPATH": str(ROOT / "tests")}
    ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == str(expected)
