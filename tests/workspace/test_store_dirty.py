"""Uncommitted changes: reported and put into a snapshot exactly as the user's own git sees them."""

import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.errors import BadInput
from donewhen.workspace.git.objects import text
from needs import needs_root
from repositories import (
    ODD_NAMES,
    commit,
    contents,
    environment,
    git,
    lfs_repository,
    opened,
    pointer,
    repository,
    try_git,
    write,
)

pytestmark = pytest.mark.anyio

BASE = {
    ".gitignore": "*.o\nbuild/\n", "edited": "1\n", "gone": "g\n", "moved": "m\n", "staged": "s\n", "both": "b\n",
    "turns": "t\n", "dir/a": "a\n", "dir/b": "b\n", "mode": "x\n", "build/kept": "tracked although ignored\n",
}  # fmt: skip


def base_repository(root: Path) -> Path:
    repository(root, BASE)
    git(root, "add", "--force", "build/kept")
    git(root, "commit", "--quiet", "--amend", "--no-edit")
    return root


def everything_dirty(root: Path) -> None:
    write(root, {"edited": "2\n", "staged": "index\n", "both": "index\n", "new": "n\n", "new.o": "", "build/x": ""})
    write(root, {"build/kept": "changed\n", "in/side/deep": "d\n"})
    git(root, "rm", "--quiet", "gone")
    git(root, "mv", "moved", "moved here")
    git(root, "add", "staged", "both")
    write(root, {"both": "worktree\n"})
    (root / "turns").unlink()
    (root / "turns").symlink_to("edited")
    (root / "mode").chmod(0o755)
    (root / "dir" / "a").unlink()


def file_and_directory_swap(root: Path) -> None:
    shutil.rmtree(root / "dir")
    (root / "dir").write_text("a file now")
    (root / "edited").unlink()
    write(root, {"edited/inside": "a directory now"})


def link_for_a_directory(root: Path) -> None:
    (root / "dir").rename(root / "elsewhere")
    (root / "dir").symlink_to("elsewhere")


def taken_out_of_the_index(root: Path) -> None:
    git(root, "rm", "--quiet", "--cached", "edited", "gone")
    (root / "gone").unlink()
    write(root, {"added then removed": "x", "intended": "i"})
    git(root, "add", "added then removed")
    (root / "added then removed").unlink()
    git(root, "add", "--intent-to-add", "intended")


def odd_names(root: Path) -> None:
    write(root, dict.fromkeys(ODD_NAMES, "odd"))
    os.symlink(b"broken \xff\xfe", bytes(root / "odd link"))
    (root / "out").symlink_to("/etc/passwd")


def split_index(root: Path) -> None:
    git(root, "update-index", "--split-index")
    everything_dirty(root)


def sparse_index(root: Path) -> None:
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "build")
    write(root, {"edited": "2\n", "build/kept": "3\n"})


def line_ends(root: Path) -> None:
    git(root, "config", "core.autocrlf", "true")
    write(root, {"edited": "1\r\n", "both": "really changed\r\n", "new": "n\r\n"})


def no_modes(root: Path) -> None:
    git(root, "config", "core.fileMode", "false")
    (root / "mode").chmod(0o755)
    write(root, {"edited": "2\n"})


def rules_outside_the_tree(root: Path) -> None:
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("*.private\n")
    directory = Path(environment()["XDG_CONFIG_HOME"], "git")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "ignore").write_text("*.mine\n")
    write(root, {"a.private": "p", "a.mine": "m", "a.public": "x"})


def detached(root: Path) -> None:
    git(root, "checkout", "--quiet", "--detach")
    everything_dirty(root)


def locked(root: Path) -> None:
    everything_dirty(root)
    (root / ".git" / "index.lock").touch()


SCENES = [
    everything_dirty, file_and_directory_swap, link_for_a_directory, taken_out_of_the_index, odd_names, split_index,
    sparse_index, line_ends, no_modes, rules_outside_the_tree, detached, locked,
]  # fmt: skip
Scene = Callable[[Path], None]


def tree_that_git_would_make(root: Path) -> str:
    """`add --all` and `write-tree` by the user's own git, with a separate index."""
    (root / ".git" / "index.lock").unlink(missing_ok=True)
    git(root, "add", "--all")
    return git(root, "write-tree")


def paths_in_status(root: Path) -> set[str]:
    """What the user's own git calls changed, without what is only in its index."""
    answer = try_git(root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all").stdout
    return {text(record[3:]) for record in answer.split(b"\0") if record and not record.startswith(b"AD")}


@pytest.mark.parametrize("scene", SCENES)
async def test_a_snapshot_is_what_adding_everything_would_have_committed(tmp_path: Path, scene: Scene) -> None:
    root = base_repository(tmp_path / "r")
    scene(root)
    async with opened(root, tmp_path / "state") as store:
        snapshot = await store.snapshot()
        changes = {change.path for change in await store.uncommitted()}
        tree = await store.tree_of(snapshot)
        assert await store.snapshot() == snapshot, "the same changes make the same commit"
        assert await store.resolve(f"{snapshot}^") == store.repo.head
    assert changes == paths_in_status(root)
    assert tree == tree_that_git_would_make(root)
    assert try_git(root, "cat-file", "-e", snapshot).returncode != 0, "the snapshot is in our store only"


async def test_uncommitted_changes_are_reported_by_kind(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    everything_dirty(root)
    async with opened(root, tmp_path / "state") as store:
        kinds = {change.path: change.kind for change in await store.uncommitted()}
    assert kinds == {
        "both": "modified", "build/kept": "modified", "dir/a": "deleted", "edited": "modified", "gone": "deleted",
        "in/side/deep": "added", "mode": "modified", "moved": "deleted", "moved here": "added", "new": "added",
        "staged": "modified", "turns": "modified",
    }  # fmt: skip


async def test_a_clean_checkout_has_nothing_uncommitted_and_its_snapshot_is_head(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        assert await store.uncommitted() == []
        assert await store.snapshot() == store.repo.head


async def test_a_snapshot_checks_out_as_the_user_s_files(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    everything_dirty(root)
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(await store.snapshot(), tmp_path / "out")
    theirs = contents(root)
    for ignored in (b"new.o", b"build/x"):
        del theirs[ignored]
    assert contents(tmp_path / "out") == theirs


async def test_unmerged_paths_are_reported_and_prevent_a_snapshot(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "checkout", "--quiet", "-b", "side")
    write(root, {"a.txt": "theirs\n"})
    commit(root)
    git(root, "checkout", "--quiet", "main")
    write(root, {"a.txt": "ours\n"})
    commit(root)
    assert try_git(root, "merge", "side").returncode != 0
    async with opened(root, tmp_path / "state") as store:
        assert [(change.path, change.kind) for change in await store.uncommitted()] == [("a.txt", "unmerged")]
        with pytest.raises(BadInput, match=r"a\.txt is unmerged: resolve it first"):
            await store.snapshot()


async def test_a_nested_repository_is_reported_and_left_out_of_the_snapshot(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    repository(root / "nested")
    write(root, {"b.txt": "b"})
    async with opened(root, tmp_path / "state") as store:
        kinds = {change.path: change.kind for change in await store.uncommitted()}
        changed = await store.diff(*[await store.tree_of(c) for c in (store.repo.head, await store.snapshot())])
    assert kinds == {"b.txt": "added", "nested": "nested"}
    assert [change.path for change in changed] == ["b.txt"]


async def test_a_submodule_at_another_commit_is_a_change_and_changes_inside_it_are_not(tmp_path: Path) -> None:
    repository(tmp_path / "part")
    root = repository(tmp_path / "whole")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "part"), "sub")
    commit(root)
    write(root / "sub", {"a.txt": "dirty", "new": "untracked"})
    async with opened(root, tmp_path / "state") as store:
        assert await store.uncommitted() == []
    commit(root / "sub")
    async with opened(root, tmp_path / "state") as store:
        assert [change.path for change in await store.uncommitted()] == ["sub"]
        tree = await store.tree_of(await store.snapshot())
    assert tree == tree_that_git_would_make(root)


async def test_lfs_content_is_compared_by_its_pointer(tmp_path: Path) -> None:
    root, here = lfs_repository(tmp_path / "r")
    write(root, {"here.bin": here, "there.bin": b"edited content", "new.bin": b"new content"})
    async with opened(root, tmp_path / "state") as store:
        assert [change.path for change in await store.uncommitted()] == ["new.bin", "there.bin"]
        snapshot = await store.snapshot()
        tree = await store.tree_of(snapshot)
        blobs = [change.new.id for change in await store.diff(await store.tree_of(store.repo.head), tree) if change.new]
        assert await store.bare.contents(blobs) == [pointer(b"new content"), pointer(b"edited content")]
        await store.check_out(snapshot, tmp_path / "out")
    assert (tmp_path / "out" / "new.bin").read_bytes() == b"new content"


async def test_a_change_that_needs_a_filter_cannot_be_put_into_a_snapshot(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {".gitattributes": "*.key filter=crypt\n*.x filter=unknown\n", "a.key": "sealed"})
    git(root, "config", "filter.crypt.clean", "false")
    write(root, {"b.x": "a filter that nobody defined changes nothing"})
    async with opened(root, tmp_path / "state") as store:
        assert await store.snapshot() != store.repo.head
    write(root, {"a.key": "the secret in clear"})
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(BadInput, match=r"a\.key needs the filter crypt, which is never run: commit it first"):
            await store.snapshot()


@pytest.mark.parametrize("kind", ["pipe", "device"])
async def test_a_tracked_file_that_became_something_else_is_named_in_one_line(tmp_path: Path, kind: str) -> None:
    root = repository(tmp_path / "r", {"a": "a", "b": "b"})
    (root / "a").unlink()
    if kind == "pipe":
        os.mkfifo(root / "a")
    else:
        needs_root()
        os.mknod(root / "a", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(BadInput, match="a cannot be read: is not a regular file"):
            await store.snapshot()


# -- rules files that would block git --


def pipe(root: Path, name: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)


def endless_device(root: Path, name: str) -> None:
    needs_root()
    os.mknod(root / name, stat.S_IFCHR | 0o644, os.makedev(1, 5))


TRAPS: dict[str, tuple[Callable[[Path, str], None], str]] = {
    "ignore rules": (pipe, ".gitignore"),
    "ignore rules of a tracked directory": (pipe, "d/.gitignore"),
    "ignore rules of a new directory": (pipe, "new/deep/.gitignore"),
    "attribute rules": (pipe, ".gitattributes"),
    "attribute rules that never end": (endless_device, ".gitattributes"),
    "the HEAD of a repository inside": (pipe, "nested/.git/HEAD"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize(("plant", "name"), TRAPS.values(), ids=TRAPS.keys())
async def test_a_pipe_or_device_as_a_git_rules_file_causes_no_wait(
    tmp_path: Path, plant: Callable[[Path, str], None], name: str
) -> None:
    root = repository(tmp_path / "r", {".gitignore": "*.o\n", "d/a": "a"})
    write(root, {"new/b": "b", "d/x.o": "", "nested/.git/refs/x": "", "nested/.git/objects/x": ""})
    async with opened(root, tmp_path / "state") as store:
        honest = await store.diff(await store.tree_of(store.repo.head), await store.tree_of(await store.snapshot()))
    assert [change.path for change in honest if not change.path.startswith("nested")] == ["new/b"]
    plant(root, name)
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(BadInput, match=f"^{re.escape(name)} is a pipe or a device, and git would read from it"):
            await store.snapshot()


@pytest.mark.parametrize(
    "name", ["pipe", "d/gitignore", "ignored/.gitignore", ".git/info/exclude", ".git/info/attributes"]
)
async def test_a_pipe_that_git_does_not_read_is_left_out_without_a_wait(tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / "r", {".gitignore": "/ignored/\n", "d/a": "a"})
    write(root, {"d/b": "b"})
    pipe(root, name)
    async with opened(root, tmp_path / "state") as store:
        assert [change.path for change in await store.uncommitted()] == ["d/b"]
        assert await store.snapshot() != store.repo.head
