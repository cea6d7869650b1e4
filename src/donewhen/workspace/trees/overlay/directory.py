"""One directory of an overlay, merged from its layers: entries of higher layers hide those of lower ones.

A device with number 0 (whiteout) hides a name; an opaque directory hides the directories beneath it. Path resolution is
not done here.
"""

import contextlib
import os
import stat
from collections.abc import Sequence
from typing import BinaryIO, Literal

from donewhen.workspace.beneath import Root
from donewhen.workspace.trees.capture.read_layer import OPAQUE

INTO = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Non-blocking: opening a pipe in place of a file must not block."""

Kind = Literal["file", "directory", "link", "other"]


class Directory:
    """A directory merged from its layers: descriptors from top to bottom."""

    def __init__(self, layers: Sequence[int], overlay: bool) -> None:
        self.layers = list(layers)
        self.overlay = overlay

    @classmethod
    def at(cls, layers: Sequence[Root], overlay: bool) -> "Directory":
        opened = cls([], overlay)
        try:
            for layer in layers:
                opened.layers.append(layer.open_directory())
        except OSError:
            opened.close()
            raise
        return opened

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a name, without following a link; None if nothing is there."""
        for layer in self.layers:
            with contextlib.suppress(FileNotFoundError):
                found = os.lstat(name, dir_fd=layer)
                return None if self._hides(found) else found
        return None

    def below(self, name: str) -> "Directory":
        """Return the directory `name`, merged from the layers. It must be a directory."""
        inner = Directory([], self.overlay)
        try:
            for layer in self.layers:
                try:
                    found = os.lstat(name, dir_fd=layer)
                except FileNotFoundError:
                    continue
                if not stat.S_ISDIR(found.st_mode):
                    break
                inner.layers.append(os.open(name, INTO, dir_fd=layer))
                if self.overlay and _is_opaque(inner.layers[-1]):
                    break
        except OSError:
            inner.close()
            raise
        return inner

    def open(self, name: str) -> BinaryIO:
        """Open the topmost file of that name."""
        for layer in self.layers:
            with contextlib.suppress(FileNotFoundError):
                return os.fdopen(os.open(name, READ, dir_fd=layer), "rb")
        raise FileNotFoundError(name)

    def target(self, name: str) -> str:
        for layer in self.layers:
            with contextlib.suppress(FileNotFoundError):
                return os.fsdecode(os.readlink(name, dir_fd=layer))
        raise FileNotFoundError(name)

    def names(self) -> dict[str, Kind]:
        """Return all names with their kinds. For most, the directory listing has the kind and no stat is needed."""
        seen: dict[str, Kind | None] = {}
        for layer in self.layers:
            with os.scandir(layer) as found:
                for entry in found:
                    if entry.name not in seen:
                        seen[entry.name] = self._kind(entry)
        return {name: kind for name, kind in sorted(seen.items()) if kind is not None}

    def close(self) -> None:
        while self.layers:
            os.close(self.layers.pop())

    def _kind(self, entry: os.DirEntry[str]) -> Kind | None:
        if entry.is_file(follow_symlinks=False):
            return "file"
        if entry.is_dir(follow_symlinks=False):
            return "directory"
        if entry.is_symlink():
            return "link"
        return None if self._hides(entry.stat(follow_symlinks=False)) else "other"

    def _hides(self, found: os.stat_result) -> bool:
        return self.overlay and is_whiteout(found)


def kind_of(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def is_whiteout(found: os.stat_result) -> bool:
    """Return True if this entry marks a deletion in the layers beneath."""
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0


def _is_opaque(directory: int) -> bool:
    with contextlib.suppress(OSError):
        return os.getxattr(directory, OPAQUE) == b"y"
    return False
