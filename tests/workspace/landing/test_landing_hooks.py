"""Programs planted in the user's repository never run during a landing; plain git runs them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from landing_work import commit_of, store_of, work

from donewhen.workspace.git.landing.apply import apply_to_checkout
from donewhen.workspace.git.landing.branches import hold_branch, move_branch, remove_branch
from donewhen.workspace.git.landing.deliver_objects import deliver
from donewhen.workspace.git.landing.refusals import NotLanded
from repositories import git, repository, try_git, write

pytestmark = pytest.mark.anyio

HOOKS = (
    "reference-transaction", "post-index-change", "post-checkout", "pre-commit", "post-commit", "post-merge",
    "post-update", "update", "pre-receive", "pre-auto-gc", "post-rewrite",
)  # fmt: skip


def program(root: Path) -> str:
    """Leave a mark outside the repository and pass the input on."""
    path = root.parent / "evil.sh"
    path.write_text(f"#!/bin/sh\n: > '{root.parent / 'mark'}'\nexec cat\n")
    path.chmod(0o755)
    return str(path)


def hooks(root: Path) -> None:
    write_hooks(root / ".git" / "hooks", program(root))


def hooks_elsewhere(root: Path) -> None:
    write_hooks(root.parent / "hooks", program(root))
    git(root, "config", "core.hooksPath", str(root.parent / "hooks"))


def write_hooks(directory: Path, path: str) -> None:
    directory.mkdir(exist_ok=True)
    for name in HOOKS:
        (directory / name).symlink_to(path)


def file_monitor(root: Path) -> None:
    git(root, "config", "core.fsmonitor", program(root))


def filter_outside_of_the_tree(root: Path) -> None:
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    git(root, "config", "filter.evil.smudge", program(root))
    git(root, "config", "filter.evil.clean", program(root))


def committed_filter(root: Path) -> None:
    write(root, {".gitattributes": "*.txt filter=evil\n"})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "rules")
    git(root, "config", "filter.evil.smudge", program(root))


def signing(root: Path) -> None:
    git(root, "config", "commit.gpgSign", "true")
    git(root, "config", "gpg.program", program(root))


PLANTS = [hooks, hooks_elsewhere, file_monitor, filter_outside_of_the_tree, committed_filter, signing]


def by_plain_git(root: Path) -> None:
    """The same as a landing by plain git: a branch, new files and a new index, a commit."""
    write(root, {"control.txt": "c\n"})
    for command in (
        ("add", "control.txt"),
        ("commit", "--quiet", "-m", "control"),
        ("update-ref", "refs/heads/control", "HEAD"),
        ("checkout", "--quiet", "HEAD~1"),
        ("checkout", "--quiet", "main"),
    ):
        try_git(root, *command)


@pytest.mark.parametrize("plant", PLANTS)
async def test_no_planted_program_runs_during_a_landing(tmp_path: Path, plant: Callable[[Path], None]) -> None:
    for name in ("control", "ours"):
        (tmp_path / name).mkdir()
        plant(repository(tmp_path / name / "r", {"a.txt": "a\n", "b.txt": "b\n"}))
        (tmp_path / name / "mark").unlink(missing_ok=True)
    by_plain_git(tmp_path / "control" / "r")
    assert (tmp_path / "control" / "mark").exists(), "plain git runs it"
    root = tmp_path / "ours" / "r"
    async with store_of(root, tmp_path / "state") as store:
        tree = await work(store, {b"a.txt": b"changed\n", b"new.txt": b"n\n", b"b.txt": None})
        made = commit_of(store, tree)
        await deliver(store, store.repo, made)
        move_branch(store.repo, "donewhen/x", None, made)
        refused = False
        try:
            await apply_to_checkout(store, store.repo, await store.tree_of(store.repo.head), tree)
        except NotLanded:
            refused = True  # a filter that would have to run is a reason not to change the files
        with hold_branch(store.repo, "main") as branch:
            branch.move(made)
        remove_branch(store.repo, "donewhen/x", made)
    assert not (tmp_path / "ours" / "mark").exists()
    assert refused == (plant in (committed_filter, filter_outside_of_the_tree))
    git(root, "-c", "core.fsmonitor=false", "fsck", "--strict")
