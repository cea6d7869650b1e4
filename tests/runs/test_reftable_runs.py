"""Repositories in the reftable format, made and examined by a git that knows it: every verb that needs references.

The program itself uses the git of the machine, which may be older.
"""

from pathlib import Path

import pytest

from needs import needs, needs_reftable_git
from repositories import commit, git, repository
from repositories import write as put
from runs.scenes import FILES, RIGHT, run, run_verb


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    needs("bwrap")
    monkeypatch.setenv("PATH", needs_reftable_git())
    return repository(tmp_path / "repo", FILES, "--ref-format=reftable")


def is_sound(repo: Path) -> None:
    git(repo, "fsck", "--strict", "--full", "--no-dangling")
    assert git(repo, "rev-parse", "--show-ref-format") == "reftable"
    assert [path.name for path in (repo / ".git").rglob("*") if "lock" in path.name or "donewhen" in path.name] == []


def test_a_run_lands_its_branch_and_discard_removes_it(repo: Path) -> None:
    ran = run(repo, RIGHT)
    branch = f"donewhen/{ran.session}"
    assert (ran.code, ran.one("landed")["commit"]) == (0, git(repo, "rev-parse", branch))
    assert git(repo, "show", f"{branch}:answer.txt") == "right"
    assert git(repo, "log", "-g", "--format=%gs", branch) == "donewhen: landed"
    is_sound(repo)
    discarded = run_verb(repo, "discard", ran.session)
    assert discarded.code == 0, discarded.err
    assert git(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    is_sound(repo)


def test_land_onto_the_branch_of_the_checkout_moves_it_and_its_files(repo: Path) -> None:
    ran = run(repo, RIGHT, "--land", "none")
    put(repo, {"elsewhere.txt": "theirs\n"})
    theirs = commit(repo)
    landed = run_verb(repo, "land", ran.session, "--onto", "main")
    assert landed.code == 0, landed.err
    assert git(repo, "rev-parse", "main^") == theirs
    assert (repo / "answer.txt").read_text() == "right\n"
    assert git(repo, "status", "--porcelain") == ""
    for name in ("main", "HEAD"):
        assert git(repo, "log", "-g", "-1", "--format=%gs", name) == "donewhen: landed"
    is_sound(repo)


def test_apply_also_changes_the_files_of_a_clean_checkout(repo: Path) -> None:
    ran = run(repo, RIGHT, "--land", "apply")
    assert ran.code == 0, ran.err
    assert (repo / "answer.txt").read_text() == "right\n"
    assert git(repo, "rev-parse", f"donewhen/{ran.session}^{{tree}}") == git(repo, "write-tree")


def test_a_base_may_be_named_by_a_reflog(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    put(repo, {"answer.txt": "wrong again\n"})
    commit(repo)
    ran = run(repo, RIGHT, "--base", "main@{1}")
    assert (ran.code, ran.events[0]["base"]) == (0, first), ran.err


def test_init_and_check_work_in_a_linked_worktree_too(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", "../side")
    for place in (repo, repo.parent / "side"):
        (place / "donewhen.toml").unlink()
        put(place, {"Makefile": "test:\n\tgrep -qx wrong answer.txt\n"})
        assert run_verb(place, "init").code == 0
        checked = run_verb(place, "check")
        assert checked.code == 0, checked.err
    is_sound(repo)


def test_files_are_not_applied_during_a_cherry_pick(repo: Path) -> None:
    git(repo, "update-ref", "CHERRY_PICK_HEAD", "HEAD")
    assert not (repo / ".git" / "CHERRY_PICK_HEAD").exists()
    ran = run(repo, RIGHT, "--land", "apply")
    assert (ran.code, "a cherry-pick is in progress in the checkout" in ran.err) == (0, True), ran.err
    assert (repo / "answer.txt").read_text() == "wrong\n"


def test_a_link_in_place_of_the_tables_is_refused_in_one_line(repo: Path) -> None:
    control = run_verb(repo, "check")
    assert control.code == 1, control.err
    tables = repo / ".git" / "reftable"
    tables.rename(repo.parent / "elsewhere")
    tables.symlink_to(repo.parent / "elsewhere")
    refused = run_verb(repo, "check")
    assert (refused.code, refused.err) == (2, f"donewhen: {tables} is a link, which is not followed here\n")
