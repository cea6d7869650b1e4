"""The contract in donewhen.toml: read with file, line and key, and shown to a maker without held-out checks."""

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.cli.verbs.run import checks_by_name
from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract
from donewhen.session.settings import settings
from donewhen.session.settings.contract_file import contract_in, warnings, without_held_out
from donewhen.session.settings.run_options import RunOptions, contract_of


def contract(tmp_path: Path, text: str) -> Contract:
    (tmp_path / "donewhen.toml").write_text(text)
    return contract_in(settings.load(tmp_path, tmp_path, os.environ, None))


def test_every_key_of_a_check_is_read(tmp_path: Path) -> None:
    found = contract(
        tmp_path,
        """
[contract]
description = "d"
protect = ["tests/**"]
editable = ["tests/new.py"]
min_evidence = "control"
[[check]]
name = "one"
command = "make one"
dir = "sub"
expect_exit_zero = false
output_contains = "text"
timeout_secs = 7
min_tests = 3
allow_skips = true
held_out = true
quarantine = { reason = "flaky network", until = 2026-12-31 }
[[check]]
name = "two"
command = "make two"
""",
    )
    one, two = found.checks
    assert (found.description, found.protect, found.editable) == ("d", ("tests/**",), ("tests/new.py",))
    assert found.min_evidence == "control"
    assert two == Check(name="two", command="make two")
    assert (one.dir, one.expect_exit_zero, one.output_contains, one.timeout_secs) == ("sub", False, "text", 7)
    assert (one.min_tests, one.allow_skips, one.held_out) == (3, True, True)
    assert one.quarantine is not None
    assert one.quarantine.until.isoformat() == "2026-12-31"


@pytest.mark.promise("config.duplicate-check")
@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[[check]]\nname = "a"\ncommand = "x"\n[[check]]\n# again\nname = "a"\ncommand = "y"\n', 6, "repeats 'a'"),
        ('[[check]]\nname = "a"\ncommand = ""\n', 3, "check[0].command"),
        ('[[check]]\ncommand = "x"\n', 1, "check[0].name"),
        ('\n[[check]]\nname = "a"\ncommand = "x"\ndir = "../x"\n', 5, "check[0].dir"),
        ('[[check]]\nname = "a"\ncommand = "x"\nquarantine = { until = "2026-01-01" }\n', 4, "needs a reason"),
        ('[[check]]\nname = "a"\ncommand = "x"\nquarantine = { reason = "r", until = "soon" }\n', 4, "'soon'"),
        ('[[check]]\nname = "a"\ncommand = "x"\nquarantine = { reason = "r" }\n', 4, "needs a date"),
    ],
)
def test_an_error_names_file_line_and_key(tmp_path: Path, text: str, line: int, said: str) -> None:
    with pytest.raises(BadInput) as error:
        contract(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path}/donewhen.toml:{line}: ")
    assert said in str(error.value)


LONG = "n" * 500_000


@pytest.mark.parametrize(
    "text",
    [
        f"{LONG} = 1\n",
        f"[{LONG}]\n",
        f"[model]\n{LONG} = 1\n",
        f"[agent.{LONG}]\ncommand = 'x {{task}}'\n",
        f"[agent.{LONG}]\nunknown = 1\n",
        f"[agent.codex]\n{LONG} = 1\n",
        f"[agent.codex]\npath = '{LONG}'\n",
        f"[agent]\n{LONG} = 1\n",
        f"[model]\nuse = ['{LONG}']\n",
        f"[[check]]\n{LONG} = 1\n",
        f"[[check]]\nname = '{LONG}'\ncommand = 'x'\n",
        f"[[check]]\nname = 'a'\ncommand = 'x'\ndir = '/{LONG}'\n",
        f"[[check]]\nname = 'a'\ncommand = '{LONG}'\n",
        f"[[check]]\nname = 'a'\ncommand = 'x'\nquarantine = {{ reason = 'r', until = '{LONG}' }}\n",
        f"[contract]\nprotect = ['{LONG}']\n",
    ],
    ids=lambda text: text.replace(LONG, "LONG").splitlines()[-1],
)
def test_a_long_name_or_value_is_cut_in_the_line_about_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput) as error:
        contract(tmp_path, text)
    told = str(error.value)
    assert told.startswith(f"{tmp_path}/donewhen.toml") and len(told) < len(str(tmp_path)) + 500


def test_a_long_name_of_a_variable_or_an_option_is_cut_in_the_line_about_it(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        settings.load(tmp_path, tmp_path, {f"DONEWHEN__{LONG}__X": "1"}, None)
    assert str(error.value).startswith("DONEWHEN__n") and len(str(error.value)) < 300
    held = settings.load(tmp_path, tmp_path, {}, None)
    for words in (LONG, f"{LONG}=true", f"a={LONG}"):
        with pytest.raises(BadInput) as error:
            contract_of(held, RunOptions(intent="x", checks=checks_by_name((words,))))
        assert str(error.value).startswith("--check ") and len(str(error.value)) < 300


def test_a_short_name_is_shown_completely(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"unknown key 'model.a_name_of_a_key_that_nobody_knows'; known keys:"):
        contract(tmp_path, "[model]\na_name_of_a_key_that_nobody_knows = 1\n")


def test_a_command_may_be_as_long_as_the_kernel_allows(tmp_path: Path) -> None:
    most = 128 * 1024 - 1
    letters = "ü" * (most // 2)
    assert contract(tmp_path, f"[[check]]\nname = 'a'\ncommand = '{letters}x'\n").checks[0].command == f"{letters}x"
    with pytest.raises(BadInput) as error:
        contract(tmp_path, f"[[check]]\nname = 'a'\ncommand = '{letters}xx'\n")
    told = "'check[0].command' of check 'a' has 131072 bytes; at most 131071 are possible: put it into a script"
    assert str(error.value) == f"{tmp_path}/donewhen.toml:3: {told}"


def test_a_warning_names_file_line_and_key(tmp_path: Path) -> None:
    (tmp_path / "donewhen.toml").write_text('[[check]]\nname = "a"\n\ncommand = "pytest || true"\n')
    loaded = settings.load(tmp_path, tmp_path, os.environ, None)
    (line,) = warnings(loaded, contract_in(loaded))
    assert line.startswith(f"{tmp_path}/donewhen.toml:4: check[0].command: ")


@pytest.mark.parametrize("key", ["protect", "editable"])
def test_a_pattern_that_leaves_the_repository_is_reported_with_file_and_key(tmp_path: Path, key: str) -> None:
    with pytest.raises(BadInput) as error:
        contract(tmp_path, f"[contract]\n{key} = ['../x']\n")
    assert str(error.value).startswith(f"{tmp_path}/donewhen.toml: 'contract.{key}': '../x' is not a pattern")


@pytest.mark.parametrize("text", [b"[[check]]\nname = ", b"\xff", b"check = 'x'\n[["])
def test_a_maker_sees_nothing_of_a_file_that_cannot_be_read(text: bytes) -> None:
    assert without_held_out(text) == b""


def test_a_maker_sees_the_unchanged_file_if_nothing_is_held_out() -> None:
    text = '# mine\n[[check]]\nname = "a"\ncommand = "x"\n'
    assert without_held_out(text.encode()) == text.encode()


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_a_maker_sees_nothing_of_held_out_checks_not_even_comments_about_them(held: list[bool]) -> None:
    text = "[contract]\nmin_evidence = 'exit'\n" + "".join(
        f"# about {n}\n[[check]]\nname = 'name{n}'\ncommand = 'command{n}'\nheld_out = {str(out).lower()}\n"
        for n, out in enumerate(held)
    )
    shown = without_held_out(text.encode()).decode()
    known = tomllib.loads(shown)
    assert known["contract"] == {"min_evidence": "exit"}
    assert [entry["name"] for entry in known.get("check", [])] == [f"name{n}" for n, out in enumerate(held) if not out]
    for n, out in enumerate(held):
        assert not (out and any(f"{word}{n}" in shown for word in ("about ", "name", "command")))
