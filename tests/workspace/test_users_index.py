"""The user's index, of which git gets a copy: which paths it may name, and how much of it is copied."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.errors import BadInput
from donewhen.workspace.beneath import LeavesRoot
from donewhen.workspace.git.index import named_parts, unsafe_path
from donewhen.workspace.git.store import dirty
from repositories import git, opened, repository, write

pytestmark = pytest.mark.anyio

TRACKED = b"aaaaaaaaaa"
OUTSIDE = [
    b"../private", b"/tmp/pri/x", b"./a/bbbbbb", b"a/../../xy", b"a/..//bbbb", b"a//bbbbbbb", b"aaaaaaaaa/",
    b"aaaaaaa/..", b"aaaaaaaa/.", b".git/confi", b"a/.GiT/cfg", b"aaaaa/.git",
]  # fmt: skip
INSIDE = [b"..a/...b/c", b".github/ab", b"a/.gitmore", b"a..b../c..", b"a\\..\\bcde", b"..........", b"a git/.a/b"]


def sealed(content: bytes) -> bytes:
    """An index with a correct digest at its end."""
    return content[:-20] + hashlib.sha1(content[:-20], usedforsecurity=False).digest()


def plain(git_dir: Path, path: bytes) -> None:
    index = git_dir / "index"
    index.write_bytes(sealed(index.read_bytes().replace(TRACKED, path)))


def compressed(git_dir: Path, path: bytes) -> None:
    git(git_dir.parent, "update-index", "--index-version", "4")
    plain(git_dir, path)


def split(git_dir: Path, path: bytes) -> None:
    """The path is only in the shared part."""
    git(git_dir.parent, "update-index", "--split-index")
    (shared,) = git_dir.glob("sharedindex.*")
    content = sealed(shared.read_bytes().replace(TRACKED, path))
    index = (git_dir / "index").read_bytes()
    assert TRACKED not in index
    (git_dir / f"sharedindex.{content[-20:].hex()}").write_bytes(content)
    (git_dir / "index").write_bytes(sealed(index.replace(bytes.fromhex(shared.suffix[1:]), content[-20:])))
    shared.unlink()


Form = Callable[[Path, bytes], None]
FORMS: list[Form] = [plain, compressed, split]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", [b"../private", b"/tmp/pri/x"])
async def test_an_index_that_names_a_path_outside_the_working_tree_is_refused_in_one_line(
    tmp_path: Path, form: Form, path: bytes
) -> None:
    root = repository(tmp_path / "r", {TRACKED.decode(): "a\n"})
    form(root / ".git", path)
    line = f"{root}/.git/index names {path.decode()}, which is not a path of a working tree"
    async with opened(root, tmp_path / "state") as store:
        for look in (store.uncommitted, store.snapshot):
            with pytest.raises(BadInput, match=f"^{re.escape(line)}$"):
                await look()


@pytest.mark.parametrize("form", FORMS)
async def test_an_index_that_names_an_odd_path_of_the_working_tree_is_accepted(tmp_path: Path, form: Form) -> None:
    path = INSIDE[0]
    root = repository(tmp_path / "r", {TRACKED.decode(): "a\n"})
    form(root / ".git", path)
    assert git(root, "ls-files", "-z") == path.decode() + "\0"
    async with opened(root, tmp_path / "state") as store:
        assert TRACKED.decode() in [change.path for change in await store.uncommitted()]


async def test_an_index_that_git_cannot_read_is_one_line(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    (root / ".git" / "index").write_bytes(b"DIRC nonsense")
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(BadInput, match=f"^{root}/.git/index cannot be read: git ls-files failed: "):
            await store.uncommitted()


async def test_only_the_part_that_a_split_index_names_is_copied(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"a": "a\n", "links/link": "b\n"})
    git(root, "update-index", "--split-index")
    (named,) = (root / ".git").glob("sharedindex.*")
    for number in range(3):
        (root / ".git" / f"sharedindex.{number:040x}").write_bytes(named.read_bytes())
    write(root, {"a": "changed\n"})
    (tmp_path / "copy").mkdir()
    async with opened(root, tmp_path / "state") as store:
        dirty.copy_index(store.repo, tmp_path / "copy")
        assert [change.path for change in await store.uncommitted()] == ["a"]
    assert sorted(os.listdir(tmp_path / "copy")) == ["index", named.name]


async def test_a_part_of_the_index_that_is_a_link_or_a_pipe_is_named(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "update-index", "--split-index")
    (named,) = (root / ".git").glob("sharedindex.*")
    named.rename(tmp_path / "part")
    named.symlink_to(tmp_path / "part")
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(LeavesRoot, match=f"^{named} is a link, which is not followed here$"):
            await store.uncommitted()
    named.unlink()
    os.mkfifo(named)
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(BadInput, match=f"^{named} is not a regular file$"):
            await store.uncommitted()


@pytest.mark.sample(0)
@pytest.mark.parametrize("name", ["index", "sharedindex"])
async def test_an_index_over_the_limit_is_refused_before_any_of_it_is_copied(tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / "r")
    git(root, "update-index", "--split-index")
    (large,) = (root / ".git").glob(f"{name}*")
    size = dirty.LARGEST_INDEX
    os.truncate(large, size + 1 if name == "index" else size)
    (tmp_path / "copy").mkdir()
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(BadInput, match=f"^{large}: an index with more than 512 MiB is not read here$"):
            dirty.copy_index(store.repo, tmp_path / "copy")
    assert (tmp_path / "copy" / large.name).stat().st_size == 0


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_outside_a_working_tree_or_in_a_git_directory_is_found(path: bytes) -> None:
    assert unsafe_path(b"a/b\0" + path + b"\0c\0") == path


def test_unusual_paths_of_a_working_tree_are_accepted() -> None:
    assert unsafe_path(b"".join(path + b"\0" for path in INSIDE)) is None


def test_the_first_path_that_leads_elsewhere_is_found_among_many() -> None:
    honest = b"".join(b"src/part%d/file.py\0" % number for number in range(1000))
    assert unsafe_path(b"") is None
    assert unsafe_path(honest) is None
    assert unsafe_path(honest + b"a/../b\0" + honest) == b"a/../b"
    assert unsafe_path(b"\0" + honest) == b""


def test_a_path_that_looks_like_the_extension_does_not_hide_the_next_name() -> None:
    name = f"sharedindex.{'ab' * 20}"
    content = b"link\0link\0\0\0\x14" + b"\xab" * 20
    assert named_parts(content, [name, f"sharedindex.{'cd' * 32}"]) == {name}
