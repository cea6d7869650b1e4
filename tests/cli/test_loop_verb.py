"""`donewhen loop`: the loops of a repository as a person and a program see them."""

import datetime
import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from donewhen.loops.loop_records import Claim, RoundEnd, repo_key
from donewhen.loops.loop_store import LoopStore
from donewhen.workspace.state_dir import state_root
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


def with_round(root: Path, name: str, ended: bool = False) -> None:
    """Let a loop have a round that has ended, or one whose process is gone."""
    now = datetime.datetime.now(datetime.UTC)
    with closing(LoopStore(state_root(os.environ))) as store:
        claim = store.claim(repo_key(root), name, "manual:ab12", "ab12", "manual", now, now)
        assert isinstance(claim, Claim)
        if ended:
            store.finish(claim, RoundEnd(outcome="reported"), now)
        else:
            store.release(claim)


@pytest.mark.promise("command.loop.list")
def test_the_list_says_when_each_loop_is_due_and_what_it_may_do(root: Path) -> None:
    answer = donewhen("loop", "list", cwd=root)
    assert answer.code == 0, answer.err
    headings, sweeper, triage = answer.out.splitlines()
    assert headings.split() == ["NAME", "LEVEL", "NEXT", "LAST", "TODAY", "ACTION,", "SCHEDULE"]
    assert sweeper.startswith("ci-sweeper    assisted  not trusted")
    assert sweeper.endswith("branch, every 6 hours; waits for: donewhen trust")
    assert triage.startswith("daily-triage  report    not trusted")  # a scheduler runs no loop that nobody accepted
    assert donewhen("trust", cwd=root).code == 0
    _, _, triage = donewhen("loop", "list", cwd=root).out.splitlines()
    assert " in " in triage and triage.endswith("report, at 09:00 every day")


@pytest.mark.parametrize("columns", [80, 140])
def test_the_list_fits_the_terminal(root: Path, columns: int) -> None:
    shown = on_a_terminal("loop", "list", cwd=root, COLUMNS=str(columns)).replace("\r", "").splitlines()
    assert max(map(len, shown)) <= columns
    assert len(shown) == (5 if columns == 80 else 3)
    assert "    branch, every 6 hours; waits for: donewhen trust" in shown or columns == 140


def test_a_program_gets_each_loop_as_json(root: Path) -> None:
    first, second = map(json.loads, donewhen("loop", "list", "--json", cwd=root).out.splitlines())
    assert (first["name"], first["level"], first["action"], first["gate"]) == (
        "ci-sweeper",
        "assisted",
        "branch",
        "ask",
    )
    assert (first["trusted"], first["widening"], second["trusted"]) == (False, ["action"], False)
    assert (second["timezone"], second["next_at"][11:16]) == ("UTC", "09:00")
    shown = json.loads(donewhen("loop", "show", "ci-sweeper", "--json", cwd=root).out)
    assert shown["budget"]["turns"] == 12 and len(shown["next"]) == 3 and shown["checks"] == ["tests"]


def test_trust_covers_the_files_of_loops_until_they_change(root: Path) -> None:
    answer = donewhen("trust", cwd=root)
    assert answer.code == 0 and f"action = 'branch'\ntrusted: {root / OWN}\n" in answer.out
    assert "waits for" not in donewhen("loop", "list", cwd=root).out
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


def test_a_paused_loop_has_no_next_occurrence(root: Path) -> None:
    assert "  next       20" in donewhen("loop", "show", "daily-triage", cwd=root).out
    assert donewhen("loop", "pause", "daily-triage", cwd=root).code == 0
    assert "  next " not in donewhen("loop", "show", "daily-triage", cwd=root).out
    shown = json.loads(donewhen("loop", "show", "daily-triage", "--json", cwd=root).out)
    assert (shown["next"], shown["next_at"]) == ([], None)


def test_limits_and_times_are_words_that_say_something(root: Path) -> None:
    budget = "budget = { turns = 1, minutes = 2.5, tokens_per_day = 2_000_000 }\n"
    write(root, {OWN: f"intent = 'a'\nschedule = 'every 5s'\non = ['commit:main']\n{budget}"})
    lines = donewhen("loop", "show", "ci-sweeper", cwd=root).out.splitlines()
    words = "1 turn, 400,000 tokens, 2.5 minutes a round; 2,000,000 tokens, $5 a day; $100 in all"
    assert f"  budget     {words}" in lines
    (due,) = [line.removeprefix("  next       ").split(", ") for line in lines if line.startswith("  next")]
    assert len(set(due)) == 3 and all(len(at) == len("2026-11-19 09:00:05") for at in due)
    assert "report, every 5 seconds, on commit:main" in donewhen("loop", "list", cwd=root).out


def test_one_loop_fits_the_terminal(root: Path) -> None:
    maker = "Find the cause of the newest failure and fix it, with the smallest change that does. " * 3
    write(root, {OWN: f"intent = 'a'\nmaker = '{maker}'\n"})
    shown = on_a_terminal("loop", "show", "ci-sweeper", cwd=root, COLUMNS="80").replace("\r", "").splitlines()
    assert max(len(line) for line in shown if "  file  " not in line and str(root) not in line) <= 80
    assert maker.strip() in " ".join(" ".join(shown).split())


@pytest.mark.parametrize(
    ("words", "files", "problem"),
    [
        (("show", "ci-sweeper"), {OWN: "intent = 'a'\nschedule = 'sometimes'\n"}, "'schedule' must be"),
        (("pause", "ci-sweeper"), {OWN: "colour = 1\n"}, "unknown key 'colour'"),
        (("show", "ci-sweper"), {}, "there is no loop 'ci-sweper'; did you mean ci-sweeper?"),
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


def test_a_loop_that_cannot_be_read_does_not_hide_the_others(root: Path) -> None:
    assert donewhen("loop", "pause", "daily-triage", cwd=root).code == 0
    write(root, {OWN: "colour = 1\n", ".donewhen/loops/b.toml": "intent = 'a'\nschedule = 'sometimes'\n"})
    listed = donewhen("loop", "list", cwd=root)
    assert listed.code == 2 and [line.split()[0] for line in listed.out.splitlines()] == ["NAME", "daily-triage"]
    errors = listed.err.splitlines()
    assert [line.startswith(f"donewhen: {root}/.donewhen/loops/") for line in errors] == [True, True]
    for_programs = donewhen("loop", "list", "--json", cwd=root)
    assert for_programs.code == 2 and [json.loads(line)["name"] for line in for_programs.out.splitlines()] == [
        "daily-triage"
    ]
    assert donewhen("loop", "history", cwd=root).code == 0


def test_the_history_keeps_a_loop_whose_file_was_removed(root: Path) -> None:
    with_round(root, "ci-sweeper", ended=True)
    (root / OWN).unlink()
    rows = [json.loads(line) for line in donewhen("loop", "history", "--json", cwd=root).out.splitlines()]
    assert [(row["loop"], row["outcome"]) for row in rows] == [("ci-sweeper", "reported")]


def test_a_round_that_no_process_runs_is_shown_as_interrupted(root: Path) -> None:
    with_round(root, "daily-triage")
    assert donewhen("trust", cwd=root).code == 0
    row = donewhen("loop", "list", cwd=root).out.splitlines()[2]
    assert "  interrupted  " in row and row.endswith("; interrupted: session ab12 goes on at the next start")
    assert donewhen("loop", "pause", "daily-triage", cwd=root).code == 0
    row = donewhen("loop", "list", cwd=root).out.splitlines()[2]
    assert "  paused  " in row and "interrupted: session ab12 goes on after the pause; paused: a person" in row
    assert "round      interrupted: session ab12" in donewhen("loop", "show", "daily-triage", cwd=root).out
    assert donewhen("loop", "history", cwd=root).out.splitlines()[1].split()[3] == "interrupted"
    (listed,) = [json.loads(line) for line in donewhen("loop", "history", "--json", cwd=root).out.splitlines()]
    assert (listed["status"], listed["interrupted"]) == ("running", True)


def test_the_list_says_when_no_scheduler_looks_at_loops_that_are_due(root: Path) -> None:
    nothing = "no scheduler is running here: donewhen loop start"
    assert nothing not in donewhen("loop", "list", cwd=root).err.splitlines()  # none would run them
    assert donewhen("trust", cwd=root).code == 0
    assert nothing in donewhen("loop", "list", cwd=root).err.splitlines()
    with_round(root, "daily-triage", ended=True)
    with closing(LoopStore(state_root(os.environ))) as store:
        for minutes, words in ((9, "no scheduler has looked since "), (1, "")):
            at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=minutes)
            store.due_times.look(repo_key(root), ["daily-triage"], at)
            said = donewhen("loop", "list", cwd=root).err.splitlines()
            assert [line.startswith(words) for line in said if "scheduler" in line] == ([True] if words else [])
        store.due_times.look(repo_key(root), ["daily-triage"], at - datetime.timedelta(days=1))
    for name in ("ci-sweeper", "daily-triage"):
        assert donewhen("loop", "pause", name, cwd=root).code == 0
    assert "scheduler" not in donewhen("loop", "list", cwd=root).err  # nothing is due that it would look at


def test_without_loops_the_list_says_how_to_state_one(tmp_path: Path) -> None:
    answer = donewhen("loop", "list", cwd=repository(tmp_path / "repo", {"a": ""}))
    assert (answer.code, answer.out) == (0, "") and "[[loop]]" in answer.err


def test_outside_of_a_repository_it_is_one_line_and_exit_2(tmp_path: Path) -> None:
    answer = donewhen("loop", "list", cwd=tmp_path)
    assert (answer.code, answer.err.count("\n")) == (2, 1)


@pytest.mark.parametrize("verb", ["show", "run", "pause", "resume", "history", "promote", "demote", "add"])
def test_a_shell_completes_the_names_of_loops(root: Path, verb: str) -> None:
    def completed(typed: str, cwd: Path) -> list[str]:
        words = f"donewhen loop {verb} {typed}"
        asked = {"_DONEWHEN_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"}
        answer = donewhen(cwd=cwd, env=asked)
        assert answer.err == ""
        return [line.partition(",")[2] for line in answer.out.split()]

    assert completed("ci-", root) == ["ci-sweeper"]
    assert completed("d", root) == (["daily-triage", "dependency-sweeper"] if verb == "add" else ["daily-triage"])
    assert completed("ci-", root.parent) == (["ci-sweeper"] if verb == "add" else [])
