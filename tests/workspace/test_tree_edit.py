"""Trees with some paths changed: the same ids as from git's own index, with any obstacles."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.errors import MachineryBroke
from donewhen.workspace.git.objects import FILE, LINK, PROGRAM, TreeEntry
from donewhen.workspace.git.store import Store, edit_tree
from repositories import ODD_NAMES, git, opened, repository
from tiers import examples

pytestmark = pytest.mark.anyio

NAMES = (b"a", b"a.b", b"b", b"two\nlines", b"latin \xe9")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(b"/".join)
MODES = st.sampled_from([FILE, PROGRAM, LINK])


def without_clashes(paths: set[bytes]) -> set[bytes]:
    return {path for path in paths if not any(other != path and path.startswith(other + b"/") for other in paths)}


@st.composite
def scenes(draw: st.DrawFn) -> tuple[dict[bytes, int], dict[bytes, int | None]]:
    """The files of a tree, and changes of it."""
    before = without_clashes(draw(st.sets(PATHS, max_size=8)))
    gone = draw(st.sets(st.one_of(PATHS, st.sampled_from(sorted(before) or [b"a"])), max_size=4))
    made = without_clashes(draw(st.sets(PATHS, max_size=5)))
    changes: dict[bytes, int | None] = dict.fromkeys(gone - made)
    changes |= {path: draw(MODES) for path in made}
    return {path: draw(MODES) for path in before}, changes


class Scratch:
    """One repository for all examples: their trees are made by git's index alone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.blobs = [git(root, "hash-object", "-w", "--stdin", given=text) for text in (b"before", b"after")]

    def tree(self, lines: list[bytes]) -> str:
        git(self.root, "update-index", "--add", "--replace", "-z", "--index-info", given=b"".join(lines))
        return git(self.root, "write-tree")

    def by_git(self, before: dict[bytes, int], changes: dict[bytes, int | None]) -> tuple[str, str]:
        git(self.root, "read-tree", "--empty")
        old = self.tree([b"%o %s\t%s\0" % (mode, self.blobs[0].encode(), path) for path, mode in before.items()])
        gone = [b"0 %s\t%s\0" % (b"0" * 40, path) for path, mode in changes.items() if mode is None]
        made = [b"%o %s\t%s\0" % (mode, self.blobs[1].encode(), path) for path, mode in changes.items() if mode]
        return old, self.tree(gone + made)


async def edited(store: Store, old: str, changes: dict[bytes, int | None], blob: str) -> str:
    return await edit_tree.with_changes(
        store.bare, old, {path: TreeEntry(mode, blob) if mode else None for path, mode in changes.items()}
    )


async def test_any_change_of_any_tree_gives_the_id_that_git_gives(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    scratch = Scratch(root)
    found: list[tuple[dict[bytes, int], dict[bytes, int | None]]] = []

    @settings(max_examples=examples(40), database=None)
    @given(scenes())
    def gather(scene: tuple[dict[bytes, int], dict[bytes, int | None]]) -> None:
        found.append(scene)

    gather()
    expected = [(changes, *scratch.by_git(before, changes)) for before, changes in found]
    async with opened(root, tmp_path / "state") as store:
        for changes, old, new in expected:
            assert await edited(store, old, changes, scratch.blobs[1]) == new, (old, changes)


async def test_unusual_names_are_added_and_removed(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {b"deep/er/" + name: "x" for name in ODD_NAMES if b"/" not in name})
    async with opened(root, tmp_path / "state") as store:
        tree = await store.tree_of(store.repo.head)
        paths = [b"deep/er/" + name for name in ODD_NAMES if b"/" not in name]
        entry = TreeEntry(FILE, store.bare.write("blob", b"y"))
        changed = await edit_tree.with_changes(store.bare, tree, dict.fromkeys(paths, entry))
        assert {change.kind for change in await store.diff(tree, changed)} == {"modified"}
        assert len(await store.diff(tree, changed)) == len(paths)
        empty = await edit_tree.with_changes(store.bare, changed, dict.fromkeys(paths))
        assert empty == store.bare.write("tree", b"")


async def test_untouched_directories_are_not_read(tmp_path: Path) -> None:
    """A tree whose other directories are missing can still be edited."""
    root = repository(tmp_path / "r", {"near/a": "a"})
    async with opened(root, tmp_path / "state") as store:
        nowhere = "1" * 40
        tree = store.bare.write("tree", b"40000 far\0" + bytes.fromhex(nowhere))
        entry = TreeEntry(FILE, store.bare.write("blob", b"y"))
        changed = await edit_tree.with_changes(store.bare, tree, {b"near/a": entry})
        assert nowhere.encode() in (await store.bare.run("ls-tree", changed))


async def test_an_empty_edit_gives_the_same_tree_without_reading_it(tmp_path: Path) -> None:
    async with opened(repository(tmp_path / "r"), tmp_path / "state") as store:
        assert await edit_tree.with_changes(store.bare, "not even an id", {}) == "not even an id"


async def test_a_missing_tree_is_named(tmp_path: Path) -> None:
    async with opened(repository(tmp_path / "r"), tmp_path / "state") as store:
        with pytest.raises(MachineryBroke, match="tree 2222"):
            await edit_tree.with_changes(store.bare, "2" * 40, {b"a": None})


async def test_a_path_cannot_be_both_file_and_directory(tmp_path: Path) -> None:
    async with opened(repository(tmp_path / "r"), tmp_path / "state") as store:
        entry = TreeEntry(FILE, store.bare.write("blob", b"y"))
        with pytest.raises(ValueError, match="file and a directory"):
            await edit_tree.with_changes(store.bare, await store.tree_of(store.repo.head), {b"a": entry, b"a/b": entry})
