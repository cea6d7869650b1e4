"""Cached runs: only complete ones, only the newest, and never used when damaged."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.judge.check_run import CheckRun
from donewhen.judge.run_cache import RUNS, RunCache, forget_old_runs, key_of
from donewhen.readers.result import RunnerReport, Tests

RAN = CheckRun(
    end="exited",
    exit_code=0,
    signal=None,
    reason="",
    duration_ms=1,
    tail="ü",
    printed=True,
    reading=RunnerReport("pytest", Tests(1, 1, 0, 0), failures=("a",), ran=("a", "b")),
    evidence="sidecar",
    expected=("pytest",),
    touched=("x (y)",),
)


def test_a_cached_run_is_returned_unchanged_and_marked_as_cached(tmp_path: Path) -> None:
    runs = RunCache(tmp_path)
    runs.put("key", RAN)
    assert runs.get("key") == replace(RAN, cached=True)
    assert RunCache(tmp_path, fresh=True).get("key") is None
    runs.drop("key")
    assert runs.get("key") is None


@pytest.mark.parametrize("ran", [replace(RAN, end="timed_out"), replace(RAN, keepable=False)])
def test_an_interrupted_run_is_not_cached(tmp_path: Path, ran: CheckRun) -> None:
    RunCache(tmp_path).put("key", ran)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"end": 1}', "\x00"])
def test_a_damaged_cache_entry_is_ignored(tmp_path: Path, content: str) -> None:
    (tmp_path / "key").write_text(content)
    assert RunCache(tmp_path).get("key") is None


def test_only_the_newest_runs_are_cached(tmp_path: Path) -> None:
    forget_old_runs(tmp_path)
    for age, name in enumerate(["oldest", "old", "new"]):
        RunCache(tmp_path / RUNS).put(name, RAN)
        os.utime(tmp_path / RUNS / name, (age, age))
    forget_old_runs(tmp_path, kept=2)
    assert sorted(path.name for path in (tmp_path / RUNS).iterdir()) == ["new", "old"]


def test_every_part_of_a_cache_key_counts() -> None:
    assert len({key_of(1, "a"), key_of(1, "b"), key_of(2, "a"), key_of("1a")}) == 4
