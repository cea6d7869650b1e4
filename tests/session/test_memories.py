"""The verbs on the memory, as a program calls them: what is recalled for a log, and that a recall is not counted."""

import json
from pathlib import Path

import pytest

from donewhen.server.methods.table import TABLE
from donewhen.session.verbs.memory import memory_import, memory_list, memory_recall
from memory.repairs import learnt, log


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(shown: int = 0) -> None:
    offer = {"round": 1, "signature": "k", "withheld": False, "ending": "passed", "at": "2026"}
    offers = [{**offer, "session": f"s{number}"} for number in range(shown)]
    memory_import("file", json.dumps({**learnt().plain(), "offers": offers}).encode())


def test_recall_returns_repairs_of_the_failure_and_of_no_other() -> None:
    assert memory_recall(log(), "build") is None
    fill()
    found = memory_recall("compiling\n" + log() + "make: *** [all] Error 1\n", "build")
    assert found is not None and (found["repair"], found["times_helped"]) == (learnt().id, 0)
    assert "| declared it" in found["text"]
    assert memory_recall(log("vat"), "build") is None
    assert memory_recall(log(), "other") is None


def test_a_recall_by_a_program_is_not_counted_and_never_withheld() -> None:
    fill(shown=9)
    for _ in range(3):
        found = memory_recall(log(), "build")
        assert found is not None and found["text"] and found["times_helped"] == 9
    assert memory_list()[0]["offered"] == 9


def test_a_disabled_memory_recalls_nothing_for_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    fill()
    monkeypatch.setenv("DONEWHEN__MEMORY__ENABLED", "false")
    assert memory_recall(log(), "build") is None
    monkeypatch.delenv("DONEWHEN__MEMORY__ENABLED")
    assert memory_recall(log(), "build") is not None


def test_repairs_of_a_repository_are_listed_for_any_path(place: Path) -> None:
    repo = place / "two  spaces"
    (repo / "inside").mkdir(parents=True)
    memory_import("file", json.dumps(learnt(repo=str(repo)).plain()).encode())
    assert [len(memory_list(repo=str(one))) for one in (repo, repo / "inside", place)] == [1, 1, 0]


def test_every_method_is_found_by_its_name() -> None:
    names = [name for name in TABLE if name.startswith("memory.")]
    of_repairs = ("list", "show", "recall", "forget", "export", "import", "signature")
    assert names == [f"memory.{verb}" for verb in (*of_repairs, "texts", "forget_texts", "record", "notes")]
    assert all(callable(TABLE[name].function) for name in names)
