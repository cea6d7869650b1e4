"""A new maker tree against `git worktree add`, for repositories of 1,000, 10,000 and 50,000 files.

Both start from a warm machine: the repository's objects are in one pack and the base checkout has been made once,
as for every tree after the first one.
"""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import anyio

from donewhen.session.workplace import open_workplace
from donewhen.workspace.trees.trees import TreeLayers

SIZES = (1_000, 10_000, 50_000)
FILES_PER_DIRECTORY = 25
TREES = 10
TARGET = 100


def make_repository(place: Path, files: int) -> None:
    """A repository of small files, made through fast-import so that it takes seconds and not minutes."""
    place.mkdir(parents=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=place, env=environment, check=True)
    lines: list[bytes] = [b"commit refs/heads/main\ncommitter b <b@example.invalid> 1700000000 +0000\ndata 4\nbase\n"]
    for number in range(files):
        content = b"line %d\n" % number * 20
        name = b"d%04d/f%05d.txt" % (number // FILES_PER_DIRECTORY, number)
        lines.append(b"M 100644 inline %s\ndata %d\n%s\n" % (name, len(content), content))
    subprocess.run(["git", "fast-import", "--quiet"], cwd=place, env=environment, input=b"".join(lines), check=True)
    subprocess.run(["git", "reset", "-q", "--hard"], cwd=place, env=environment, check=True)


async def tree_secs(repository: Path) -> tuple[float, float]:
    """Seconds for the first tree (which makes the base checkout) and the median of the following ones."""
    async with open_workplace(repository) as place:
        commit = await place.store.resolve("HEAD")
        taken: list[float] = []
        for _ in range(TREES + 1):
            began = time.perf_counter()
            tree = await place.trees.make("throwaway", commit, TreeLayers())
            taken.append(time.perf_counter() - began)
            await place.trees.remove(tree, discard=True)
    return taken[0], statistics.median(taken[1:])


def worktree_secs(repository: Path, into: Path) -> float:
    began = time.perf_counter()
    subprocess.run(["git", "worktree", "add", "-q", "--detach", str(into)], cwd=repository, check=True)
    return time.perf_counter() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        os.environ.update(HOME=name, XDG_STATE_HOME=f"{name}/state")
        print(f"{'files':>8} {'worktree add':>14} {'first tree':>12} {'next trees':>12} {'ratio':>8}")
        print(f"target at 50,000 files: 1/{TARGET}")
        for files in SIZES:
            repository = Path(name, f"repository-{files}")
            make_repository(repository, files)
            first, following = anyio.run(tree_secs, repository)
            plain = worktree_secs(repository, Path(name, f"worktree-{files}"))
            row = f"{files:>8} {plain * 1000:>11.0f} ms {first * 1000:>9.0f} ms {following * 1000:>9.1f} ms"
            print(f"{row} {'1/' + str(round(plain / following)):>8}")


if __name__ == "__main__":
    main()
