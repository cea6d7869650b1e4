"""A tree's files from outside: the same content as for a shell inside, and no way out of the tree."""

import hashlib
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.sandbox.sandbox import ShellCommand
from donewhen.workspace.trees.overlay import (
    FileProblem,
    Files,
    IsDirectory,
    NotDirectory,
    NotFile,
    NotFound,
    NotText,
    OutsideTree,
    TooBig,
)
from donewhen.workspace.trees.trees import Tree, TreeLayers
from needs import needs
from repositories import ODD_NAMES, commit, repository, write

pytestmark = pytest.mark.anyio
FILES = {"a": "a\n", "b": "b\n", "d/a": "da\n", "d/b": "db\n", "d/d/a": "dda\n", ".gitignore": "shared/\nlone\n"}
Picture = dict[str, tuple[str, int, str]]


@dataclass(frozen=True)
class Ground:
    place: Workplace
    tree: Tree

    @property
    def files(self) -> Files:
        return Files.of(self.place.trees, self.tree)

    async def shell(self, text: str) -> str:
        finished = await self.place.sandbox(self.tree).run(ShellCommand(text=text))
        return finished.stdout.whole().decode("utf-8", "surrogateescape")

    async def inside(self) -> Picture:
        """Path → kind, permissions, and content or target, as a shell sees them."""
        listed = await self.shell("find . -path ./.git -prune -o -printf '%y %m %l\\0%P\\0'")
        sums = await self.shell("find . -path ./.git -prune -o -type f -exec sha256sum -z {} +")
        by_path = {line[68:]: line[:64] for line in sums.split("\0")[:-1]}
        fields = listed.split("\0")
        picture: Picture = {}
        for facts, path in zip(fields[:-1:2], fields[1::2], strict=True):
            letter, mode, target = facts.split(" ", 2)
            if path:
                kind = {"f": "file", "d": "directory", "l": "link"}.get(letter, "other")
                picture[path] = (kind, 0 if kind == "link" else int(mode, 8), by_path.get(path, target))
        return picture

    def outside(self) -> Picture:
        """The same, as our code sees it."""
        picture: Picture = {}
        for entry in self.files.walk():
            if entry.kind == "link":
                picture[entry.path] = ("link", 0, self.files.target(entry))
                continue
            status = self.files.stat(entry.path)
            content = self.files.read(entry.path, 1000) if entry.kind == "file" else None
            picture[entry.path] = (
                entry.kind, status.mode, hashlib.sha256(content).hexdigest() if content is not None else ""
            )  # fmt: skip
        return picture


@pytest.fixture
def root(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repository", FILES)


@asynccontextmanager
async def opened(root: Path, **standing: str | tuple[str, ...]) -> AsyncGenerator[Ground]:
    async with open_workplace(root) as place:
        tree = await place.trees.make("maker", place.repo.head, replace(TreeLayers(), **standing))  # pyright: ignore[reportArgumentType] - each test gives what fits
        try:
            yield Ground(place, tree)
        finally:
            await place.trees.remove(tree, discard=True)


NAMES = st.lists(st.sampled_from("abd"), min_size=1, max_size=3).map("/".join)
SHELL = st.one_of(
    st.tuples(
        st.sampled_from(["echo x >> {0}", "rm -rf {0}", "mkdir -p {0}", "chmod 755 {0}", "chmod 700 {0}"]), NAMES
    ),
    st.tuples(
        st.sampled_from(["mv {0} {1}", "ln -s {0} {1}", "cp -r {0} {1}", "rm -rf {0}; mkdir -p {0}"]), NAMES, NAMES
    ),
).map(lambda step: step[0].format(*step[1:], *step[1:]))
STEPS = st.lists(st.one_of(SHELL, NAMES.map(lambda name: ("write", name))), min_size=1, max_size=6)


async def follow(ground: Ground, steps: list[str | tuple[str, str]]) -> None:
    for number, step in enumerate(steps):
        if isinstance(step, str):
            await ground.shell(step)
            continue
        content = f"written {number}\n"
        try:
            ground.files.write(step[1], content.encode())
        except FileProblem:
            continue
        assert await ground.shell(f"cat {step[1]}") == content


@pytest.mark.sample(0)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, STEPS)
def test_inside_and_outside_see_the_same_tree_after_any_operations(
    root: Path, first: list[str | tuple[str, str]], second: list[str | tuple[str, str]]
) -> None:
    async def show() -> None:
        async with opened(root) as ground:
            await follow(ground, first)
            assert ground.outside() == await ground.inside()
            made = (await ground.place.trees.capture(ground.tree)).tree
        async with opened(root, candidate=made) as ground:  # now on top of a layer with hidden and opaque entries
            await follow(ground, second)
            assert ground.outside() == await ground.inside()

    anyio.run(show)


async def test_a_new_directory_over_a_deleted_one_shows_no_old_files(root: Path) -> None:
    async with opened(root) as ground:
        await ground.shell("rm -rf d")
        assert ground.files.write("d/d/new", b"n\n")
        assert (await ground.shell("find d -type f")).split() == ["d/d/new"]


async def test_an_existing_file_keeps_its_permissions_and_the_base_is_not_changed(root: Path) -> None:
    (root / "b").chmod(0o755)
    commit(root)
    async with opened(root) as ground:
        layer = await ground.place.trees.layers.files(ground.place.repo.head)
        assert not ground.files.write("b", b"#!/bin/sh\necho ran\n")
        assert await ground.shell("./b") == "ran\n"
        assert (ground.place.trees.directory / layer.path / "b").read_text() == "b\n"
        assert os.listdir(ground.tree.directory / "work") in ([], ["work"])


async def test_a_directory_copied_to_the_upper_layer_keeps_its_mode(root: Path) -> None:
    async with opened(root) as ground:
        layer = await ground.place.trees.layers.files(ground.place.repo.head)
        (ground.place.trees.directory / layer.path / "d").chmod(0o750)
        ground.files.write("d/new/file", b"")
        assert (await ground.shell("stat -c %a d d/new")).split() == ["750", "755"]


async def test_links_are_followed_while_they_stay_inside(root: Path) -> None:
    (root / "to_b").symlink_to("d/b")
    (root / "to_d").symlink_to("d")
    (root / "whole").symlink_to(root / "d" / "a")
    commit(root)
    async with opened(root) as ground:
        assert ground.files.read("to_b", 10) == b"db\n"
        assert ground.files.read("to_d/../a", 10) == b"a\n"
        assert ground.files.read("whole", 10) == b"da\n"
        assert ground.files.read(str(root / "d" / "a"), 10) == b"da\n"
        ground.files.write("to_d/new", b"n\n")
        assert await ground.shell("cat d/new; test -L to_d && echo link") == "n\nlink\n"


@pytest.mark.parametrize("path", ["../x", "d/../../x", "/etc/passwd", "out", "out/x", "up", "hop", "{root}x/y"])
async def test_nothing_outside_can_be_read_or_written(root: Path, path: str) -> None:
    victim = root.parent / "victim"
    victim.write_text("secret\n")
    (root.parent / "x").write_text("secret\n")
    for name, target in {"out": str(root.parent), "up": "../victim", "hop": "d/up2", "d/up2": "../up"}.items():
        (root / name).symlink_to(target)
    commit(root)
    async with opened(root) as ground:
        path = path.replace("{root}", str(root))
        for attempt in (
            lambda: ground.files.read(path, 100),
            lambda: ground.files.write(path, b"x"),
            lambda: ground.files.entries(path),
        ):
            with pytest.raises(OutsideTree):
                attempt()
    assert victim.read_text() == "secret\n"
    assert sorted(os.listdir(root.parent)) == ["repository", "victim", "x"]


@pytest.mark.parametrize("path", [".git/config", ".git", ".GIT/hooks/x", "d/.git/config", "git~1"])
async def test_git_files_are_never_written(root: Path, path: str) -> None:
    async with opened(root) as ground:
        before = await ground.shell("cat .git/HEAD; ls -A .git d")
        with pytest.raises(OutsideTree, match="git"):
            ground.files.write(path, b"x")
        assert await ground.shell("cat .git/HEAD; ls -A .git d") == before


async def test_every_problem_has_its_own_kind_and_names_the_path(root: Path) -> None:
    async with opened(root) as ground:
        await ground.shell("mkfifo pipe; printf 'a\\0b' > binary; ln -s loop loop; rm b")
        files = ground.files
        cases: list[tuple[type[FileProblem], Callable[[], object]]] = [
            (NotFound, lambda: files.read("nope", 1)),
            (NotFound, lambda: files.read("b", 1)),
            (NotFound, lambda: files.read("a/below", 1)),
            (NotFound, lambda: files.stat("loop")),
            (NotFound, lambda: files.read("a\0", 1)),
            (NotFound, lambda: files.write("\ud800", b"")),
            (IsDirectory, lambda: files.read("d", 1)),
            (IsDirectory, lambda: files.write("d", b"")),
            (IsDirectory, lambda: files.write(".", b"")),
            (NotDirectory, lambda: files.entries("a")),
            (NotDirectory, lambda: files.write("a/below", b"")),
            (NotFile, lambda: files.read("pipe", 1)),
            (NotFile, lambda: files.write("pipe", b"")),
            (NotText, lambda: files.read_text("binary", 10)),
            (TooBig, lambda: files.read("a", 1)),
            (FileProblem, lambda: files.write("x" * 300, b"")),
        ]
        for kind, attempt in cases:
            with pytest.raises(kind) as caught:
                attempt()
            assert "\n" not in str(caught.value)


async def test_shared_paths_are_seen_and_written_in_the_layer_of_the_tree(root: Path) -> None:
    write(root, {"shared/lib/x": "x\n", "lone": "lone\n"})
    async with opened(root, share=("shared", "lone")) as ground:
        files = ground.files
        assert [entry.path for entry in files.entries()] == [".git", ".gitignore", "a", "b", "d", "lone", "shared"]
        assert files.read("shared/lib/x", 10) == b"x\n"
        files.write("shared/lib/x", b"mine\n")
        files.write("shared/new/y", b"y\n")
        files.write("lone", b"changed\n")
        assert await ground.shell("cat shared/lib/x shared/new/y lone") == "mine\ny\nchanged\n"
        assert files.read("lone", 10) == b"changed\n"
        assert not [entry for entry in files.walk() if entry.path.startswith("shared")]
        assert [entry.path for entry in files.walk("shared")] == [
            "shared/lib",
            "shared/lib/x",
            "shared/new",
            "shared/new/y",
        ]
    assert (root / "shared/lib/x").read_text() == "x\n"
    assert (root / "lone").read_text() == "lone\n"


async def test_a_copied_tree_is_read_and_written_directly(root: Path) -> None:
    async with open_workplace(root) as place:
        place.trees._probe = replace(place.trees._probe, overlay=False)  # pyright: ignore[reportPrivateUsage] - a machine without overlays
        tree = await place.trees.make("maker", place.repo.head, TreeLayers())
        ground = Ground(place, tree)
        ground.files.write("d/new/x", b"x\n")
        ground.files.write("a", b"2\n")
        assert ground.outside() == await ground.inside()
        await place.trees.remove(tree, discard=True)


async def test_a_directory_walk_is_bounded_and_stays_inside(root: Path) -> None:
    async with opened(root) as ground:
        await ground.shell("mkdir -p $(printf 'd/%.0s' $(seq 200)); echo x > last")
        paths = [entry.path for entry in ground.files.walk()]
        assert max(path.count("/") for path in paths) == 63
        assert len(list(ground.files.walk(most=3))) == 3
        assert [entry.path for entry in ground.files.walk(deepest=1)] == [".gitignore", "a", "b", "d", "last"]
        assert "d/a" not in [entry.path for entry in ground.files.walk(enter=lambda path: path != "d")]


async def test_names_that_are_not_valid_text_can_be_listed_and_read(tmp_path: Path) -> None:
    needs("bwrap")
    root = repository(tmp_path / "r", {name: name for name in ODD_NAMES})
    async with opened(root) as ground:
        found = [entry for entry in ground.files.walk() if entry.kind == "file"]
        assert {os.fsencode(entry.path) for entry in found} == set(ODD_NAMES)
        assert all(ground.files.read(entry.path, 1000) == os.fsencode(entry.path) for entry in found)
