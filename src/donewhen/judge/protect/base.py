"""The base as files on disk, asked a few small questions. Nothing is listed and no link is followed out of it."""

import os
import stat
from pathlib import Path

from donewhen.records import frozen

LARGEST = 1 << 20
"""Nobody writes a larger script or manifest by hand."""


@frozen
class Base:
    root: Path

    def has(self, path: str) -> bool:
        """Whether a file, or anything else that is no directory, is there."""
        mode = self._mode(path)
        return mode is not None and not stat.S_ISDIR(mode)

    def is_directory(self, path: str) -> bool:
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def read(self, path: str) -> str | None:
        """The text of a file; None where there is none, or it is too large to be text that somebody wrote."""
        mode = self._mode(path)
        if mode is None or not stat.S_ISREG(mode):
            return None
        full = os.path.join(self.root, path)
        try:
            if os.path.getsize(full) > LARGEST:
                return None
            with open(full, encoding="utf-8", errors="surrogateescape") as file:
                return file.read()
        except OSError:
            return None

    def link(self, path: str) -> str:
        """Where a link at this path points; nothing where there is no link."""
        try:
            return os.readlink(os.path.join(self.root, path))
        except (OSError, ValueError):
            return ""

    def names(self, directory: str) -> list[str]:
        try:
            return os.listdir(os.path.join(self.root, directory))
        except OSError:
            return []

    def _mode(self, path: str) -> int | None:
        try:
            return os.lstat(os.path.join(self.root, path)).st_mode
        except (OSError, ValueError):
            return None
