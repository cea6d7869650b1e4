"""`donewhen loop`: the loops of a repository as a person and a program see them."""

import json
from pathlib import Path

import pytest

from program import donewhen
from repositories import repository, write
from terminal import on_a_terminal

OWN = ".donewhen/loops/ci-sweeper.toml"
FILES = {
    "donewhen.toml": "[[loop]]\nname = 'daily-triage'\nintent = 'report what is wrong'\ntimezone = 'UTC'\n",
    OWN: "intent = 'keep main green'\nlevel = 'assisted'\nschedule = 'every 6h'\naction = 'branch'\n"
    "checks = ['tests']\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", FILES)


@pytest.mark.promise("command.loop.list")
def test_the_list_says_when_each_loop_is_due_and_what_it_may_do(root: Path) -> None:
    answer = donewhen("loop", "list", cwd=root)
    assert answer.code == 0, answer.err
    headings, sweeper, triage = answer.out.splitlines()
    assert headings.split() == ["NAME", "LEVEL", "NEXT", "LAST", "TODAY", "ACTION,", "SCHEDULE"]
    assert sweeper.startswith("ci-sweeper    assisted  not trusted")
    assert sweeper.endswith("branch, every 6 hours; needs: donewhen trust")
    assert " in " in triage and triage.endswith("report, at 09:00 every day")


@pytest.mark.parametrize("columns", [80, 140])
def test_the_list_fits_the_terminal(root: Path, columns: int) -> None:
    shown = on_a_terminal("loop", "list", cwd=root, COLUMNS=str(columns)).replace("\r", "").splitlines()
    assert max(map(len, shown)) <= columns
    assert len(shown) == (5 if columns == 80 else 3)
    assert "    branch, every 6 hours; needs: donewhen trust" in shown or columns == 140


def test_a_program_gets_each_loop_as_json(root: Path) -> None:
    first, second = map(json.loads, donewhen("loop", "list", "--json", cwd=root).out.splitlines())
    assert (first["name"], first["level"], first["action"], first["gate"]) == (
        "ci-sweeper",
        "assisted",
        "branch",
        "ask",
    )
    assert (first["trusted"], first["widening"], second["trusted"]) == (False, ["action"], True)
    assert (second["timezone"], second["next_at"][11:16]) == ("UTC", "09:00")
    shown = json.loads(donewhen("loop", "show", "ci-sweeper", "--json", cwd=root).out)
    assert shown["budget"]["turns"] == 12 and len(shown["next"]) == 3 and shown["checks"] == ["tests"]


def test_trust_covers_the_files_of_loops_until_they_change(root: Path) -> None:
    answer = donewhen("trust", cwd=root)
    assert answer.code == 0 and f"action = 'branch'\ntrusted: {root / OWN}\n" in answer.out
    assert "needs" not in donewhen("loop", "list", cwd=root).out
    write(root, {OWN: FILES[OWN] + "allow = ['branch']\n"})
    assert (
        "  needs      donewhen trust, because of action, allow\n"
        in donewhen("loop", "show", "ci-sweeper", cwd=root).out
    )


def test_one_loop_is_shown_with_all_that_it_does(root: Path) -> None:
    answer = donewhen("loop", "show", "daily-triage", cwd=root)
    lines = dict(line.strip().split(None, 1) for line in answer.out.splitlines())
    assert lines["daily-triage"] == "report what is wrong"
    assert lines["schedule"] == "daily 09:00: At 09:00 every day (UTC)"
    assert (lines["level"], lines["action"], lines["checks"]) == ("report", "report, gate ask", "none")


@pytest.mark.parametrize(
    ("words", "files", "problem"),
    [
        (("list",), {OWN: "intent = 'a'\nschedule = 'sometimes'\n"}, "'schedule' must be"),
        (("list",), {OWN: "colour = 1\n"}, "unknown key 'colour'"),
        (("show", "nope"), {}, "there is no loop 'nope'; there are: ci-sweeper, daily-triage"),
        (("dance",), {}, "No such command 'dance'"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    root: Path, words: tuple[str, ...], files: dict[str, str], problem: str
) -> None:
    write(root, files)
    answer = donewhen("loop", *words, cwd=root)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert problem in answer.err


def test_without_loops_the_list_says_how_to_state_one(tmp_path: Path) -> None:
    answer = donewhen("loop", "list", cwd=repository(tmp_path / "repo", {"a": ""}))
    assert (answer.code, answer.out) == (0, "") and "[[loop]]" in answer.err


def test_outside_of_a_repository_it_is_one_line_and_exit_2(tmp_path: Path) -> None:
    answer = donewhen("loop", "list", cwd=tmp_path)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
