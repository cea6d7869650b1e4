"""Trees merged in the store: what git decides, what it returns, and what another text resolves."""

from pathlib import Path

import pytest

from donewhen.workspace.git.store.merge_trees import merge, resolve_conflicts
from repositories import Files, commit, git, opened, repository, write

pytestmark = pytest.mark.anyio
BASE: Files = {"a.txt": "1\n2\n3\n", "b.txt": "b\n", "c.txt": "c\nc\nc\nc\n"}


def tree(root: Path, name: str, files: Files, gone: tuple[str, ...] = (), moved: tuple[str, str] = ("", "")) -> str:
    git(root, "checkout", "--quiet", "-b", name, "main")
    write(root, files)
    for path in gone:
        (root / path).unlink()
    if moved[0]:
        (root / moved[0]).rename(root / moved[1])
    commit(root)
    return git(root, "rev-parse", f"{name}^{{tree}}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", BASE)


async def test_changes_of_different_files_are_merged(root: Path) -> None:
    base = git(root, "rev-parse", "main^{tree}")
    ours, theirs = tree(root, "ours", {"a.txt": "x\n"}), tree(root, "theirs", {"b.txt": "y\n"})
    both = tree(root, "both", {"a.txt": "x\n", "b.txt": "y\n"})
    async with opened(root, root.parent / "store") as store:
        merged = await merge(store.bare, base, ours, theirs)
    assert (merged.tree, merged.conflicts) == (both, ())


async def test_a_merge_with_nothing_or_with_itself_is_the_same_tree(root: Path) -> None:
    base, ours = git(root, "rev-parse", "main^{tree}"), tree(root, "ours", {"a.txt": "x\n"})
    async with opened(root, root.parent / "store") as store:
        for one, other in ((ours, base), (base, ours), (ours, ours)):
            assert (await merge(store.bare, base, one, other)).tree == ours


async def test_conflicting_lines_are_returned_in_three_versions_and_a_fourth_resolves_them(root: Path) -> None:
    base = git(root, "rev-parse", "main^{tree}")
    ours = tree(root, "ours", {"a.txt": "1\nours\n3\n", "new.txt": "o\n"})
    theirs = tree(root, "theirs", {"a.txt": "1\ntheirs\n3\n", "new.txt": "t\n"})
    async with opened(root, root.parent / "store") as store:
        merged = await merge(store.bare, base, ours, theirs)
        assert [(sides.path, sides.lines_only) for sides in merged.conflicts] == [("a.txt", True), ("new.txt", True)]
        sides, new = merged.conflicts
        ids = [side.id for side in (sides.base, sides.ours, sides.theirs) if side]
        assert await store.bare.contents(ids) == [b"1\n2\n3\n", b"1\nours\n3\n", b"1\ntheirs\n3\n"]
        assert new.base is None
        made = await resolve_conflicts(store.bare, merged, {"a.txt": b"1\nboth\n3\n", "new.txt": b"ot\n"})
    assert made == tree(root, "both", {"a.txt": "1\nboth\n3\n", "new.txt": "ot\n"})


async def test_a_file_removed_by_one_side_is_not_a_line_conflict(root: Path) -> None:
    base = git(root, "rev-parse", "main^{tree}")
    ours, theirs = tree(root, "ours", {}, gone=("a.txt",)), tree(root, "theirs", {"a.txt": "x\n"})
    async with opened(root, root.parent / "store") as store:
        merged = await merge(store.bare, base, ours, theirs)
    assert [(sides.path, sides.lines_only) for sides in merged.conflicts] == [("a.txt", False)]


async def test_a_file_moved_by_one_side_is_changed_at_its_new_path(root: Path) -> None:
    base = git(root, "rev-parse", "main^{tree}")
    ours = tree(root, "ours", {}, moved=("c.txt", "d.txt"))
    theirs = tree(root, "theirs", {"c.txt": "c\nc\nc\nc\nmore\n"})
    async with opened(root, root.parent / "store") as store:
        merged = await merge(store.bare, base, ours, theirs)
    assert merged.conflicts == ()
    assert git(root, "cat-file", "-e", base) == ""
