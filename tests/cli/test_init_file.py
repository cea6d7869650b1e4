"""How a proposed contract gets into donewhen.toml: the existing file stays complete in any form."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.judge.contract import Check
from donewhen.judge.detect import Proposal, Proposed
from donewhen.judge.verdict import CheckStatus, Result, Verdict
from donewhen.session.check.init_contract import ContractProposal, after_trial, extend_text, start_problem, write

TESTS = Proposed(Check(name="tests", command="pytest -q"), "because \x1b[31m of\nit")
SLOW = Proposed(Check(name="slow", command="mvn test", dir="sub", timeout_secs=600), "pom.xml", "lint")


def plan(
    file: Path = Path("donewhen.toml"), before: bytes | None = None, **workspace: tuple[str, ...]
) -> ContractProposal:
    return ContractProposal(file, before, (TESTS, SLOW), (), workspace, frozenset(), Proposal((), {}, (), ()))


ADDED = [
    {"name": "tests", "command": "pytest -q"},
    {"name": "slow", "command": "mvn test", "dir": "sub", "timeout_secs": 600},
]

FORMS = [
    "",
    "# only a comment\n",
    "# no line end",
    "[contract]\ndescription = 'a'\n",
    "[[check]]\nname = 'a'\ncommand = 'b' # why\n",
    "[[check]]\nname = 'a'\ncommand = 'b'\n\n[limits]\nminutes = 1 # one\n",
    "[[check]]\nname = 'a'\ncommand = 'b'\n[limits]\nminutes = 1\n[[check]]\nname = 'c'\ncommand = 'd'\n",
    "[[check]]\nname = 'a'\ncommand = 'b'\nquarantine = { reason = 'r', until = '2030-01-01' }\n",
    "[workspace]\nsetup = ['x']   # spaced\n\n# about checks\n[[check]]\nname = 'a'\ncommand = 'b'\n",
    "workspace.setup = ['x']\n",
    "check = [{ name = 'a', command = 'b' }]\n",
    "check = [\n  { name = 'a', command = 'b' }, # first\n]\n",
    "[[check]]\r\nname = 'a'\r\ncommand = 'b'\r\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_the_proposal_is_added_to_the_file_or_refused_in_one_line(text: str) -> None:
    try:
        new = extend_text(text, plan(share=(".venv",)))
    except BadInput as error:
        assert "add by hand: tests, slow" in str(error) and "\n" not in str(error)
        assert "check = [" in text or "workspace.setup" in text
        return
    old = tomllib.loads(text)
    now = tomllib.loads(new)
    assert now.pop("check") == [*old.pop("check", []), *ADDED]
    assert now.pop("workspace") == {**old.pop("workspace", {}), "share": [".venv"]}
    assert now == old
    rest = iter(new)
    assert all(character in rest for character in text.rstrip())


def test_comments_stay_next_to_their_keys() -> None:
    text = "[workspace]  # ours\nsetup = ['x']\n\n# about checks\n[[check]]\nname = 'a'\ncommand = 'b'\n"
    new = extend_text(text, plan(share=(".venv",)))
    assert new.startswith("[workspace]  # ours\nshare = [\".venv\"]\nsetup = ['x']\n\n# about checks\n[[check]]\n")


def test_the_line_endings_of_a_file_are_kept() -> None:
    new = extend_text("[[check]]\r\nname = 'a'\r\ncommand = 'b'\r\n", plan())
    assert new.count("\n") == new.count("\r\n")


@pytest.mark.parametrize("text", [form for form in FORMS if form and "check = [" not in form])
def test_checks_are_added_at_the_end_without_moving_other_lines(text: str) -> None:
    assert extend_text(text, plan()).startswith(text)


def test_reasons_become_printable_one_line_comments() -> None:
    assert "# because  [31m of it\n" in extend_text("", plan())


@given(st.lists(st.sampled_from(["[limits]\nminutes = 1\n", "[[check]]\nname = 'a'\ncommand = 'b'\n", "# c\n", "\n"])))
def test_existing_content_is_never_lost_in_any_order_of_keys(parts: list[str]) -> None:
    text = "".join(dict.fromkeys(parts))
    new = extend_text(text, plan())
    assert tomllib.loads(new)["check"][-2:] == ADDED
    assert all(line in new.splitlines() for line in text.splitlines())


def test_a_file_that_changed_in_the_meantime_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "donewhen.toml"
    file.write_text("# mine\n")
    for before in (None, b"# older\n"):
        with pytest.raises(BadInput, match="was changed in the meantime"):
            write(plan(file, before))
    assert file.read_text() == "# mine\n"
    assert list(tmp_path.iterdir()) == [file]


def test_an_unwritable_directory_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "donewhen.toml").mkdir()
    (tmp_path / "linked.toml").symlink_to("/etc/donewhen.toml")
    for name, told in (("donewhen.toml", "cannot be written"), ("linked.toml", "is a link to /etc/donewhen.toml")):
        with pytest.raises(BadInput, match=told):
            write(plan(tmp_path / name))


def test_a_written_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "donewhen.toml"
    file.write_text("# mine\n")
    file.chmod(0o640)
    write(plan(file, b"# mine\n"))
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.read_text().startswith("# mine\n")


# -- results of a trial run --


def result(status: CheckStatus, tail: str = "", duration_ms: int = 10, **more: object) -> Result:
    return replace(Result(name="tests", status=status, output_tail=tail, duration_ms=duration_ms), **more)  # pyright: ignore[reportArgumentType] - any field of a result


@pytest.mark.parametrize(
    "tail",
    [
        "/usr/bin/python3: No module named pytest",
        "x\n../.venv/bin/python: No module named pytest\n",
        "error: no such command: `clippy`\n\nView all installed commands with `cargo --list`",
        "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)",
        "sh: 1: eslint: not found",
        "make: ./run: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
        "npm error npx canceled due to missing packages and no YES option: [\"mocha\"]",
    ],
)  # fmt: skip
def test_a_missing_tool_is_distinguished_from_a_red_check(tail: str) -> None:
    assert start_problem(result(CheckStatus.FAIL, tail))
    assert not start_problem(result(CheckStatus.PASS, tail))


@pytest.mark.parametrize(
    "tail",
    [
        "E   ModuleNotFoundError: No module named 'mypackage'\n1 error in 0.1s",
        "1 failed, 2 passed",
        "make: *** [Makefile:2: test] Error 1",
        "",
    ],
)
def test_a_red_check_is_not_mistaken_for_a_missing_tool(tail: str) -> None:
    assert start_problem(result(CheckStatus.FAIL, tail)) == ""


def test_a_check_that_could_not_start_gives_its_reason() -> None:
    assert (
        start_problem(result(CheckStatus.INFRA, "sh: a: not found\n", reasons=("exit code 127",)))
        == "exit code 127; sh: a: not found"
    )
    assert start_problem(result(CheckStatus.INFRA, "sh: nothing there")) == "sh: nothing there"
    assert start_problem(result(CheckStatus.INFRA))


@pytest.mark.parametrize(("seconds", "timeout"), [(1, 120), (29, 120), (31, 180), (200, 840)])
def test_a_slow_check_gets_a_longer_timeout(seconds: int, timeout: int) -> None:
    seen = result(CheckStatus.PASS, duration_ms=seconds * 1000)
    verdict = Verdict(base="", candidate="", tree="", results=(seen,))
    (one,) = after_trial(replace(plan(), checks=(TESTS,)), verdict).checks
    assert one.check.timeout_secs == timeout
