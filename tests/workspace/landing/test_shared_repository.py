"""Files that a landing writes into a git directory have the modes that git itself gives there.

The user's git writes the same objects, references and index in a copy of the repository.
"""

import os
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from landing_work import commit_of, is_sound, store_of, work

from donewhen.workspace.git.landing.apply import apply_to_checkout
from donewhen.workspace.git.landing.branches import move_branch, remove_branch
from donewhen.workspace.git.landing.deliver_objects import deliver
from repositories import git, repository, try_git

pytestmark = pytest.mark.anyio

VALUES = ["", "umask", "false", "0", "group", "true", "1", "all", "world", "2", "0660", "0640", "0664", "0600"]
BRANCH = "team/work"


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(root: Path) -> dict[str, str]:
    """Path → kind and modes of everything in the git directory."""
    found = {str(path.relative_to(root)): stat.filemode(path.lstat().st_mode) for path in (root / ".git").rglob("*")}
    return dict(sorted(found.items()))


def written_by_git(root: Path, ours: Path, made: str, tree: str) -> None:
    """The same objects and branch, and the same files in the checkout."""
    for line in git(ours, "rev-list", "--objects", "--no-object-names", made, "^HEAD").split():
        kind = git(ours, "cat-file", "-t", line)
        content = try_git(ours, "cat-file", kind, line).stdout
        assert git(root, "hash-object", "-w", "-t", kind, "--stdin", given=content) == line
    git(root, "update-ref", "-m", "moved", f"refs/heads/{BRANCH}", made)
    git(root, "read-tree", "-m", "-u", "HEAD", tree)


@pytest.mark.sample(6)
@pytest.mark.parametrize("mask", [0o022, 0o077], ids=["open", "private"])
@pytest.mark.parametrize("value", VALUES)
async def test_files_written_by_a_landing_have_the_modes_of_git(tmp_path: Path, value: str, mask: int) -> None:
    with umask(mask):
        ours, theirs = repository(tmp_path / "ours"), tmp_path / "theirs"
        if value:
            git(ours, "config", "core.sharedRepository", value)
        shutil.copytree(ours, theirs, symlinks=True)
        before = modes(ours)
        async with store_of(ours, tmp_path / "state") as store:
            tree = await work(store, {b"new/file": b"content\n"})
            made = commit_of(store, tree)
            await deliver(store, store.repo, made)
            move_branch(store.repo, BRANCH, None, made)
            await apply_to_checkout(store, store.repo, await store.tree_of(store.repo.head), tree)
            written_by_git(theirs, ours, made, tree)
            assert modes(ours) == modes(theirs)
            assert len(modes(ours)) >= len(before) + 10
            for root in (ours, theirs):
                git(root, "pack-refs", "--all")
            remove_branch(store.repo, BRANCH, made)
            git(theirs, "update-ref", "-d", f"refs/heads/{BRANCH}")
            assert modes(ours)[".git/packed-refs"] == modes(theirs)[".git/packed-refs"]
        is_sound(ours)
