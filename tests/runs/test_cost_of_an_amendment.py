"""A person who decides on edits of protected paths sees what they cost: tests, lines, and exactly their diff."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM
from runs.scenes import EXPECTED, Run, Step, run, run_json, run_verb, say, scene, script, shell, write

TESTS = "import unittest\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n"
SIXTEEN = TESTS + "".join(
    f"    def test_{number}(self):\n        self.assertEqual(add({number}, 1), {number + 1})\n" for number in range(16)
)
ONE = TESTS + "    def test_0(self):\n        self.assertEqual(add(1, 1), 3)\n"
CONTRACT = """[[check]]
name = "tests"
command = "python3 -m unittest"

[[check]]
name = "there"
command = "test -e calc.py"
"""
FILES = {"donewhen.toml": CONTRACT, "calc.py": "def add(a, b):\n    return a - b\n", "test_calc.py": SIXTEEN}
STEPS: list[Step] = [write("calc.py", "def add(a, b):\n    return 3\n"), write("test_calc.py", ONE), say("done")]
COST = "tests: collects 1 test, the base 16"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo", FILES)


def waiting(repo: Path) -> Run:
    ran = run(repo, STEPS, "--max-iterations", "1")
    assert ran.code == 3
    return ran


@pytest.mark.promise("amendment.cost")
def test_the_gate_of_an_amendment_says_how_many_tests_it_collects_and_how_many_the_base(repo: Path) -> None:
    ran = waiting(repo)
    gate = ran.one("gate_opened")
    assert gate["amendment"]["tests"] == [{"check": "tests", "collected": 1, "base": 16}]
    assert gate["detail"].splitlines()[0] == COST
    assert (gate["optional"], gate["expires_at"], gate["amendment"]["edit_count"]) == (False, None, 1)
    (edit,) = gate["amendment"]["edits"]
    assert (edit["path"], edit["action"], edit["removed"]) == ("test_calc.py", "modified", 31)
    assert f"  {COST}" in ran.err.splitlines()
    assert f"          {COST}" in run_verb(repo, "show", ran.session).out.splitlines()
    known = json.loads(run_verb(repo, "show", ran.session, "--json").out)
    assert known["gate"]["amendment"] == gate["amendment"]
    assert known["optional"] is None


def test_the_diff_of_an_amendment_is_exactly_that_of_the_protected_edits(repo: Path) -> None:
    ran = waiting(repo)
    detail = ran.one("gate_opened")["detail"]
    candidate = run_verb(repo, "diff", ran.session, "--candidate").out
    shown = detail[detail.index("diff --git") :]
    assert shown == candidate[candidate.index("diff --git a/test_calc.py") :]
    assert "a/calc.py" not in detail


def test_the_question_on_the_terminal_begins_with_the_cost(repo: Path) -> None:
    model = script(repo.parent / "script.json", STEPS)
    master, slave = pty.openpty()
    command = [PROGRAM, "run", "x", "--model", model, "--max-iterations", "1"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=repo, env=environment) as program:
        os.close(slave)
        shown = ""
        while "[l]ater? " not in shown:
            shown += os.read(master, 65536).decode("utf-8", "replace")
        os.write(master, b"l\n")
        while reads(master):
            pass
    os.close(master)
    assert program.returncode == 3
    assert shown.index(COST) < shown.index("diff --git") < shown.index("[l]ater? ")


def reads(terminal: int) -> bool:
    try:
        return bool(os.read(terminal, 65536))
    except OSError:
        return False  # no process holds the terminal any more


def test_the_cost_is_shown_again_after_a_cancel_and_a_resume(repo: Path) -> None:
    ran = waiting(repo)
    assert run_verb(repo, "cancel", ran.session).code == 0
    resumed = run_json(repo, "resume", ran.session, "--json")
    assert (resumed.code, resumed.of("gate_opened")) == (3, [])
    assert COST in resumed.err
    approved = run_json(repo, "approve", ran.session, "--json")
    assert (approved.code, approved.last["outcome"], approved.of("gate_opened")) == (0, "verified", [])


def test_a_check_without_a_recognised_runner_has_no_cost_in_tests(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo", {"donewhen.toml": EXPECTED, "expected.txt": "right\n"})
    ran = run(repo, [shell("echo wrong > expected.txt"), say("done")], "--max-iterations", "1")
    assert (ran.code, ran.one("gate_opened")["amendment"]["tests"]) == (3, [])
    assert ran.one("gate_opened")["detail"].splitlines()[:2] == [
        "changes and deletions:",
        "Not graded (restored from the base): expected.txt (1 line added, 1 line removed; "
        "protected by 'expected.txt' in the contract)",
    ]
