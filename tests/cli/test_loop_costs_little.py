"""What `donewhen loop` and `donewhen inbox` load when they only read or write the store: nothing that runs a round."""

import os
import subprocess
from pathlib import Path

import pytest

from program import PROGRAM
from repositories import repository

LOOP = "[[loop]]\nname = 'triage'\nintent = 'report'\nnever = ['src/**']\n"
ON_USE = (
    "donewhen.judge.judge",
    "donewhen.judge.protect",
    "donewhen.loops.run",
    "donewhen.session.crew",
    "donewhen.session.session",
    "donewhen.union",
    "donewhen.workspace.git",
    "pydantic",
    "rich",
    "tomlkit",
)
"""Modules that run a session, or that cost much to load."""


@pytest.mark.parametrize(
    "words",
    [
        ("loop", "list"),
        ("loop", "show", "triage"),
        ("loop", "history"),
        ("loop", "pause", "triage"),
        ("loop", "resume", "triage"),
        ("inbox",),
    ],
)
def test_a_verb_that_reads_or_pauses_loops_loads_nothing_that_runs_a_round(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    repo = repository(tmp_path / "repo", {"donewhen.toml": LOOP})
    env = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    answer = subprocess.run([PROGRAM, *words], cwd=repo, env=env, capture_output=True, check=True)
    loaded = [line.rpartition("|")[2].strip() for line in answer.stderr.decode().splitlines()]
    assert "donewhen.loops.loop_store" in loaded
    assert not [name for name in loaded if f"{name}.".startswith(tuple(f"{one}." for one in ON_USE))]
