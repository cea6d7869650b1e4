"""Trees: isolated from each other and from the user, cheap to make, never removed with unsaved work."""

import json
import os
import re
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from donewhen.errors import BadInput
from donewhen.session.verbs.doctor import diagnose
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.beneath import Root
from donewhen.workspace.process.command import Finished
from donewhen.workspace.sandbox.sandbox import SandboxConfig, SandboxTree, ShellCommand, TreeSandbox
from donewhen.workspace.sandbox.view import Overlay
from donewhen.workspace.trees import orphans
from donewhen.workspace.trees.capture import write_layer
from donewhen.workspace.trees.layers import KEPT_BASES
from donewhen.workspace.trees.trees import PORTS_PER_TREE, Tree, TreeLayers, Trees, Unsaved, copy_layer, free_ports
from needs import needs
from repositories import commit, contents, digest, git, repository, write

pytestmark = pytest.mark.anyio
FILES = {"file.txt": "base\n", "sub/inner.txt": "inner\n", ".gitignore": "ignored/\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repository", FILES)


@asynccontextmanager
async def opened(root: Path) -> AsyncGenerator[tuple[Workplace, str]]:
    """A workplace and the commit at HEAD; the user's repository must not change."""
    before = digest(root)
    async with open_workplace(root) as place:
        yield place, await place.store.resolve("HEAD")
    assert digest(root) == before


async def run(place: Workplace, tree: Tree, text: str) -> str:
    finished: Finished = await place.sandbox(tree).run(ShellCommand(text=text))
    assert finished.ok, (finished.reason, finished.stdout.whole())
    return finished.stdout.whole().decode()


async def test_two_trees_of_one_commit_do_not_see_each_other(root: Path) -> None:
    async with opened(root) as (place, head):
        async with place.tree("throwaway", head) as one, place.tree("throwaway", head) as two:
            await run(place, one, "echo one > file.txt; touch only-one")
            assert await run(place, two, "cat file.txt; ls") == "base\nfile.txt\nsub\n"
            assert await run(place, one, "cat file.txt; ls") == "one\nfile.txt\nonly-one\nsub\n"


async def test_copying_a_layer_over_a_link_of_the_base_replaces_the_link(tmp_path: Path) -> None:
    """A later commit may turn a directory of an older setup layer into a link."""
    write(tmp_path / "outside", {"kept": "precious"})
    write(tmp_path / "base", {"a/file": "base", "b": "file", "c/d/e": "deep"})
    (tmp_path / "base" / "packages").symlink_to(tmp_path / "outside")
    write(tmp_path / "setup", {"packages/kept": "installed", "b/c": "directory now", "c/d": "file now"})
    (tmp_path / "setup" / "a").mkdir()
    (tmp_path / "setup" / "a" / "link").symlink_to("/etc")
    (tmp_path / "tree").mkdir()
    for layer in ("base", "setup"):
        copy_layer(Root(tmp_path / layer), Root(tmp_path / "tree"))
    assert (tmp_path / "outside" / "kept").read_text() == "precious"
    assert contents(tmp_path / "tree", directories=False) == {
        b"a/file": ("file", b"base"),
        b"a/link": ("link", b"/etc"),
        b"b/c": ("file", b"directory now"),
        b"c/d": ("file", b"file now"),
        b"packages/kept": ("file", b"installed"),
    }


@pytest.mark.parametrize("path", [".git", "./.git", ".git/config", ".", "./", "sub/.."])
async def test_the_git_directory_and_the_whole_checkout_are_not_shared(root: Path, path: str) -> None:
    async with opened(root) as (place, head):
        with pytest.raises(BadInput, match=r"workspace\.share"):
            await place.trees.shared(head, path)


async def test_no_command_can_see_the_directories_of_trees_and_store(root: Path, tmp_path: Path) -> None:
    async with opened(root) as (place, head), place.tree("throwaway", head) as tree:
        state = Path(os.environ["XDG_STATE_HOME"])
        assert (await run(place, tree, f"ls -A {state}/donewhen 2>&1 || true")).strip() in (
            "",
            f"ls: cannot access '{state}/donewhen': No such file or directory",
        )


async def test_a_base_layer_is_never_written_by_a_tree(root: Path) -> None:
    async with opened(root) as (place, head):
        layer = await place.trees.layers.files(head)
        before = contents(place.trees.directory / layer.path)
        async with place.tree("throwaway", head) as tree:
            await run(place, tree, "rm -rf sub; echo x >> file.txt; chmod 000 .gitignore; mkdir new; mv file.txt new/")
        assert contents(place.trees.directory / layer.path) == before


async def test_work_in_a_maker_tree_is_captured_and_can_be_judged_in_another_tree(root: Path) -> None:
    async with opened(root) as (place, head):
        maker = await place.trees.make("maker", head, TreeLayers())
        await run(
            place, maker, "echo made > file.txt; rm sub/inner.txt; echo new > new.txt; mkdir ignored; touch ignored/x"
        )
        candidate = await place.trees.capture(maker)
        assert sorted(change.path for change in candidate.changes) == ["file.txt", "new.txt", "sub/inner.txt"]
        layer = place.trees.directory / "candidates" / candidate.tree
        layer.mkdir(parents=True)
        await write_layer(place.store, await place.store.tree_of(head), candidate.tree, layer)
        judge = await place.trees.make("judge", head, TreeLayers(layers=(f"candidates/{candidate.tree}",)))
        assert (
            await run(place, judge, "cat file.txt new.txt; ls -A") == "made\nnew\n.git\n.gitignore\nfile.txt\nnew.txt\n"
        )
        await place.trees.remove(judge)
        await place.trees.remove(maker)


async def test_a_maker_tree_with_unsaved_work_is_not_removed(root: Path) -> None:
    async with opened(root) as (place, head):
        tree = await place.trees.make("maker", head, TreeLayers())
        await run(place, tree, "echo precious > work.txt")
        with pytest.raises(Unsaved, match=tree.facts.name):
            await place.trees.remove(tree)
        assert (tree.upper / "work.txt").read_text() == "precious\n"
        await place.trees.capture(tree)
        await place.trees.remove(tree)
        assert not tree.directory.exists()


async def test_work_added_after_the_last_capture_counts_as_unsaved(root: Path) -> None:
    async with opened(root) as (place, head):
        tree = await place.trees.make("maker", head, TreeLayers())
        await run(place, tree, "echo one > work.txt")
        await place.trees.capture(tree)
        await run(place, tree, "echo two > work.txt")
        with pytest.raises(Unsaved):
            await place.trees.remove(tree)
        await place.trees.remove(tree, discard=True)


async def test_orphan_trees_of_a_dead_process_are_removed_but_never_unsaved_work(root: Path) -> None:
    async with opened(root) as (place, head):
        left = {kind: await place.trees.make(kind, head, TreeLayers()) for kind in ("throwaway", "judge", "maker")}
        with_work = await place.trees.make("maker", head, TreeLayers())
        for tree in (*left.values(), with_work):
            await run(place, tree, "echo x > y" if tree.facts.kind != "maker" or tree is with_work else "true")
            os.close(tree.lock)
        for unfinished in (".new-half", ".gone-half"):
            half = place.trees.directory / "trees" / unfinished
            (half / "upper").mkdir(parents=True)
            os.utime(half, (0, 0))
        assert await orphans.remove_orphans(place.trees) == [with_work.facts.name]
        assert [entry.name for entry in (place.trees.directory / "trees").iterdir()] == [with_work.facts.name]
        assert (with_work.upper / "y").exists()


async def test_the_cleanup_does_not_touch_a_tree_that_is_being_made(root: Path) -> None:
    async with opened(root) as (place, _):
        begun = place.trees.directory / "trees" / ".new-begun"
        begun.mkdir(parents=True)
        assert await orphans.remove_orphans(place.trees) == []
        assert begun.exists()


async def test_endless_cleanups_remove_no_tree_that_is_being_made(root: Path) -> None:
    async with opened(root) as (place, head):
        enough = threading.Event()

        def sweeping() -> None:
            while not enough.is_set():
                anyio.run(orphans.remove_orphans, place.trees)

        sweeps = [threading.Thread(target=sweeping) for _ in range(3)]
        for one in sweeps:
            one.start()
        try:
            made = [await place.trees.make("throwaway", head, TreeLayers()) for _ in range(80)]
        finally:
            enough.set()
            for one in sweeps:
                one.join()
        assert all(tree.upper.is_dir() for tree in made)
        for tree in made:
            await place.trees.remove(tree)


async def test_a_tree_examined_by_the_cleanup_is_adopted_when_it_is_released(root: Path) -> None:
    async with opened(root) as (place, head):
        tree = await place.trees.make("maker", head, TreeLayers())
        await run(place, tree, "echo x > y")
        adopted: list[Tree | None] = []

        async def adopt() -> None:
            adopted.append(await orphans.adopt(place.trees, tree.facts.name))

        async with anyio.create_task_group() as group:
            group.start_soon(adopt)
            await anyio.wait_all_tasks_blocked()
            assert adopted == []
            os.close(tree.lock)  # which the cleanup holds as an owner does
        assert adopted[0] is not None
        assert (adopted[0].upper / "y").exists()
        await place.trees.remove(adopted[0], discard=True)


async def test_the_cleanup_does_not_touch_a_tree_with_a_living_owner(root: Path) -> None:
    async with opened(root) as (place, head), place.tree("throwaway", head) as tree:
        async with open_workplace(root) as other:
            assert await orphans.remove_orphans(other.trees) == []
        assert await run(place, tree, "cat file.txt") == "base\n"


async def test_port_blocks_are_unique_and_released_with_the_tree(root: Path) -> None:
    async with opened(root) as (place, head):
        async with place.tree("throwaway", head) as one, place.tree("throwaway", head) as two:
            assert abs(one.facts.port_base - two.facts.port_base) >= PORTS_PER_TREE
        assert list((place.trees.directory / "ports").iterdir()) == []


async def test_a_port_in_use_is_not_assigned(tmp_path: Path) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=20_000)
    async with listener:
        seen = {free_ports(tmp_path / "ports") for _ in range(119)}
    assert 20_000 not in seen and len(seen) == 119


async def test_a_base_is_checked_out_once_for_two_parallel_requests(root: Path) -> None:
    async with opened(root) as (place, head):
        found: list[int] = []

        async def ask() -> None:
            layer = await place.trees.layers.files(head)
            found.append((place.trees.directory / layer.path).stat().st_ino)

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(ask)
        assert len(found) == 4 and len(set(found)) == 1


async def test_an_unfinished_layer_is_built_again(root: Path) -> None:
    async with opened(root) as (place, head):
        unfinished = place.trees.directory / "bases" / head / "files"
        unfinished.mkdir(parents=True)
        (unfinished / "half").write_text("")
        layer = await place.trees.layers.files(head)
        assert sorted(os.listdir(place.trees.directory / layer.path)) == [".gitignore", "file.txt", "sub"]


async def test_bases_above_the_limit_are_removed_oldest_first(root: Path) -> None:
    commits = [git(root, "rev-parse", "HEAD")]
    for number in range(KEPT_BASES + 1):
        write(root, {"file.txt": f"{number}\n"})
        commits.append(commit(root))
    async with opened(root) as (place, _):
        for number, one in enumerate(commits):
            await place.trees.layers.files(one)
            os.utime(place.trees.directory / "bases" / one / "files.json", (number, number))
        async with place.tree("throwaway", commits[0]):
            os.utime(place.trees.directory / "bases" / commits[0] / "files.json", (0, 0))
            os.utime(place.trees.directory / "bases" / commits[0] / "git-base.json", (0, 0))
            assert place.trees.layers.remove_old(place.trees.in_use()) > 0
        left = {entry.name for entry in (place.trees.directory / "bases").iterdir()}
        assert left == {commits[0], *commits[2:]}


async def test_the_store_is_tidied_once_a_day_and_not_before(root: Path) -> None:
    async with opened(root) as (place, _):
        stamp = place.trees.directory / "tidied"
        assert not stamp.exists()
    before = stamp.stat().st_mtime
    async with opened(root):
        pass
    assert stamp.stat().st_mtime == before
    os.utime(stamp, (1, 1))
    async with opened(root) as (place, head):
        assert await place.store.resolve("HEAD") == head
    assert stamp.stat().st_mtime > 1


async def test_disk_use_of_layers_trees_and_store_is_shown_by_doctor(root: Path) -> None:
    async with opened(root) as (place, head):
        async with place.tree("throwaway", head) as tree:
            await run(place, tree, "head -c 3000000 /dev/urandom > big; sync big")
            findings = {finding.name: finding.found for finding in await diagnose()}
    assert re.search(r"layers 0\.\d, trees [23]\.\d, store \d\.\d MiB", findings["state"]), findings["state"]


async def test_without_overlays_a_tree_is_a_copy_that_behaves_the_same(root: Path) -> None:
    async with opened(root) as (place, head):
        no_overlay = replace(place.probe, overlay=False)
        trees = Trees(place.repo, place.store, no_overlay, place.trees.directory)
        copied = replace(place, probe=no_overlay, trees=trees)
        tree = await trees.make("maker", head, TreeLayers())
        script = "pwd; echo made > file.txt; rm sub/inner.txt; git status -s"
        assert await run(copied, tree, script) == f"{root}\n M file.txt\n D sub/inner.txt\n"
        candidate = await trees.capture(tree)
        assert sorted(change.path for change in candidate.changes) == ["file.txt", "sub/inner.txt"]
        await trees.remove(tree)
        judged = await trees.make("judge", head, TreeLayers(candidate=candidate.tree))
        assert await trees.written(judged) == []
        await trees.remove(judged, discard=True)


async def test_the_git_directory_of_a_linked_worktree_is_hidden(root: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(root, "worktree", "add", "--quiet", "--detach", str(linked))
    async with open_workplace(linked) as place:
        async with place.tree("throwaway", await place.store.resolve("HEAD")) as tree:
            assert (
                await run(place, tree, f"pwd; cat file.txt; ls -A {root}/.git 2>/dev/null | wc -l")
                == f"{linked}\nbase\n0\n"
            )


async def test_unusual_characters_in_the_state_path_are_harmless(root: Path, tmp_path: Path) -> None:
    os.environ["XDG_STATE_HOME"] = str(tmp_path / "st,ate:with=odd names\\")
    async with opened(root) as (place, head), place.tree("throwaway", head) as tree:
        assert await run(place, tree, "cat file.txt; echo x > new; cat new") == "base\nx\n"


async def test_the_facts_of_a_tree_are_stored_for_another_process(root: Path) -> None:
    async with opened(root) as (place, head), place.tree("throwaway", head) as tree:
        known = json.loads((tree.directory / "tree.json").read_text())
        assert (known["name"], known["base"], known["kind"]) == (tree.facts.name, head, "throwaway")


async def test_an_overlay_with_a_colon_in_its_path_is_mounted(root: Path, tmp_path: Path) -> None:
    """The control for relative layer paths: a layer directory whose own name needs escaping still mounts."""
    odd = tmp_path / "a:b,c"
    for part in ("lower", "upper", "work"):
        (odd / part).mkdir(parents=True)
    (odd / "lower" / "file").write_text("here\n")
    async with opened(root) as (place, _):
        layer = Overlay(str(odd), ("lower",), "upper", "work", str(root))
        room = TreeSandbox(place.launcher, place.probe, SandboxTree(root=str(root), layers=(layer,)), SandboxConfig())
        finished = await room.run(ShellCommand(text="cat file"))
        assert finished.stdout.whole() == b"here\n"
