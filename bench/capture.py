"""Costs of the git part in a repository of 50,000 files: open the store, a warm base, a capture, a restore.

The upper directory is written by hand in the form of an overlay; `trees` measures mounts.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.git.store import Store
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.trees.capture import capture_copy, capture_layer, stamp, write_layer
from trees import FILES_PER_DIRECTORY, make_repository

FILES = 50_000
CHANGED = 10
ROUNDS = 9
TARGET_MS = 50


async def milliseconds(act: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await act()
    return (time.perf_counter() - began) * 1000


def change(tree: Path, round_number: int) -> None:
    """Nine changed files spread over the tree, and a new one in a new directory."""
    step = FILES // CHANGED
    for number in range(0, step * (CHANGED - 1), step):
        path = tree / f"d{number // FILES_PER_DIRECTORY:04d}" / f"f{number:05d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"changed {round_number} {number}\n")
    (tree / "new").mkdir(exist_ok=True)
    (tree / "new" / "file.txt").write_text(f"new {round_number}\n")


async def measure(repository: Path, scratch: Path) -> None:
    async with Launcher.open() as launcher:
        repo = await open_repo(launcher, repository)

        async def opened() -> Store:
            return await Store.open(launcher, repo, scratch / "store")

        print(f"open the repository: {await milliseconds(lambda: open_repo(launcher, repository)):.0f} ms")
        print(f"store, first: {await milliseconds(opened):.0f} ms")
        print(f"store, again: {statistics.median([await milliseconds(opened) for _ in range(ROUNDS)]):.1f} ms")
        store = await opened()
        base = scratch / "base"
        print(f"checkout of a warm base: {await milliseconds(lambda: store.check_out(repo.head, base)):.0f} ms")
        git_dir = scratch / "seed"
        print(f"its git dir: {await milliseconds(lambda: store.seed_git_dir(repo.head, 'base', git_dir)):.0f} ms")
        print(f"uncommitted: {await milliseconds(store.uncommitted):.0f} ms")
        await measure_capture(store, scratch)
        await measure_copy(store, base, scratch)


async def measure_capture(store: Store, scratch: Path) -> None:
    upper, head = scratch / "upper", store.repo.head
    taken: list[float] = []
    for round_number in range(ROUNDS):
        change(upper, round_number)
        taken.append(await milliseconds(lambda: capture_layer(store, head, upper)))
    result = statistics.median(taken)
    print(
        f"capture of {CHANGED} changed files in {FILES:,}: {result:.0f} ms (first {taken[0]:.0f}, target {TARGET_MS})"
    )
    candidate = await capture_layer(store, head, upper)
    tree = await store.tree_of(head)
    layers = iter(scratch / f"layer-{number}" for number in range(ROUNDS))
    back = [await milliseconds(lambda: write_layer(store, tree, candidate.tree, next(layers))) for _ in range(ROUNDS)]
    print(f"a layer of it: {statistics.median(back):.0f} ms")
    plenty = upper / "node_modules"
    (upper / ".gitignore").write_text("node_modules/\n")
    for number in range(5_000):
        (plenty / str(number // 100)).mkdir(parents=True, exist_ok=True)
        (plenty / str(number // 100) / str(number)).write_text("ignored")
    beside = await milliseconds(lambda: capture_layer(store, head, upper))
    print(f"the same beside 5,000 ignored files: {beside:.0f} ms")


async def measure_copy(store: Store, base: Path, scratch: Path) -> None:
    """The base itself stands for a full copy of it."""
    record = scratch / "stamp"
    print(f"stamp of a copied tree: {await milliseconds(lambda: stamp(base, record)):.0f} ms")
    change(base, 0)
    print(f"capture of it: {await milliseconds(lambda: capture_copy(store, store.repo.head, base, record)):.0f} ms")


def plain_git(repository: Path) -> None:
    """What the same costs with git alone, in the user's own checkout."""
    change(repository, 0)
    began = time.perf_counter()
    environment = {**os.environ, "GIT_INDEX_FILE": str(repository / ".git" / "bench-index")}
    (repository / ".git" / "bench-index").write_bytes((repository / ".git" / "index").read_bytes())
    for command in (["add", "-A"], ["write-tree"]):
        subprocess.run(["git", *command], cwd=repository, env=environment, check=True, stdout=subprocess.DEVNULL)
    print(f"git add -A and write-tree, for comparison: {(time.perf_counter() - began) * 1000:.0f} ms")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        repository = Path(name, "repository")
        make_repository(repository, FILES)
        anyio.run(measure, repository, Path(name))
        plain_git(repository)


if __name__ == "__main__":
    main()
