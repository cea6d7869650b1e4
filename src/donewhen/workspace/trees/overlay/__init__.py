"""A tree's files as a process inside sees them, read and written from outside without mounting anything.

    directory   one directory through its layers        resolve     which layers and links a path leads to
    problems    errors of a path                        write       writing into the topmost layer

Every step uses descriptors and never goes through a link. All processes that could write in the tree must be dead
meanwhile. This module does not decide whether a file may be changed, except that nothing named like `.git` is ever
written.
"""

import contextlib
import os
import stat
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

from donewhen.records import frozen
from donewhen.workspace.beneath import Root
from donewhen.workspace.trees.capture.refusals import is_dot_git
from donewhen.workspace.trees.overlay import write as writing
from donewhen.workspace.trees.overlay.directory import Kind, kind_of
from donewhen.workspace.trees.overlay.problems import (
    AccessDenied,
    FileProblem,
    IsDirectory,
    NotDirectory,
    NotFile,
    NotFound,
    NotText,
    OutsideTree,
    TooBig,
    as_file_problem,
)
from donewhen.workspace.trees.overlay.resolve import Enter, Mount, Parts, PathEntry, View
from donewhen.workspace.trees.trees import SHARED_FILE, Tree, Trees

__all__ = [
    "AccessDenied",
    "FileProblem",
    "FileStatus",
    "Files",
    "IsDirectory",
    "NotDirectory",
    "NotFile",
    "NotFound",
    "NotText",
    "OutsideTree",
    "PathEntry",
    "TooBig",
]

DEEPEST = 64
"""A walk holds a few descriptors for every level of depth."""
MOST_ENTRIES = 100_000
NEW_FILE = 0o644


@frozen
class FileStatus:
    kind: Kind
    size: int
    mode: int
    """The permission bits."""


class Files:
    """The files of a tree. Paths are relative to its root, or absolute and below the root as it appears inside."""

    def __init__(self, view: View) -> None:
        self._view = view

    @classmethod
    def of(cls, trees: Trees, tree: Tree) -> "Files":
        lower = () if tree.facts.copied else tuple(Root(trees.directory / layer) for layer in tree.facts.lower)
        whole = Mount((), (Root(tree.upper), *lower), not tree.facts.copied, tree.directory / "work")
        shares = (
            _share(trees.repo.files.below(path), path, tree.directory / "shares" / str(number))
            for number, path in enumerate(tree.facts.shares)
        )
        return cls(View(tree.sandbox_tree.root, [whole, *shares]))

    def stat(self, path: str) -> FileStatus:
        """Return the status of a path, following links."""
        found = self._found(path, self._view.resolve(path))
        return FileStatus(kind_of(found.st_mode), found.st_size, stat.S_IMODE(found.st_mode))

    @contextlib.contextmanager
    def open(self, path: str) -> Generator[BinaryIO]:
        """Open a file of any size for reading."""
        parts = self._view.resolve(path)
        if stat.S_ISDIR(self._found(path, parts).st_mode):
            raise IsDirectory(f"{path} is a directory")
        with as_file_problem(path), self._view.file(parts) as file:
            _require_file(path, os.fstat(file.fileno()))
            yield file

    def read(self, path: str, limit: int) -> bytes:
        """Return the whole content. Raise `TooBig` if it has more than `limit` bytes."""
        with self.open(path) as file:
            content = file.read(limit + 1)
            if len(content) > limit:
                size = os.fstat(file.fileno()).st_size
                raise TooBig(f"{path} has {size} bytes; at most {limit} are read at once", size)
        return content

    def read_text(self, path: str, limit: int) -> str:
        """Like `read`; bytes that are not valid UTF-8 become surrogate escapes. A NUL byte raises `NotText`."""
        content = self.read(path, limit)
        if b"\0" in content:
            raise NotText(f"{path} is a binary file of {len(content)} bytes")
        return content.decode("utf-8", "surrogateescape")

    def entries(self, path: str = ".") -> list[PathEntry]:
        """Return the sorted entries of a directory. Links are not followed."""
        parts = self._directory_parts(path)
        with as_file_problem(path), self._view.directory(parts) as directory:
            return self._view.entries(parts, directory)

    def target(self, entry: PathEntry) -> str:
        """Return the target of a link that was found in a directory."""
        with as_file_problem(entry.path):
            return self._view.target(self._view.parts(entry.path))

    def walk(
        self, path: str = ".", most: int = MOST_ENTRIES, deepest: int = DEEPEST, enter: Enter = lambda _path: True
    ) -> Iterator[PathEntry]:
        """Yield everything below a directory, in order, without `.git` and paths shared with other trees."""
        parts = self._directory_parts(path)
        with as_file_problem(path), self._view.directory(parts) as directory:
            for number, entry in enumerate(self._view.below(parts, directory, min(deepest, DEEPEST), enter)):
                if number >= most:
                    return
                yield entry

    def write(self, path: str, content: bytes) -> bool:
        """Write a file, and create missing directories above it. Return True if the file is new.

        An existing file keeps its permissions.
        """
        parts = self._view.resolve(path)
        self._require_writable(path, parts)
        with as_file_problem(path):
            before = self._view.status(parts)
            if before is not None:
                _require_file(path, before)
            mode = NEW_FILE if before is None else stat.S_IMODE(before.st_mode) & 0o777
            mount = self._view.mount(parts)
            writing.write(mount, mount.path_in_layers(parts), content, mode)
        return before is None

    def _require_writable(self, path: str, parts: Parts) -> None:
        if not parts:
            raise IsDirectory(f"{path} is a directory")
        if any(is_dot_git(os.fsencode(part)) for part in parts):
            raise OutsideTree(f"{path} belongs to git and cannot be written")
        for number in range(1, len(parts)):
            with as_file_problem(path):
                found = self._view.status(parts[:number])
            if found is not None and not stat.S_ISDIR(found.st_mode):
                raise NotDirectory(f"{'/'.join(parts[:number])} is not a directory")

    def _directory_parts(self, path: str) -> Parts:
        parts = self._view.resolve(path)
        if not stat.S_ISDIR(self._found(path, parts).st_mode):
            raise NotDirectory(f"{path} is not a directory")
        return parts

    def _found(self, path: str, parts: Parts) -> os.stat_result:
        with as_file_problem(path):
            found = self._view.status(parts)
        if found is None:
            raise NotFound(f"{path} does not exist")
        return found


def _require_file(path: str, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsDirectory(f"{path} is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise NotFile(f"{path} is a device, a pipe or a socket")


def _share(source: Root, path: str, directory: Path) -> Mount:
    """Return the mount of a shared path of the checkout, below the tree's own layer. A shared file was copied."""
    at = tuple(part for part in path.split("/") if part not in ("", "."))
    if (directory / SHARED_FILE).exists():
        return Mount(at, (Root(directory),), False, directory, inner=(SHARED_FILE,))
    return Mount(at, (Root(directory / "upper"), source), True, directory / "work")
