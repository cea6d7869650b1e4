"""The base as files on disk, with a few small queries. No tree is walked, and no link is followed out of the base."""

import os
import stat
from functools import lru_cache

from donewhen.records import frozen
from donewhen.short_lines import short_lines
from donewhen.workspace.beneath import Root

LARGEST = 1 << 20
"""In bytes. Scripts and manifests that people write by hand are smaller."""
LARGEST_SOURCE = 16 << 20
MOST_ANSWERS, MOST_TEXTS = 1 << 16, 16
"""Limits of the caches: a text may be large, an answer is small."""
PARSED = (".json", ".toml", ".xml")
"""A parser reads these files as a whole, so long lines are not cut."""


@frozen
class BaseFiles:
    root: Root

    def has(self, path: str) -> bool:
        """Return True if a file, or anything else that is not a directory, exists at the path."""
        mode = self._mode(path)
        return mode is not None and not stat.S_ISDIR(mode)

    def is_directory(self, path: str) -> bool:
        mode = self._mode(path)
        return mode is not None and stat.S_ISDIR(mode)

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if it does not exist or is too large to be written by hand."""
        try:
            content = self.root.read(path, LARGEST + 1)
        except OSError:
            return None
        if content is None or len(content) > LARGEST:
            return None
        text = content.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
        return text if path.endswith(PARSED) else short_lines(text)

    def source(self, path: str) -> str | None:
        """Return the text of a source exactly; None if it does not exist, is too large, or is not UTF-8."""
        try:
            content = self.root.read(path, LARGEST_SOURCE + 1)
            return content.decode() if content is not None and len(content) <= LARGEST_SOURCE else None
        except (OSError, UnicodeDecodeError):
            return None

    def link(self, path: str) -> str:
        """Return the target of a link at this path; empty if there is no link."""
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
        """Return the mode of the path; None if it does not exist or is behind a link."""
        try:
            found = self.root.status(path)
        except OSError:
            return None
        return found.st_mode if found is not None else None


class CachedBaseFiles:
    """The same queries with a cache, for a walk over text that names the same paths many times."""

    def __init__(self, base: BaseFiles) -> None:
        self.has = lru_cache(MOST_ANSWERS)(base.has)
        self.is_directory = lru_cache(MOST_ANSWERS)(base.is_directory)
        self.link = lru_cache(MOST_ANSWERS)(base.link)
        self._base = base
        self._texts = lru_cache(MOST_TEXTS)(base.read)

    def read(self, path: str) -> str | None:
        """Like `BaseFiles.read`. Missing files use no space in the cache of texts."""
        return self._texts(path) if self.has(path) else None
