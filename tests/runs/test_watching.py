"""`watch` to its end: it always returns, with the exit code of the session."""

import json
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM
from runs.scenes import RIGHT, WRONG, call, run, run_json, run_verb, say, scene, script


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def test_watch_ends_with_the_outcome_of_the_session(repo: Path) -> None:
    red = run(repo, WRONG, "--max-iterations", "1")
    assert run_json(repo, "watch", red.session, "--json").code == 1
    assert run_verb(repo, "watch", run(repo, RIGHT).session).code == 0


def test_watch_of_a_session_that_was_landed_later_ends_too(repo: Path) -> None:
    ran = run(repo, RIGHT)
    assert run_verb(repo, "land", ran.session, "--onto", "main").code == 0
    watched = run_json(repo, "watch", ran.session, "--json")
    assert (watched.code, watched.last["type"], watched.last["branch"]) == (0, "landed", "main")


def test_watch_of_a_session_that_waits_for_a_person_ends_with_3(repo: Path) -> None:
    claim = call("report_no_change", kind="deliberate_behavior", summary="on purpose", evidence="the docs")
    ran = run(repo, [claim])
    watched = run_json(repo, "watch", ran.session, "--json")
    assert (watched.code, watched.events) == (3, ran.events)


def test_watch_of_an_interrupted_session_ends_and_says_how_to_resume(repo: Path) -> None:
    model = script(repo.parent / "s.json", [{**say("late"), "delay": 600}])
    program = subprocess.Popen([PROGRAM, "run", "x", "--model", model, "--json"], cwd=repo, stdout=subprocess.PIPE)
    assert program.stdout is not None
    first = json.loads(next(line for line in program.stdout if b'"iteration_started"' in line))
    watching = subprocess.Popen(
        [PROGRAM, "watch", first["session"]], cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    seen = next(line for line in watching.stdout if "round 1" in line)
    program.kill()
    program.communicate()
    _, errors = watching.communicate(timeout=60)
    assert (seen, watching.returncode) == ("round 1 of 8\n", 4)
    assert f"donewhen resume {first['session']}" in errors


def test_watch_continues_while_a_question_is_open_and_says_how_to_answer(repo: Path) -> None:
    model = script(repo.parent / "s.json", [call("ask_user", prompt="which one?"), *RIGHT])
    command = [PROGRAM, "run", "x", "--model", model, "--json", "--ask"]
    program = subprocess.Popen(command, cwd=repo, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert program.stdout is not None
    session = json.loads(next(line for line in program.stdout if b'"question_asked"' in line))["session"]
    watching = subprocess.Popen(
        [PROGRAM, "watch", session], cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    assert watching.stderr is not None
    assert any("which one?" in line for line in watching.stdout)
    assert watching.stderr.readline() == f"to answer: donewhen answer {session} TEXT\n"
    assert run_verb(repo, "answer", session, "the left one").code == 0
    rest, _ = watching.communicate(timeout=60)
    program.communicate(timeout=60)
    assert (watching.returncode, "verified" in rest) == (0, True)
