"""Hints from another repository: shown only if the user allows it, with their repository."""

import json
import os
import sqlite3
from pathlib import Path

import pytest

from donewhen.session.verbs.memory import memory_recall
from repositories import git
from runs.repairs_seen import LEAD, RIGHT, TAX, UP, database, prompts, repairs, shop
from runs.scenes import run, run_verb

ONE_ROUND = ("--max-iterations", "1")
ACROSS = {"DONEWHEN__MEMORY__ACROSS_REPOSITORIES": "true"}


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """A repository with a learnt repair."""
    repo = shop(tmp_path / "taught")
    assert run(repo, RIGHT).code == 0
    return repo


@pytest.fixture
def other(tmp_path: Path, taught: Path) -> Path:
    """Another repository with the same failure."""
    return shop(tmp_path / "other", **{"b.txt": "another history\n"})


def first_prompt(repo: Path, session: str, monkeypatch: pytest.MonkeyPatch) -> str:
    return prompts(repo, session, monkeypatch)["native"][0]


def test_a_repository_gets_its_own_hints_in_its_worktrees_too(taught: Path, tmp_path: Path) -> None:
    git(taught, "worktree", "add", "--quiet", str(tmp_path / "worktree"))
    for place in (taught, tmp_path / "worktree"):
        hint = run(place, UP, *ONE_ROUND).one("hint_recalled")
        assert hint["source"] == ""


def test_another_repository_gets_no_hints_unless_the_user_allows_it(
    taught: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = run(other, UP, *ONE_ROUND)
    assert without.of("hint_recalled") == []
    assert LEAD not in first_prompt(other, without.session, monkeypatch)
    allowed = run(other, UP, *ONE_ROUND, env=ACROSS)
    assert allowed.one("hint_recalled")["source"] == str(taught)
    prompt = first_prompt(other, allowed.session, monkeypatch)
    assert f"It comes from another repository:\n| {taught}\n" in prompt
    assert (
        f"a hint from memory, from another repository ({taught}); it has helped"
        in run_verb(other, "log", allowed.session).out
    )


def test_a_repository_cannot_allow_foreign_hints_without_trust(taught: Path, other: Path) -> None:
    file = other / "donewhen.toml"
    file.write_text(file.read_text() + "[memory]\nacross_repositories = true\n")
    answer = run_verb(other, "check")
    assert (answer.code, "'memory.across_repositories'" in answer.one_line) == (3, True)
    assert run_verb(other, "trust").code == 0
    assert run(other, UP, *ONE_ROUND).one("hint_recalled")["source"] == str(taught)
    file.write_text(file.read_text().replace("= true", "= false"))
    assert run(other, UP, *ONE_ROUND).of("hint_recalled") == []


def test_the_user_s_own_file_can_allow_foreign_hints(taught: Path, other: Path) -> None:
    own = Path(os.environ["XDG_CONFIG_HOME"], "donewhen", "config.toml")
    own.parent.mkdir()
    own.write_text("[memory]\nacross_repositories = true\n")
    assert run(other, UP, *ONE_ROUND).one("hint_recalled")["source"] == str(taught)


def test_an_imported_repair_counts_as_foreign(taught: Path, tmp_path: Path) -> None:
    exported = run_verb(taught, "memory", "export").out
    assert run_verb(taught, "memory", "forget", "--all").code == 0
    (tmp_path / "in.jsonl").write_text(json.dumps({**json.loads(exported), "source": "x", "repo": str(taught)}))
    assert run_verb(taught, "memory", "import", str(tmp_path / "in.jsonl")).code == 0
    assert run(taught, UP, *ONE_ROUND).of("hint_recalled") == []
    (known,) = repairs(taught)
    assert known["learnt_here"] is False
    assert f"[imported or older: {taught}]" in run_verb(taught, "memory", "list").out
    assert "source    imported, or from an older version" in run_verb(taught, "memory", "show", known["id"]).out
    assert run(taught, UP, *ONE_ROUND, env=ACROSS).one("hint_recalled")["source"] == str(taught)
    assert run(taught, RIGHT).code == 0  # learnt here too: its own repair
    assert run(taught, UP, *ONE_ROUND).one("hint_recalled")["source"] == ""
    assert [one["learnt_here"] for one in repairs(taught)] == [True, False]


def test_a_repair_of_an_older_version_has_an_unknown_repository(taught: Path) -> None:
    connection = sqlite3.connect(database())
    with connection:
        connection.execute("UPDATE donewhen_repairs SET source = ''")
    connection.close()
    assert run(taught, UP, *ONE_ROUND).of("hint_recalled") == []
    assert len(run(taught, UP, *ONE_ROUND, env=ACROSS).of("hint_recalled")) == 1


def test_recall_for_a_repository_gives_its_own_repairs_and_without_one_the_best(
    taught: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(other)
    assert memory_recall(TAX, "build", str(other)) is None
    for repo in (str(taught), ""):
        assert memory_recall(TAX, "build", repo) is not None
    monkeypatch.setenv("DONEWHEN__MEMORY__ACROSS_REPOSITORIES", "true")
    found = memory_recall(TAX, "build", str(other))
    assert found is not None and found["source"] == str(taught)
