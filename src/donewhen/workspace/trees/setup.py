"""The layer that setup commands produce: only what they added, no path that the repository tracks.

A setup that rewrites a tracked file (for example a lock file) must not show up as the engine's work. So only paths that
the base commit does not have are moved into the layer.
"""

import os
import shutil
from pathlib import Path

from donewhen.workspace.git.objects import parse_ls_tree, text
from donewhen.workspace.git.store import Store
from donewhen.workspace.trees.layers import is_setup_input


async def setup_inputs(store: Store, commit: str) -> list[tuple[str, str]]:
    """Return path and content id of every file of a commit that decides what setup commands install."""
    entries = (await _entries(store, commit)).items()
    return [(path, blob) for path, blob in entries if is_setup_input(path)]


async def build_setup_layer(store: Store, commit: str, upper: Path, into: Path) -> None:
    """Move the paths that were added in `upper` to a separate layer."""
    tracked = set(await _entries(store, commit))
    folders = {parent for path in tracked for parent in _parents(path)}
    _move_untracked(upper, into, "", tracked | folders)


async def _entries(store: Store, commit: str) -> dict[str, str]:
    """Return path → content id of every file of a commit."""
    answer = await store.bare.run("ls-tree", "-r", "-z", "--full-tree", commit)
    return {text(path): entry.id for path, entry in parse_ls_tree(answer)}


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _move_untracked(source: Path, into: Path, prefix: str, known: set[str]) -> None:
    """Move every path that is not in `known`: the tracked files and their parent directories."""
    for entry in os.scandir(source):
        path = f"{prefix}{entry.name}"
        folder = entry.is_dir(follow_symlinks=False)
        if folder and path in known:
            (into / entry.name).mkdir(exist_ok=True)
            _move_untracked(Path(entry.path), into / entry.name, f"{path}/", known)
        elif path not in known and path != ".git" and (folder or entry.is_symlink() or entry.is_file()):
            shutil.move(entry.path, into / entry.name)
