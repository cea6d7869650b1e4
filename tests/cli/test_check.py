"""`donewhen check` as a person and a program use it: real repositories, real runs in the sandbox."""

import itertools
import json
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from needs import needs
from program import Answer, donewhen
from repositories import commit, digest, git, repository, write
from toolbox import toolbox

CALC = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n\n\n"
    "def test_sum():\n    assert add(1, 2) == 3\n",
    ".gitignore": "__pycache__/\n",
}
PYTEST = '[[check]]\nname = "tests"\ncommand = "python -m pytest -q"\n'
RIGHT = "def add(a, b):\n    return a + b\n"


@pytest.fixture(scope="session")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toolbox(tmp_path_factory.mktemp("tools") / "box")


@pytest.fixture(autouse=True)
def tools(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `python -m pytest` the pytest that runs these tests, without automatic plugins."""
    monkeypatch.setenv("PATH", f"{box}/bin:{os.environ['PATH']}")


def scene(tmp_path: Path, contract: str, files: dict[str, str] | None = None) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repo", {**(CALC if files is None else files), "donewhen.toml": contract})


def shell(command: str, extra: str = "") -> str:
    return f"[[check]]\nname = 'it'\ncommand = '''{command}'''\n{extra}"


def check(where: Path, *options: str) -> Answer:
    return donewhen("check", *options, cwd=where)


def events_of(where: Path, *options: str) -> list[dict[str, Any]]:
    answer = check(where, "--json", *options)
    return [json.loads(line) for line in answer.out.splitlines()]


def result(lines: list[dict[str, Any]], phase: str = "final") -> dict[str, Any]:
    return [line for line in lines if line["type"] == "check_completed" and line["phase"] == phase][-1]


@pytest.mark.promise("command.check")
@pytest.mark.promise("command.check.exit-codes")
def test_check_exits_1_for_wrong_work_and_0_for_right_work(tmp_path: Path) -> None:
    repo = scene(tmp_path, PYTEST)
    before = check(repo)
    assert before.code == 1
    assert "tests: fail, 1 passed, 1 failed, sidecar" in before.out
    write(repo, {"calc.py": RIGHT})
    state = digest(repo)
    after = check(repo)
    assert (after.code, after.err) == (0, "")
    assert "tests: pass, 2 passed, sidecar" in after.out
    assert after.out.splitlines()[-1] == "1 of 1 checks passed"
    assert digest(repo) == state


@pytest.mark.promise("command.check.protected")
@pytest.mark.promise("contract.protect")
def test_edits_to_protected_paths_are_listed_and_not_graded(tmp_path: Path) -> None:
    repo = scene(tmp_path, PYTEST)
    write(repo, {"tests/test_calc.py": "def test_zero():\n    pass\n\n\ndef test_sum():\n    pass\n"})
    answer = check(repo)
    assert answer.code == 1
    assert "Not graded (restored from the base): tests/test_calc.py modified" in answer.out


@pytest.mark.promise("command.check.as-is")
def test_as_is_judges_the_files_without_protection(tmp_path: Path) -> None:
    repo = scene(tmp_path, PYTEST)
    write(repo, {"tests/test_calc.py": "def test_zero():\n    pass\n\n\ndef test_sum():\n    pass\n"})
    assert check(repo, "--as-is").code == 0


@pytest.mark.promise("command.check.head")
def test_head_leaves_the_working_tree_out(tmp_path: Path) -> None:
    repo = scene(tmp_path, PYTEST)
    write(repo, {"calc.py": RIGHT})
    assert check(repo, "--head").code == 1
    commit(repo)
    write(repo, {"calc.py": "broken("})
    assert check(repo, "--head").code == 0


@pytest.mark.promise("contract.editable")
def test_an_editable_path_is_not_protected(tmp_path: Path) -> None:
    repo = scene(tmp_path, '[contract]\neditable = ["tests/test_calc.py"]\n' + PYTEST)
    write(repo, {"tests/test_calc.py": "def test_zero():\n    pass\n\n\ndef test_sum():\n    pass\n"})
    answer = check(repo)
    assert answer.code == 0
    assert "Not graded" not in answer.out


def test_an_explicit_glob_protects_new_files_too(tmp_path: Path) -> None:
    repo = scene(tmp_path, '[contract]\nprotect = ["data/**"]\n' + shell("test -f data/new.txt"), {"data/old.txt": ""})
    write(repo, {"data/new.txt": ""})
    answer = check(repo)
    assert answer.code == 1
    assert "Not graded (restored from the base): data/new.txt added" in answer.out


@pytest.mark.promise("command.check.json")
@pytest.mark.promise("events.check-started")
@pytest.mark.promise("events.check-completed")
@pytest.mark.promise("events.protected-edit")
def test_json_output_is_one_event_per_line_without_gaps(tmp_path: Path) -> None:
    repo = scene(tmp_path, PYTEST)
    write(repo, {"calc.py": RIGHT, "tests/test_calc.py": "# mine\n"})
    lines = events_of(repo)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert len({line["session"] for line in lines}) == 1
    assert lines[0]["type"] == "session_started"
    assert lines[0]["isolation"] == "bubblewrap"
    [edit] = [line for line in lines if line["type"] == "protected_edit"]
    assert (edit["path"], edit["action"]) == ("tests/test_calc.py", "modified")
    done = result(lines)
    assert done["status"] == "pass"
    assert done["tests"] == {"collected": 2, "passed": 2, "failed": 0, "skipped": 0}
    assert (done["exit_code"], done["signal"], done["evidence"], done["cached"]) == (0, None, "sidecar", False)
    assert "2 passed" in done["output_tail"]
    assert result(lines, "baseline")["status"] == "fail"
    assert lines[-1]["type"] == "session_finished"
    assert lines[-1]["outcome"] == "verified"
    assert [(r["name"], r["status"]) for r in lines[-1]["results"]] == [("tests", "pass")]
    assert git(repo, "rev-parse", "HEAD") == lines[0]["base"]


@pytest.mark.promise("command.check.fresh")
def test_a_second_check_uses_cached_runs_and_fresh_does_not(tmp_path: Path) -> None:
    repo = scene(tmp_path, shell("test -f calc.py"))
    assert not result(events_of(repo))["cached"]
    assert result(events_of(repo))["cached"]
    assert not result(events_of(repo, "--fresh"))["cached"]
    write(repo, {"other.txt": ""})
    assert not result(events_of(repo))["cached"]


@pytest.mark.parametrize(
    ("command", "extra", "status"),
    [
        pytest.param("true", "", "pass", id="pass"),
        pytest.param("false", "", "fail", id="fail"),
        pytest.param("kill -9 $$", "", "fail", id="killed"),
        pytest.param("no-such-program", "", "infra", id="127"),
        pytest.param("./calc.py", "", "infra", id="126"),
        pytest.param("exec sleep 60", "timeout_secs = 0.3", "timeout", id="timeout"),
        pytest.param("echo yes", "output_contains = 'yes'", "pass", id="output"),
        pytest.param("echo yes >&2", "output_contains = 'yes'", "pass", id="output-on-stderr"),
        pytest.param("echo yes", "output_contains = 'no'", "fail", id="other-output"),
        pytest.param("exit 3", "expect_exit_zero = false", "pass", id="must-fail"),
        pytest.param("true", "expect_exit_zero = false", "fail", id="must-fail-and-does-not"),
        pytest.param("no-such-program", "expect_exit_zero = false", "infra", id="must-fail-and-cannot-start"),
        pytest.param("test -f test_calc.py", "dir = 'tests'", "pass", id="dir"),
        pytest.param("python -m pytest -q nowhere || :", "", "vacuous", id="nothing-ran"),
        pytest.param("python -m pytest -q -k zero", "min_tests = 2", "vacuous", id="too-few-tests"),
        pytest.param("python -m pytest -q -k zero", "", "pass", id="enough-tests"),
    ],
)
@pytest.mark.promise("result.kinds")
@pytest.mark.promise("check.output-contains")
@pytest.mark.promise("check.dir")
@pytest.mark.promise("check.timeout-secs")
@pytest.mark.promise("check.command")
def test_a_check_gets_the_expected_status(tmp_path: Path, command: str, extra: str, status: str) -> None:
    repo = scene(tmp_path, shell(command, extra))
    assert result(events_of(repo, "--head"))["status"] == status


def test_output_contains_finds_text_in_output_of_any_size(tmp_path: Path) -> None:
    repo = scene(tmp_path, shell("seq 200000; echo nee''dle; seq 200000", "output_contains = 'needle'"))
    assert check(repo).code == 0


def test_every_check_gets_a_result_and_a_layer_of_its_own(tmp_path: Path) -> None:
    contract = "".join(
        f"[[check]]\nname = '{name}'\ncommand = '''{command}'''\n"
        for name, command in {"leave": "echo x > left; false", "look": "test ! -e left", "last": "true"}.items()
    )
    repo = scene(tmp_path, contract)
    lines = events_of(repo)
    assert {line["name"]: line["status"] for line in lines[-1]["results"]} == {
        "leave": "fail",
        "look": "pass",
        "last": "pass",
    }


@pytest.mark.promise("check.quarantine")
def test_a_check_in_quarantine_is_reported_and_does_not_decide_until_its_date(tmp_path: Path) -> None:
    both = PYTEST.replace("tests", "red") + shell("true")
    until = 'quarantine = {{ reason = "known", until = "{}" }}\n'
    repo = scene(tmp_path, both.replace('-q"\n', '-q"\n' + until.format("2999-01-01")))
    answer = check(repo)
    assert answer.code == 0
    assert "red: fail (quarantined)" in answer.out
    write(repo, {"donewhen.toml": both.replace('-q"\n', '-q"\n' + until.format("2020-01-01"))})
    assert check(repo).code == 1


@contextmanager
def coin(place: Path, sides: str) -> Generator[str]:
    """A check whose exit codes come one by one from outside, the last one for all further runs: the settings and the
    check."""
    path = place / "coin"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def throw() -> None:
            for side in itertools.chain(sides, itertools.repeat(sides[-1])):
                try:
                    answer, _ = listening.accept()
                except OSError:
                    return
                with answer:
                    answer.sendall(side.encode())

        thrower = threading.Thread(target=throw)
        thrower.start()
        look = f"import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect('{path}'); sys.exit(int(s.recv(1)))"
        yield f'[workspace]\nsockets = ["{path}"]\n' + shell(f'python3 -c "{look}"')
        listening.shutdown(socket.SHUT_RDWR)
        thrower.join()


@pytest.mark.parametrize(
    ("sides", "status", "said"),
    [
        ("0", "pass", ""),
        ("10", "flaky", "red, then green on the same tree"),
        ("11", "fail", "exit code 1"),
    ],
)
def test_a_red_check_is_rerun_and_red_then_green_is_flaky(tmp_path: Path, sides: str, status: str, said: str) -> None:
    with coin(tmp_path, sides) as contract:
        repo = scene(tmp_path, contract)
        assert donewhen("trust", cwd=repo).code == 0
        lines = events_of(repo)
    assert lines[-1]["results"][0]["status"] == status
    assert lines[-1]["outcome"] == {"pass": "verified", "flaky": "flaky", "fail": "red"}[status]
    last = [line for line in lines if line["type"] == "check_completed"][-1]
    assert (last["phase"], last["attempt"]) == (("final", 1) if sides == "0" else ("rerun", 2))
    assert said in " ".join(last["reasons"])


@pytest.mark.parametrize(("sides", "said"), [("0101", "flaky before"), ("01000", "the change made it flaky")])
def test_a_flaky_check_is_also_run_on_the_base(tmp_path: Path, sides: str, said: str) -> None:
    with coin(tmp_path, sides) as contract:
        repo = scene(tmp_path, contract)
        write(repo, {"calc.py": RIGHT})
        assert donewhen("trust", cwd=repo).code == 0
        lines = events_of(repo)
    assert lines[-1]["outcome"] == "flaky"
    assert said in " ".join(result(lines, "rerun")["reasons"])


def test_a_red_check_is_not_rerun_if_another_check_stays_red(tmp_path: Path) -> None:
    with coin(tmp_path, "10") as contract:
        repo = scene(tmp_path, contract + "[[check]]\nname = 'gone'\ncommand = 'no-such-program'\n")
        assert donewhen("trust", cwd=repo).code == 0
        lines = events_of(repo)
    assert [line["phase"] for line in lines if line["type"] == "check_started"] == ["final", "final"]


@pytest.mark.promise("contract.min-evidence.exit")
@pytest.mark.promise("contract.min-evidence.tests")
def test_the_contract_decides_how_much_an_exit_code_proves(tmp_path: Path) -> None:
    command = shell("python -m pytest -q nowhere || :")
    repo = scene(tmp_path, command)
    assert result(events_of(repo))["status"] == "vacuous"
    write(repo, {"donewhen.toml": '[contract]\nmin_evidence = "exit"\n' + command})
    assert result(events_of(repo))["status"] == "pass"


@pytest.mark.promise("contract.min-evidence.control")
def test_with_control_evidence_a_green_must_depend_on_the_change(tmp_path: Path) -> None:
    control = '[contract]\nmin_evidence = "control"\n'
    repo = scene(tmp_path, control + PYTEST.replace("-q", "-q -k zero"))
    write(repo, {"calc.py": RIGHT})
    lines = events_of(repo)
    assert lines[-1]["results"][0]["status"] == "vacuous"
    plain = check(repo)
    assert "not discriminating" in plain.out
    write(repo, {"donewhen.toml": control + PYTEST})
    assert check(repo).code == 0


def test_a_green_without_the_change_is_shown_as_not_discriminating(tmp_path: Path) -> None:
    repo = scene(tmp_path, shell("true"))
    write(repo, {"calc.py": RIGHT})
    answer = check(repo)
    assert answer.code == 0
    assert "not discriminating: the checks are green without these changes as well" in answer.out


def test_passed_secrets_are_not_shown(tmp_path: Path) -> None:
    repo = scene(
        tmp_path, '[workspace]\nenv = ["API_KEY"]\nshare = [".env"]\n' + shell("echo $API_KEY; cat .env; false")
    )
    write(repo, {".env": "PASSWORD=correct-horse\n"})
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "exclude").write_text(".env\n")
    env = {"API_KEY": "k-123456789"}
    assert donewhen("trust", cwd=repo).code == 0
    answer = donewhen("check", cwd=repo, env=env)
    assert answer.code == 1
    assert "k-123456789" not in answer.out + answer.err
    assert "correct-horse" not in answer.out + answer.err
    assert "[API_KEY]" in answer.out
    assert "PASSWORD=[PASSWORD]" in answer.out


def test_a_contract_in_a_subdirectory_is_found_from_below_it(tmp_path: Path) -> None:
    repo = scene(tmp_path, shell("false"), {"api/donewhen.toml": shell("test -f api/x"), "api/x": "", "api/sub/y": ""})
    assert check(repo / "api" / "sub").code == 0
    assert check(repo).code == 1


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        ("[[check]]\nname = 'a'\ncommand = 'x'\n[[check]]\nname = 'a'\ncommand = 'y'\n", "repeats 'a'"),
        ("[[check]]\nname = 'a'\ncommand = ''\n", "command"),
        ("[[check]]\nname = 'a'\ncommand = 'x'\ntimeout_secs = 'soon'\n", "timeout_secs"),
        ("[[check]]\nname = 'a'\ncommand = 'x'\nretries = 3\n", "retries"),
        ("[contract\n", "donewhen.toml"),
    ],
)
@pytest.mark.promise("exit.bad-input")
def test_an_invalid_contract_is_one_line_and_exit_2(tmp_path: Path, contract: str, said: str) -> None:
    repo = scene(tmp_path, contract)
    answer = check(repo)
    assert (answer.code, answer.out) == (2, "")
    assert "donewhen.toml" in answer.one_line
    assert said in answer.one_line


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes"])
def test_a_named_pipe_as_a_rules_file_is_one_line_and_exit_2_without_waiting(tmp_path: Path, name: str) -> None:
    repo = scene(tmp_path, shell("test -e new"), {".gitignore": "*.o\n", "sub/a": "a"})
    write(repo, {"new": "", "sub/x.o": ""})
    os.mkfifo(repo / "sub" / "pipe")
    assert check(repo).code == 0
    (repo / "sub" / "pipe").rename(repo / "sub" / name)
    write(repo, {"sub/b": "b"})
    answer = check(repo)
    assert (answer.code, answer.out) == (2, "")
    assert answer.one_line == f"donewhen: sub/{name} is a pipe or a device, and git would read from it: remove it"


def test_options_that_exclude_each_other_are_refused(tmp_path: Path) -> None:
    answer = check(scene(tmp_path, PYTEST), "--head", "--as-is")
    assert answer.code == 2
    assert "exclude each other" in answer.one_line


def test_a_suspicious_contract_gets_a_warning_and_is_judged(tmp_path: Path) -> None:
    answer = check(scene(tmp_path, shell("false || true")))
    assert answer.code == 0
    assert "hides the failure" in answer.one_line


def test_files_that_control_the_checks_cannot_be_written_while_a_check_runs(tmp_path: Path) -> None:
    files = {"Makefile": "all:\n\t@true\n", "tool.txt": ""}
    repo = scene(tmp_path, shell("make; echo more >> tool.txt && ! echo 'all:' > Makefile"), files)
    assert check(repo).code == 0


def test_a_test_that_is_rewritten_while_the_check_runs_is_tampering(tmp_path: Path) -> None:
    repo = scene(tmp_path, PYTEST)
    move = "import os\nos.replace('tests/test_calc.py', 'x')\nos.replace('x', 'tests/test_calc.py')\n"
    write(repo, {"calc.py": move + RIGHT})
    done = result(events_of(repo))
    assert done["status"] == "tampered"
    assert "tests/test_calc.py" in done["reasons"][0]


def test_writing_a_protected_path_is_not_tampering_if_the_base_does_so_too(tmp_path: Path) -> None:
    repo = scene(tmp_path, shell("date >> tests/log.txt; python -m pytest -q -k zero"), {**CALC, "tests/log.txt": ""})
    write(repo, {"calc.py": RIGHT})
    assert check(repo).code == 0


@pytest.mark.promise("contract.none.waits")
def test_without_a_contract_the_proposal_is_shown_and_needs_a_person_s_approval(tmp_path: Path) -> None:
    needs("bwrap")
    repo = repository(tmp_path / "repo", CALC)
    answer = check(repo)
    assert (answer.code, answer.out) == (3, "")
    assert "pytest" in answer.err
    assert answer.err.splitlines()[-1].endswith("no contract; run: donewhen init")
    assert not (repo / "donewhen.toml").exists()


@pytest.mark.promise("contract.none.nothing-to-propose")
def test_without_a_contract_or_a_proposal_the_lines_to_type_are_shown(tmp_path: Path) -> None:
    needs("bwrap")
    answer = check(repository(tmp_path / "repo"))
    assert answer.code == 2
    assert "[[check]]" in answer.out
    assert "no tests found" in answer.one_line


def test_a_tool_with_another_version_inside_the_sandbox_is_infra(tmp_path: Path, home: Path) -> None:
    tool = home / "tools" / "bin" / "just"
    write(home, {"tools/bin/just": '#!/bin/sh\n[ -f "$HOME/choice" ] && echo just 2 || echo just 1\n', "choice": ""})
    tool.chmod(0o755)
    repo = scene(tmp_path, shell("just it"))
    env = {"PATH": f"{tool.parent}:{os.environ['PATH']}"}
    answer = donewhen("check", cwd=repo, env=env)
    assert answer.code == 1
    assert "infra" in answer.out
    assert "just is 'just 1' in the sandbox and 'just 2' outside" in answer.out
    (home / "choice").unlink()
    tool.write_text('#!/bin/sh\n[ -f "$HOME/choice" ] && echo just 2 || echo "just 1"\n')
    assert donewhen("check", cwd=repo, env=env).code == 0
