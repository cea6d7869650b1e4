"""The base as files on disk, asked a few small questions. Nothing is listed and no link is followed out of it."""

import os
import stat

from donewhen.judge.short_lines import PARSED, short_lines
from donewhen.records import frozen
from donewhen.workspace.beneath import Root

LARGEST = 1 << 20
"""Nobody writes a larger script or manifest by hand."""


@frozen
class Base:
    root: Root

    def has(self, path: str) -> bool:
        """Whether a file, or anything else that is no directory, is there."""
        mode = self._mode(path)
        return mode is not None and not stat.S_ISDIR(mode)

    def is_directory(self, path: str) -> bool:
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def read(self, path: str) -> str | None:
        """The text of a file; None where there is none, or it is too large to be text that somebody wrote."""
        try:
            content = self.root.read(path, LARGEST + 1)
        except OSError:
            return None
        if content is None or len(content) > LARGEST:
            return None
        text = content.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
        return text if path.endswith(PARSED) else short_lines(text)

    def link(self, path: str) -> str:
        """Where a link at this path points; nothing where there is no link."""
        try:
            return os.fsdecode(self.root.target(path) or b"")
        except OSError:
            return ""

    def names(self, directory: str) -> list[str]:
        try:
            return self.root.names(directory)
        except OSError:
            return []

    def _mode(self, path: str) -> int | None:
        """What lies behind a link is not there."""
        try:
            found = self.root.status(path)
        except OSError:
            return None
        return found.st_mode if found is not None else None
