"""`donewhen init` as a person uses it, from the proposal to the written and trusted file."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from needs import needs
from program import PROGRAM, Answer, donewhen
from repositories import contents, digest, git, repository, write

GREEN = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1 + 1, 2)\n"
RED = GREEN.replace("2)", "3)")
FILES = {"test_it.py": GREEN, "README.md": "hello\n"}
COMMAND = "python3 -m unittest discover"
Make = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A repository of these files; the Python of the machine runs their tests."""
    needs("bwrap")
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    return lambda files: repository(tmp_path / "repository", files)


def init(root: Path) -> Answer:
    return donewhen("init", cwd=root)


def checks(root: Path) -> list[dict[str, object]]:
    return tomllib.loads((root / "donewhen.toml").read_text())["check"]


@pytest.mark.promise("command.init")
def test_init_proposes_checks_with_reasons_runs_them_and_writes_the_file(make: Make) -> None:
    root = make(FILES)
    answer = init(root)
    assert answer.code == 0, answer.err
    assert f"tests: {COMMAND}\n    test_it.py uses unittest\n" in answer.out
    assert "tests: pass" in answer.out and answer.out.endswith(f"wrote {root}/donewhen.toml: tests\n")
    assert checks(root) == [{"name": "tests", "command": COMMAND}]
    assert "# test_it.py uses unittest\n" in (root / "donewhen.toml").read_text()
    assert stat.S_IMODE((root / "donewhen.toml").stat().st_mode) == 0o666 & ~mask()
    assert git(root, "status", "--short") == "?? donewhen.toml"


def mask() -> int:
    before = os.umask(0o022)
    os.umask(before)
    return before


@pytest.mark.promise("trust.init")
def test_a_file_written_by_init_is_trusted(make: Make) -> None:
    root = make({**FILES, ".gitignore": "vendor/\n"})
    write(root, {"vendor/a": ""})
    answer = init(root)
    assert answer.code == 0 and "share = ['vendor']" in answer.out
    assert tomllib.loads((root / "donewhen.toml").read_text())["workspace"] == {"share": ["vendor"]}
    inside = donewhen("sandbox", "--", "ls vendor", cwd=root)
    assert (inside.code, inside.out) == (0, "a\n")


def test_init_writes_a_red_check_and_says_that_it_is_red(make: Make) -> None:
    root = make({"test_it.py": RED})
    answer = init(root)
    assert answer.code == 0 and "tests: fail" in answer.out
    assert "tests is not green on the current code" in answer.err
    assert checks(root) == [{"name": "tests", "command": COMMAND}]


def test_init_tries_checks_on_the_working_tree_and_not_on_head(make: Make) -> None:
    root = make({"test_it.py": RED})
    write(root, {"test_it.py": GREEN})
    assert "tests: pass" in init(root).out


def test_it_works_from_a_subdirectory_and_writes_at_the_root(make: Make) -> None:
    root = make({**FILES, "sub/deep/file": ""})
    assert init(root / "sub" / "deep").code == 0
    assert checks(root) == [{"name": "tests", "command": COMMAND}]


def test_unusual_names_are_quoted_in_proposed_commands_and_run(make: Make) -> None:
    root = make({"my 'odd' café (2)/setup.py": "", "my 'odd' café (2)/test_it.py": GREEN})
    answer = init(root)
    assert answer.code == 0 and "tests-my-odd-caf-2: pass" in answer.out
    assert checks(root)[0]["dir"] == "my 'odd' café (2)"


def test_init_prints_no_control_characters_from_file_names(make: Make) -> None:
    root = make({**FILES, "package.json": '{"scripts": {"test": "echo \\u001b[31m && jest"}}'})
    answer = init(root)
    assert "\x1b" not in answer.out + answer.err


# -- checks that cannot start --


def test_a_check_that_cannot_start_is_named_and_not_written(make: Make) -> None:
    root = make({**FILES, "web/package.json": '{"scripts": {"test": "no-such-runner"}}'})
    needs("npm")
    answer = init(root)
    assert answer.code == 0
    assert "note: tests-web is left out because it cannot start here" in answer.err
    assert checks(root) == [{"name": "tests", "command": COMMAND}]


def test_a_make_target_without_its_program_cannot_start_and_nothing_is_written(make: Make) -> None:
    needs("make")
    root = make({"Makefile": "test:\n\t./missing --all\n"})
    answer = init(root)
    assert answer.code == 2 and "no tests can start here; nothing was written" in answer.err
    assert not (root / "donewhen.toml").exists()


def test_an_environment_without_its_runner_is_reported_and_nothing_is_written(make: Make) -> None:
    root = make({"test_it.py": "import pytest\n\n\ndef test_it():\n    pass\n", ".gitignore": ".venv\n"})
    subprocess.run([needs("python3"), "-m", "venv", "--without-pip", root / ".venv"], check=True)
    answer = init(root)
    assert answer.code == 2 and "No module named pytest" in answer.err
    assert not (root / "donewhen.toml").exists()


# -- nothing found --


def test_init_without_findings_exits_2_and_shows_the_lines_to_type(make: Make) -> None:
    root = make({"README.md": "hello\n"})
    answer = init(root)
    assert answer.code == 2 and f"no tests found in {root}" in answer.one_line
    assert tomllib.loads(answer.out)["check"][0]["name"] == "tests"
    assert not (root / "donewhen.toml").exists()


def test_without_tests_the_build_check_is_printed_for_copying(make: Make) -> None:
    root = make({"package.json": '{"scripts": {"build": "tsc -b", "lint": "eslint ."}}'})
    answer = init(root)
    assert answer.code == 2
    offered = [check["command"] for check in tomllib.loads(answer.out)["check"]]
    assert offered == ["npm run lint", "npm run build"]


def test_init_in_a_repository_without_commits_says_what_is_missing(make: Make, tmp_path: Path) -> None:
    root = tmp_path / "new"
    root.mkdir()
    git(root, "init", "--quiet")
    write(root, FILES)
    answer = init(root)
    assert answer.code == 2 and "has no commit yet" in answer.one_line and "git commit" in answer.one_line


def test_init_outside_a_repository_is_one_line_and_exit_2(make: Make, tmp_path: Path) -> None:
    answer = init(tmp_path)
    assert answer.code == 2 and "not in a git repository" in answer.one_line


# -- an existing file --


EXISTING = """# our contract
[contract]
description = "all of it works"   # in words

[[check]]
name = "own"                      # written by hand
command = "true"

[limits]
minutes = 5
"""


def test_an_existing_file_keeps_every_line_and_gets_missing_checks(make: Make) -> None:
    root = make({**FILES, "donewhen.toml": EXISTING})
    answer = init(root)
    assert answer.code == 0 and f"added to {root}/donewhen.toml: tests\n" in answer.out
    assert [check["name"] for check in checks(root)] == ["own", "tests"]
    now = iter((root / "donewhen.toml").read_text().splitlines())
    assert all(line in now for line in EXISTING.splitlines())


def test_a_second_init_adds_nothing(make: Make) -> None:
    root = make(FILES)
    assert init(root).code == 0
    before = digest(root)
    answer = init(root)
    assert answer.code == 0 and "already has a check for everything" in answer.out
    assert digest(root) == before


def test_a_check_is_not_proposed_if_the_same_tool_already_runs_there(make: Make) -> None:
    root = make({**FILES, "donewhen.toml": '[[check]]\nname = "t"\ncommand = "python3 -m unittest test_it"\n'})
    before = digest(root)
    assert init(root).code == 0
    assert digest(root) == before


def test_an_existing_check_name_is_not_reused(make: Make) -> None:
    root = make({**FILES, "donewhen.toml": '[[check]]\nname = "tests"\ncommand = "true"\n'})
    assert init(root).code == 0
    assert [check["name"] for check in checks(root)] == ["tests", "tests-2"]


@pytest.mark.parametrize("text", ["[[check]\n", "checks = 1\n", '[[check]]\nname = "a"\n', "\xff"])
def test_an_invalid_file_is_one_line_and_is_not_changed(make: Make, text: str) -> None:
    root = make(FILES)
    (root / "donewhen.toml").write_bytes(text.encode("latin-1"))
    before = digest(root)
    answer = init(root)
    assert answer.code == 2 and "donewhen.toml" in answer.one_line
    assert digest(root) == before


@pytest.mark.promise("trust.init")
def test_init_does_not_trust_existing_keys_that_were_never_trusted(make: Make) -> None:
    root = make({**FILES, "donewhen.toml": '[workspace]\nenv = ["TOKEN"]\n'})
    before = digest(root)
    answer = init(root)
    assert answer.code == 3 and "workspace.env" in answer.one_line
    assert digest(root) == before


# -- a person at a terminal --


def at_a_terminal(root: Path, typed: bytes) -> tuple[int, str]:
    ours, theirs = os.openpty()
    running = subprocess.Popen([PROGRAM, "init"], cwd=root, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, typed)
    printed = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        printed += chunk
    os.close(ours)
    return running.wait(60), printed.decode("utf-8", "replace")


@pytest.mark.parametrize(("typed", "opened"), [(b"y\n", True), (b"n\n", False), (b"\n", False)])
def test_access_to_a_host_service_needs_a_person_s_yes(make: Make, typed: bytes, opened: bool) -> None:
    root = make({**FILES, ".env.example": "DATABASE_URL=postgres://localhost/test\n"})
    code, printed = at_a_terminal(root, typed)
    assert code == 0, printed
    workspace = tomllib.loads((root / "donewhen.toml").read_text()).get("workspace", {})
    assert workspace == ({"reach": ["localhost:5432"], "env": ["DATABASE_URL"]} if opened else {})


def test_without_a_terminal_a_service_is_only_mentioned(make: Make) -> None:
    root = make({**FILES, "compose.yaml": "services:\n  db:\n    image: postgres:16\n"})
    answer = init(root)
    assert 'add to [workspace]: reach = ["localhost:5432"]' in answer.err
    assert "workspace" not in tomllib.loads((root / "donewhen.toml").read_text())


def test_ctrl_c_during_init_leaves_no_partial_file(make: Make, tmp_path: Path) -> None:
    root = make({"test_it.py": "import time\nimport unittest\ntime.sleep(600)\n"})
    before = contents(root, with_git=True)
    running = subprocess.Popen([PROGRAM, "init"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None and running.stderr is not None
    assert running.stdout.readline().startswith(b"tests: ")
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    assert b"Traceback" not in running.stderr.read()
    running.stdout.close()
    running.stderr.close()
    assert contents(root, with_git=True) == before


# -- trials --


@pytest.mark.sample(0)
def test_a_trial_takes_at_most_two_minutes_and_the_check_is_written_with_a_longer_limit(make: Make) -> None:
    root = make({"test_it.py": "import time\nimport unittest\ntime.sleep(600)\n"})
    answer = donewhen("init", cwd=root, timeout=300)
    assert answer.code == 0, answer.err
    assert "note: tests did not finish in 120 s; its time limit in the contract is 480 s" in answer.err
    assert checks(root) == [{"name": "tests", "command": COMMAND, "timeout_secs": 480}]


def test_init_says_what_it_waits_for_and_for_how_long(make: Make) -> None:
    answer = init(make(FILES))
    assert f"waiting for tests, at most 120 s: {COMMAND}\n" in answer.err


def test_on_a_terminal_init_says_what_it_waits_for(make: Make) -> None:
    code, printed = at_a_terminal(make(FILES), b"")
    assert code == 0 and f"waiting for tests, at most 120 s: {COMMAND}" in printed


def test_a_check_that_can_run_here_is_preferred(make: Make) -> None:
    root = make({"test_it.py": GREEN, "pytest.ini": "[pytest]\n", ".gitignore": ".venv\n"})
    subprocess.run([needs("python3"), "-m", "venv", "--without-pip", root / ".venv"], check=True)
    answer = init(root)
    assert answer.code == 0, answer.err
    assert "tests: .venv/bin/python -m pytest -q cannot start here" in answer.err
    assert checks(root) == [{"name": "tests", "command": ".venv/bin/python -m unittest discover"}]


RED_LINT = {**FILES, "wrong.py": "import os\n"}


@pytest.mark.parametrize(("settings", "is_kept"), [("line-length = 100", False), ("lint.select = ['F']", True)])
def test_a_linter_that_is_stricter_than_the_project_is_left_out(make: Make, settings: str, is_kept: bool) -> None:
    root = make({**RED_LINT, "ruff.toml": f"{settings}\n"})
    ruff_of_this_environment(root)
    answer = init(root)
    assert answer.code == 0, answer.err
    assert [check["name"] for check in checks(root)] == ["tests", *(["lint"] if is_kept else [])]
    assert ("lint is left out because it is not green on the current code" in answer.err) is not is_kept


def test_without_a_trial_a_linter_with_default_rules_is_not_proposed(make: Make) -> None:
    root = make({**RED_LINT, "ruff.toml": "line-length = 100\n"})
    ruff_of_this_environment(root)
    answer = donewhen("check", cwd=root)
    assert answer.code == 3 and "\ntests: " in answer.err and "ruff" not in answer.err


def test_a_linter_with_default_rules_that_is_clean_is_proposed(make: Make) -> None:
    root = make({**FILES, "ruff.toml": "line-length = 100\n"})
    ruff_of_this_environment(root)
    assert init(root).code == 0
    assert [check["name"] for check in checks(root)] == ["tests", "lint"]


def ruff_of_this_environment(root: Path) -> None:
    """Put ruff on PATH, outside of the repository."""
    tools = root.parent / "tools"
    tools.mkdir()
    shutil.copy(Path(sys.executable).with_name("ruff"), tools / "ruff")
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"


# -- product --

CALC = {
    "src/calc.py": "def add(a, b):\n    return a + b\n",
    "vectors/sums.json": "[1, 2, 3]\n",
    "tests/__init__.py": "",
    "tests/test_calc.py": "import json, sys, unittest\nsys.path.insert(0, 'src')\nimport calc\n\n\n"
    "class T(unittest.TestCase):\n    def test_it(self):\n        a, b, c = json.load(open('vectors/sums.json'))\n"
    "        self.assertEqual(calc.add(a, b), c)\n    def test_zero(self):\n        self.assertEqual(0, 0)\n",
}


def product(root: Path) -> list[str] | None:
    return tomllib.loads((root / "donewhen.toml").read_text()).get("contract", {}).get("product")


def test_init_proposes_the_product_with_reasons(make: Make) -> None:
    root = make(CALC)
    answer = init(root)
    assert answer.code == 0, answer.err
    assert (
        "product: of what the checks use, what the work may change\n    src/**  sources are usually here\n"
        in answer.out
    )
    assert answer.out.endswith("donewhen.toml: tests, product\n")
    assert product(root) == ["src/**"]
    assert '    "src/**",  # sources are usually here\n' in (root / "donewhen.toml").read_text()


def test_the_product_that_init_writes_decides_which_changes_count(make: Make) -> None:
    root = make(CALC)
    init(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "contract")
    write(root, {"src/calc.py": "def add(a, b):\n    return 4\n", "vectors/sums.json": "[1, 2, 4]\n"})
    answer = donewhen("check", cwd=root)
    assert answer.code == 1, answer.out
    assert "vectors/sums.json" in answer.out and "which changes count: declared, observed" in answer.out


def test_init_sees_the_product_of_files_that_are_not_committed(make: Make) -> None:
    root = make(CALC)
    write(
        root,
        {"lib/more.py": "", "src/calc.py": "import sys\nsys.path.append('lib')\nimport more\n" + CALC["src/calc.py"]},
    )
    assert init(root).code == 0
    assert product(root) == ["lib/**", "src/**"]


def test_red_tests_show_the_product_if_others_passed(make: Make) -> None:
    root = make({**CALC, "vectors/sums.json": "[1, 2, 4]\n"})
    assert init(root).code == 0
    assert product(root) == ["src/**"]


def test_without_a_complete_trial_run_no_product_is_written_and_init_says_why(make: Make) -> None:
    root = make({**CALC, "src/calc.py": "def add(a, b) return a\n"})
    answer = init(root)
    assert answer.code == 0 and product(root) is None
    assert "note: product is not written: tests did not run to the end" in answer.err


def test_a_file_that_has_a_contract_gets_no_product(make: Make) -> None:
    root = make({**CALC, "donewhen.toml": "[contract]\ndescription = 'a'\n"})
    assert init(root).code == 0
    assert product(root) is None
