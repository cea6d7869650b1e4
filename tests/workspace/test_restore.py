"""A maker tree restored to an earlier snapshot: every file as it was, after any changes."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.sandbox.sandbox import ShellCommand
from donewhen.workspace.trees import orphans
from donewhen.workspace.trees.trees import Tree
from needs import needs
from repositories import repository
from tiers import EVERYTHING

pytestmark = pytest.mark.anyio
FILES = {"a.txt": "a\n", "d/x": "x\n", "d/f": "f\n", "d/e/deep": "deep\n", "run.sh": "echo\n", ".gitignore": "built/\n"}
STEPS = (
    "echo 1 >> a.txt", "rm -f a.txt", "rm -rf d", "rm -rf d; echo file > d", "rm -rf d; mkdir d; echo new > d/x",
    "mkdir -p new/er; echo n > new/er/n", "rm -rf new", "mv d moved", "rm -rf moved", "chmod +x run.sh",
    "ln -sf a.txt link", "rm -f link; mkdir link; echo in > link/in", "rm -rf link", "rm -f d/f",
    "git checkout -q -- . ", "rm -rf a.txt; mkdir a.txt; echo y > a.txt/y", "mkdir -p built; date +%N > built/out",
)  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repository", FILES)


@asynccontextmanager
async def maker(root: Path) -> AsyncGenerator[tuple[Workplace, Tree]]:
    async with open_workplace(root) as place:
        head = place.repo.head
        tree = await place.trees.make("maker", head, await place.tree_layers(head))
        try:
            yield place, tree
        finally:
            await place.trees.remove(tree, discard=True)


async def run(place: Workplace, tree: Tree, text: str) -> str:
    finished = await place.sandbox(tree).run(ShellCommand(text=text))
    return finished.stdout.whole().decode()


SHOW = "find . -path ./.git -prune -o -print -exec sh -c '[ -f \"$1\" ] && cat \"$1\"' sh {} ';' | sort"


@example(before=["rm -rf d; mkdir d; echo new > d/x"], after=["git checkout -q -- . "])
@settings(max_examples=15 if EVERYTHING else 4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(STEPS), max_size=4), st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
def test_a_restored_tree_equals_its_snapshot_after_any_changes(root: Path, before: list[str], after: list[str]) -> None:
    async def show() -> None:
        async with maker(root) as (place, tree):
            await run(place, tree, " ; ".join(before or ["true"]))
            snapshot = (await place.trees.capture(tree)).tree
            seen = await run(place, tree, f"rm -rf built; {SHOW}")
            await run(place, tree, " ; ".join(after))
            await place.trees.restore(tree, snapshot)
            assert (await place.trees.capture(tree)).tree == snapshot
            assert await run(place, tree, f"rm -rf built; {SHOW}") == seen

    anyio.run(show)


async def test_ignored_files_survive_a_restore(root: Path) -> None:
    async with maker(root) as (place, tree):
        snapshot = (await place.trees.capture(tree)).tree
        await run(place, tree, "mkdir built; echo kept > built/out; echo 1 >> a.txt; rm d/f")
        await place.trees.restore(tree, snapshot)
        assert await run(place, tree, "cat built/out a.txt d/f") == "kept\na\nf\n"


async def test_files_that_cannot_be_captured_do_not_stop_a_restore(root: Path) -> None:
    async with maker(root) as (place, tree):
        await run(place, tree, "echo 1 >> a.txt")
        snapshot = (await place.trees.capture(tree)).tree
        await run(place, tree, "mkfifo pipe; rm -rf d")
        await place.trees.restore(tree, snapshot)
        assert await run(place, tree, "ls; cat a.txt d/f") == "a.txt\nd\nrun.sh\na\n1\nf\n"


async def test_a_tree_of_a_dead_owner_is_adopted_with_its_content(root: Path) -> None:
    async with open_workplace(root) as place:
        head = place.repo.head
        tree = await place.trees.make("maker", head, await place.tree_layers(head))
        await run(place, tree, "echo 1 >> a.txt; mkdir built; echo o > built/out")
        assert await orphans.adopt(place.trees, tree.facts.name) is None  # its owner is alive
        await place.trees.capture(tree)
        orphans.release(tree)
        again = await orphans.adopt(place.trees, tree.facts.name)
        assert again is not None
        assert await run(place, again, "cat a.txt built/out") == "a\n1\no\n"
        assert await orphans.saved_tree(place.trees, tree.facts.name) == (await place.trees.capture(again)).tree
        await place.trees.remove(again, discard=True)
        assert await orphans.adopt(place.trees, tree.facts.name) is None
