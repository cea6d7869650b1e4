"""The program itself: help, version, unknown verbs, and what they cost."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from donewhen import __version__
from donewhen.cli.verb_table import VERBS
from program import PROGRAM, donewhen


def cpu_of(*arguments: str) -> float:
    """Return the least CPU time of a few calls, in seconds."""
    spent: list[float] = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([PROGRAM, *arguments], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


@pytest.mark.promise("startup.help")
def test_help_costs_under_a_tenth_of_a_second_of_cpu() -> None:
    assert cpu_of("--help") < 0.1


@pytest.mark.promise("startup.version")
def test_version_costs_under_a_tenth_of_a_second_of_cpu() -> None:
    assert cpu_of("--version") < 0.1


def test_help_names_every_verb_and_each_verb_has_help_of_its_own(tmp_path: Path) -> None:
    shown = donewhen("--help", cwd=tmp_path)
    assert shown.code == 0
    for verb in VERBS:
        assert f"  {verb} " in shown.out
        own = donewhen(verb, "--help", cwd=tmp_path)
        assert (own.code, own.err) == (0, "") and own.out.startswith("Usage: donewhen")


def test_help_is_the_same_however_it_is_asked_for(tmp_path: Path) -> None:
    answers = [donewhen(*words, cwd=tmp_path) for words in ([], ["-h"], ["--help"])]
    assert len({answer.out for answer in answers}) == 1


def test_version_names_the_program_and_its_version(tmp_path: Path) -> None:
    assert donewhen("--version", cwd=tmp_path).out == f"donewhen {__version__}\n"


@pytest.mark.parametrize("words", [["nonsense"], ["--nonsense"], ["doctor", "extra"], ["policy", "--nonsense"]])
def test_a_wrong_call_is_one_line_and_exit_2(tmp_path: Path, words: list[str]) -> None:
    answer = donewhen(*words, cwd=tmp_path)
    assert answer.code == 2 and answer.out == ""
    assert answer.one_line.startswith("donewhen: ")


def test_a_closed_pipe_on_stdout_gives_no_traceback(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    finished = subprocess.run([PROGRAM, "doctor"], stdout=writing, stderr=subprocess.PIPE, check=False, cwd=tmp_path)
    os.close(writing)
    assert finished.stderr == b""
