"""Faults around a run: a damaged database, a full disk, two owners, a changed contract, a killed owner."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from needs import leave_out, needs
from program import PROGRAM
from repositories import git
from repositories import write as put
from runs.scenes import CHECK, RIGHT, WRONG, run, run_json, run_verb, say, scene, script, shell, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


def test_a_session_continues_after_the_database_was_destroyed(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1")
    database = Path(os.environ["XDG_STATE_HOME"], "donewhen", "sessions.db")
    with database.open("r+b") as file:
        file.write(b"\xff" * 4096)
    listed = run_verb(repo, "list")
    assert ran.session in listed.out
    assert "damaged" in listed.err
    resumed = run_json(repo, "resume", ran.session, "--json")
    assert (resumed.code, resumed.last["outcome"]) == (0, "verified")
    assert resumed.events[0]["seq"] == ran.last["seq"] + 1


@contextmanager
def small_disk(place: Path, size: str) -> Generator[Path]:
    place.mkdir()
    mounted = subprocess.run(
        [needs("mount"), "-t", "tmpfs", "-o", f"size={size}", "none", place], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        leave_out("the right to mount a tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_full_disk_stops_a_run_in_one_line_and_resume_continues_when_there_is_space(
    repo: Path, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", "24m") as disk:
        (disk / "state").mkdir()
        kept = {**os.environ, "XDG_STATE_HOME": str(disk / "state")}
        steps = [write("answer.txt", "left\n"), {**write("other.txt", "x\n"), "delay": 2}, *RIGHT]
        command = [PROGRAM, "run", "x", "--model", script(tmp_path / "s.json", steps), "--json"]
        program = subprocess.Popen(command, cwd=repo, env=kept, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert program.stdout is not None
        first = next(line for line in program.stdout if b'"tool_result"' in line)
        fill(disk / "filler")
        _, errors = program.communicate(timeout=60)
        assert program.returncode == 4
        assert errors.decode().splitlines()[-1].startswith("donewhen: ")
        assert b"Traceback" not in errors
        (disk / "filler").unlink()
        resumed = run_json(repo, "resume", json.loads(first)["session"], "--json", env=kept)
    assert (resumed.code, resumed.last["outcome"]) == (0, "verified"), resumed.err
    assert git(repo, "status", "--porcelain") == ""


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with file.open("wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(b"x" * 65536)
    with file.open("ab", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(b"x")


def test_only_one_process_works_on_a_session(repo: Path) -> None:
    model = script(repo.parent / "s.json", [{**say("late"), "delay": 60}])
    program = subprocess.Popen([PROGRAM, "run", "x", "--model", model, "--json"], cwd=repo, stdout=subprocess.PIPE)
    assert program.stdout is not None
    session = ""
    for line in program.stdout:
        session = json.loads(line)["session"]
        if b'"iteration_started"' in line:
            break
    second = run_verb(repo, "resume", session)
    assert (second.code, "is working on session" in second.one_line) == (2, True)
    program.kill()
    program.communicate()
    assert run_verb(repo, "cancel", session).code == 0
    assert json.loads(run_verb(repo, "log", session, "--json").out.splitlines()[-1])["outcome"] == "cancelled"


def test_an_owner_that_does_not_answer_is_killed_by_cancel(repo: Path) -> None:
    model = script(repo.parent / "s.json", [{**say("late"), "delay": 60}])
    program = subprocess.Popen([PROGRAM, "run", "x", "--model", model, "--json"], cwd=repo, stdout=subprocess.PIPE)
    assert program.stdout is not None
    session = json.loads(program.stdout.readline())["session"]
    program.send_signal(signal.SIGSTOP)
    assert run_verb(repo, "cancel", session).code == 0
    program.communicate(timeout=10)
    assert program.returncode == -9
    assert "cancelled" in run_verb(repo, "show", session).out


def test_a_session_keeps_the_contract_of_its_start(repo: Path) -> None:
    ran = run(repo, [*WRONG, *RIGHT], "--max-iterations", "1")
    put(repo, {"donewhen.toml": CHECK.replace("right", "up"), "answer.txt": "mine\n"})
    resumed = run_json(repo, "resume", ran.session, "--json")
    assert (resumed.code, resumed.last["outcome"]) == (0, "verified")
    assert (repo / "answer.txt").read_text() == "mine\n"


def test_passed_variable_values_are_neither_sent_to_the_model_nor_stored(repo: Path) -> None:
    env = {"GREETING": "hunter2-hunter2", "DONEWHEN__WORKSPACE__ENV": "GREETING"}
    ran = run(repo, [shell("echo said $GREETING"), *RIGHT], env=env)
    assert ran.code == 0
    assert ran.of("tool_result")[0]["preview"].startswith("said [GREETING]")
    state = Path(os.environ["XDG_STATE_HOME"], "donewhen")
    for file in (state / "sessions.db", *state.glob("logs/*")):
        assert b"hunter2" not in file.read_bytes()
