"""Directories that a repository borrows objects from: found as git finds them, and nothing behind a link."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.git.store.alternates import LONGEST, listed_paths
from donewhen.workspace.git.store.object_mirror import object_directories
from repositories import git, opened, repository, try_git

pytestmark = pytest.mark.anyio

NAMES = ("a", "b c", 'd"e', "f\ng", "h\\i", "\u00e9")
LISTS = [
    b"%b/a\n", b"%b/a", b'"%b/a"\n', b'"%b/a', b'"%b/a"x%b/b c\n', b'"%b/a"\n"%b/b c"\n', b"#%b/a\n%b/b c\n",
    b'"%b/d\\"e"\n', b'"%b/f\\ng"\n', b'"%b/f\ng"\n', b'"%b/h\\\\i"\n', b"%b/h\\i\n", b'"%b/\\303\\251"\n',
    b'"%b/\\141"\n', b'"%b/\\q"\n%b/a\n', b'"%b/a\\000x"\n', b"%b/a\0x\n%b/b c\n", b"\n\n%b/a\n\n", b" %b/a\n",
    b"../../../a\n", b'"../../../a"\n', b"%b/a/../b c/\n", b"%b/link/../a\n", b"%b/link\n", b'""\n%b/a\n', b'"',
    b"%b/a\r\n",
]  # fmt: skip


def ours(root: Path) -> set[str]:
    return {str(one.location) for one in object_directories(Root(root / ".git"))} - {str(root / ".git" / "objects")}


def as_git_says(root: Path) -> set[str]:
    lines = try_git(root, "count-objects", "-v").stdout.removesuffix(b"\n").split(b"\nalternate: ")[1:]
    return {os.path.realpath(os.fsdecode(path)) for line in lines for path in listed_paths(line)}


@pytest.fixture(name="root", scope="module")
def root_of(tmp_path_factory: pytest.TempPathFactory) -> Path:
    above = tmp_path_factory.mktemp("alternates")
    for name in NAMES:
        (above / name).mkdir()
    (above / "link").symlink_to("b c")
    return repository(above / "r")


@pytest.mark.parametrize("text", LISTS)
def test_a_list_of_alternates_is_read_as_git_reads_it(root: Path, text: bytes) -> None:
    (root / ".git" / "objects" / "info" / "alternates").write_bytes(text.replace(b"%b", bytes(root.parent)))
    assert ours(root) == as_git_says(root)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    text=st.lists(st.sampled_from([b"%b/a", b"%b/b c", b'"', b"\\", b"\n", b"#", b"141", b"n", b"\0", b"x"])).map(
        b"".join
    )
)
def test_git_never_reads_more_alternates_than_we_do(root: Path, text: bytes) -> None:
    (root / ".git" / "objects" / "info" / "alternates").write_bytes(text.replace(b"%b", bytes(root.parent)))
    assert as_git_says(root) <= ours(root)


def chain(tmp_path: Path, length: int) -> tuple[Path, list[Path]]:
    """A repository that borrows from a directory, which borrows from the next one, and so on."""
    root = repository(tmp_path / "r")
    places = [tmp_path / f"objects{number}" for number in range(length)]
    for place in places:
        (place / "info").mkdir(parents=True)
        (place / "pack").mkdir()
    for place, after in zip([root / ".git" / "objects", *places], places, strict=False):
        (place / "info" / "alternates").write_text(f"{after}\n")
    return root, places


def test_a_chain_of_alternates_is_followed_as_far_as_git_follows_it(tmp_path: Path) -> None:
    root, places = chain(tmp_path, 9)
    assert ours(root) == as_git_says(root) == {str(place) for place in places[:6]}


@pytest.mark.parametrize("depth", range(5))
async def test_a_link_in_place_of_any_list_that_git_reads_is_refused(tmp_path: Path, depth: int) -> None:
    root, places = chain(tmp_path, 5)
    (tmp_path / "private").write_text("private\n")
    link = places[depth] / "info" / "alternates"
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "private")
    with pytest.raises(LeavesRoot, match=f"^{re.escape(str(link))} is a link, which is not followed here$"):
        async with opened(root, tmp_path / "state"):
            pass


@pytest.mark.parametrize("quote", ["", '"'])
async def test_an_object_of_an_alternate_is_found_whether_its_path_is_quoted_or_not(tmp_path: Path, quote: str) -> None:
    lender = repository(tmp_path / "lender")
    git(tmp_path, "clone", "--quiet", "--shared", "lender", "r")
    root = tmp_path / "r"
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{quote}{lender}/.git/objects{quote}\n")
    async with opened(root, tmp_path / "state") as store:
        assert await store.tree_of(store.repo.head) == git(lender, "rev-parse", "HEAD^{tree}")


async def test_a_quoted_alternate_with_a_link_among_its_packs_is_refused(tmp_path: Path) -> None:
    root, (place,) = chain(tmp_path, 1)
    (root / ".git" / "objects" / "info" / "alternates").write_text(f'"{place}"\n')
    link = place / "pack" / f"pack-{'1' * 40}.idx"
    link.symlink_to(tmp_path / "private")
    with pytest.raises(LeavesRoot, match=f"^{re.escape(str(link))} is a link, which is not followed here$"):
        async with opened(root, tmp_path / "state"):
            pass


async def test_a_list_of_alternates_that_is_too_long_is_refused_and_not_cut(tmp_path: Path) -> None:
    root, _ = chain(tmp_path, 1)
    (root / ".git" / "objects" / "info" / "alternates").write_bytes(b"#" * LONGEST + b"\n")
    with pytest.raises(BadInput, match=f"^{root}/.git/objects/info/alternates is larger than 1 MiB$"):
        async with opened(root, tmp_path / "state"):
            pass
