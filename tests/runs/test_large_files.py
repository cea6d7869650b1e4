"""Files of hundreds of megabytes made by an engine: judged, reported and landed in bounded memory."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from program import PROGRAM
from repositories import git, try_git
from runs.scenes import RIGHT, scene, script, shell

SIZE = int(os.environ.get("DONEWHEN_LARGE_FILE", 160 << 20))
"""The size of the file. Larger in `make soak`."""
MEMORY = 140 << 20
"""The memory limit of the largest process of a run, including git. A process that holds the file needs more."""

MEASURE = """
import os, resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10, file=sys.stderr)
sys.exit(code)
"""
MAKE = "yes '# 0123456789 abcdefghijklmnopqrstuvwxyz 0123456789 abcdefghijklmnopq' | head -c {} > {}"


def measured(repo: Path, *arguments: str) -> tuple[int, int, bytes]:
    """The result of a call, the memory of its largest process, and its output."""
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, PROGRAM, *arguments], cwd=repo, capture_output=True, timeout=300, check=False
    )
    return ran.returncode, int(ran.stderr.split()[-1]), ran.stdout


@pytest.mark.sample(0)
def test_large_new_test_and_product_files_are_judged_reported_and_landed_in_bounded_memory(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    makes = shell(f"mkdir -p tests data; {MAKE.format(SIZE, 'data/big.txt')}; {MAKE.format(SIZE, 'tests/test_big.py')}")
    model = script(tmp_path / "script.json", [makes, *RIGHT])
    code, used, out = measured(repo, "run", "make it right", "--model", model, "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, events[-1]["outcome"]) == (0, "verified"), events[-1]
    assert used < MEMORY, f"{used >> 20} MiB"
    assert [one for one in events if one["type"] == "protected_edit"] == []
    landed = f"donewhen/{events[0]['session']}"
    for path in ("data/big.txt", "tests/test_big.py"):
        assert git(repo, "cat-file", "-s", f"{landed}:{path}").strip() == str(SIZE)
    assert try_git(repo, "fsck", "--full", "--strict").returncode == 0

    code, used, diff = measured(repo, "diff", events[0]["session"])
    assert (code, used < MEMORY) == (0, True), f"{used >> 20} MiB"
    assert diff.count(f"Binary files of 0 and {SIZE} bytes differ".encode()) == 2
    assert b"+right" in diff, "what is small is shown"


@pytest.mark.parametrize(
    ("path", "last_line", "reason"),
    [
        ("tests/test_big.py", "pytest_plugins = ['tests.takes_over']", "may load plugins into every test of the run"),
        ("big_test.go", "func TestMain(m *testing.M) {}", "changes how the tests beside it run"),
        ("tests/new/conftest.py", "x = 1", "is too large to be examined"),
    ],
)
def test_a_large_new_test_file_that_affects_other_tests_is_not_graded(
    tmp_path: Path, path: str, last_line: str, reason: str
) -> None:
    repo = scene(tmp_path / "repo")
    makes = shell(
        f"mkdir -p tests/new; {MAKE.format(20 << 20, path)}; printf '\\n%s\\n' {shlex.quote(last_line)} >> {path}"
    )
    model = script(tmp_path / "script.json", [makes, *RIGHT])
    code, used, out = measured(repo, "run", "make it right", "--model", model, "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, used < MEMORY) == (0, True), f"{used >> 20} MiB"
    assert {one["path"]: one["reason"] for one in events if one["type"] == "protected_edit"} == {path: reason}
    assert path not in git(repo, "ls-tree", "-r", "--name-only", f"donewhen/{events[0]['session']}").split()


def test_a_new_test_file_of_ordinary_size_is_read_and_lands(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    makes = shell(f"mkdir -p tests; {MAKE.format(1 << 20, 'tests/test_small.py')}")
    model = script(tmp_path / "script.json", [makes, *RIGHT])
    code, _, out = measured(repo, "run", "make it right", "--model", model, "--json")
    events = [json.loads(line) for line in out.splitlines()]
    assert (code, [one for one in events if one["type"] == "protected_edit"]) == (0, [])
    assert git(repo, "cat-file", "-s", f"donewhen/{events[0]['session']}:tests/test_small.py").strip() == str(1 << 20)
