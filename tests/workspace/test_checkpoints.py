"""Snapshots to restore: fast while nothing was written, and never older than the real state of the tree."""

import mmap
import os
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.sandbox.sandbox import ShellCommand
from donewhen.workspace.trees.capture import read_layer
from donewhen.workspace.trees.capture.fingerprint import Fingerprint, fingerprint_of
from donewhen.workspace.trees.trees import Tree, TreeLayers
from needs import needs
from repositories import repository

pytestmark = pytest.mark.anyio
BEYOND_A_TICK = 2 * read_layer.TICK_NS


def settle(place: Path) -> None:
    """Wait until the file system clock is past everything that was written so far."""
    place.write_bytes(b"")
    before = place.stat().st_ctime_ns
    while place.stat().st_ctime_ns < before + BEYOND_A_TICK:
        place.write_bytes(b"")


@pytest.fixture
def upper(tmp_path: Path) -> Path:
    place = tmp_path / "upper"
    (place / "sub").mkdir(parents=True)
    (place / "file").write_text("one\n")
    (place / "sub" / "inner").write_text("two\n")
    (place / "link").symlink_to("file")
    settle(tmp_path / "clock")
    return place


def seen(upper: Path) -> Fingerprint:
    layer = read_layer.read_upper(upper, {b"", b"sub"})
    return Fingerprint(layer.root, layer.seen)


def same_size_same_time(upper: Path) -> None:
    path = upper / "sub" / "inner"
    before = path.stat()
    path.write_text("TWO\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(upper: Path) -> None:
    other = upper.parent / "other"
    shutil.copy2(upper / "file", other)
    other.replace(upper / "file")


def relinked(upper: Path) -> None:
    (upper / "link").unlink()
    (upper / "link").symlink_to("miss")


CHANGES: dict[str, Callable[[Path], object]] = {
    "same size and time": same_size_same_time,
    "another file in its place": replaced,
    "a link to elsewhere": relinked,
    "mode": lambda upper: (upper / "file").chmod(0o755),
    "new": lambda upper: (upper / "sub" / "new").touch(),
    "new directory": lambda upper: (upper / "new").mkdir(),
    "gone": lambda upper: (upper / "sub" / "inner").unlink(),
    "directory gone": lambda upper: shutil.rmtree(upper / "sub"),
    "an attribute": lambda upper: os.setxattr(upper / "sub", "user.other", b"y"),
}


def test_reading_and_files_that_are_not_captured_are_not_changes(upper: Path) -> None:
    sighting = seen(upper)
    (upper / "file").read_text()
    (upper / ".git").mkdir()
    (upper / ".git" / "index").write_text("anything")
    assert sighting.is_current()


@pytest.mark.parametrize("what", CHANGES)
def test_any_change_is_detected(upper: Path, what: str) -> None:
    sighting = seen(upper)
    CHANGES[what](upper)
    assert not sighting.is_current()


@pytest.fixture(params=["disk", "memory"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A directory on the usual file system, and one in memory, where memory maps may leave no trace."""
    with tempfile.TemporaryDirectory(dir=tmp_path if request.param == "disk" else "/dev/shm") as directory:
        yield Path(directory)


def test_a_write_through_a_memory_map_is_detected_or_the_fingerprint_is_not_used(
    anywhere: Path, tmp_path: Path
) -> None:
    (anywhere / "file").write_text("one\n")
    settle(tmp_path / "clock")
    sighting = fingerprint_of(read_layer.read_upper(anywhere, {b""}), time.time_ns())
    with (anywhere / "file").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:3] = b"ONE"
    assert (anywhere / "file").read_text() == "ONE\n"
    assert sighting is None or not sighting.is_current()


def test_a_file_changed_a_moment_ago_has_no_reusable_fingerprint(upper: Path) -> None:
    (upper / "file").write_text("later\n")
    changed = (upper / "file").stat().st_ctime_ns
    layer = read_layer.read_upper(upper, {b"", b"sub"})
    assert fingerprint_of(layer, changed + read_layer.TICK_NS) is None


@asynccontextmanager
async def maker(root: Path) -> AsyncGenerator[tuple[Workplace, Tree]]:
    async with open_workplace(root) as place:
        tree = await place.trees.make("maker", place.repo.head, TreeLayers())
        try:
            yield place, tree
        finally:
            await place.trees.remove(tree, discard=True)


@pytest.mark.parametrize(
    "command",
    [
        "echo TWO > file; touch -r before file",
        "printf TWO | dd of=file conv=notrunc status=none; touch -r before file",
        "cp -p file other; printf TWO | dd of=other conv=notrunc status=none; touch -r before other; mv other file",
        "rm file",
        "chmod +x file",
        "mkdir -p deep/er; echo new > deep/er/file",
        "rm -r sub; mkdir sub; echo inner > sub/other",
    ],
)
async def test_a_checkpoint_is_what_a_full_capture_gives(tmp_path: Path, command: str) -> None:
    needs("bwrap")
    root = repository(tmp_path / "repository", {"file": "base\n", "sub/inner": "inner\n"})
    async with maker(root) as (place, tree):
        room = place.sandbox(tree)
        assert (await room.run(ShellCommand(text="echo one > file; cp -p file before"))).ok
        settle(tmp_path / "clock")
        first = await place.trees.checkpoint(tree)
        assert await place.trees.checkpoint(tree) == first
        assert (await room.run(ShellCommand(text=command))).ok
        second = await place.trees.checkpoint(tree)
        assert second == (await place.trees.capture(tree)).tree
        assert second != first


async def test_a_checkpoint_after_a_restore_is_the_restored_tree(tmp_path: Path) -> None:
    needs("bwrap")
    root = repository(tmp_path / "repository", {"file": "base\n"})
    async with maker(root) as (place, tree):
        base = await place.trees.checkpoint(tree)
        assert (await place.sandbox(tree).run(ShellCommand(text="echo one > file"))).ok
        settle(tmp_path / "clock")
        changed = await place.trees.checkpoint(tree)
        await place.trees.restore(tree, base)
        assert await place.trees.checkpoint(tree) == base != changed
