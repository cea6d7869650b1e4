"""Which files a command leaves in its private home. The home disappears with the sandbox; a descriptor outlives it.

Used by the observer, which sees the first program of a command before it starts. Standard library only. Nothing here
judges a file.
"""

from __future__ import annotations

import os
import stat

MOST_FILES = 5_000
"""Files in one record. The walk goes level by level, so that files near the top are always in it."""
Files = dict[str, int]
"""Path below the home → mode; 0 for a directory that cannot be read, and for what is beyond MOST_FILES."""


class HomeFiles:
    """The home of one command. Made before its first program runs."""

    def __init__(self, directory: int) -> None:
        self._directory = directory
        self._device = os.fstat(directory).st_dev
        self._before = self._files()

    def left(self) -> Files:
        """Return what the command left. Every process of it must be dead."""
        return {path: mode for path, mode in self._files().items() if path not in self._before}

    def _files(self) -> Files:
        found: Files = {}
        level = [""]
        while level:
            inner: list[str] = []
            for directory in level:
                if len(found) >= MOST_FILES:
                    return {**found, "": 0}
                inner += self._list(directory, found)
            level = inner
        return found

    def _list(self, directory: str, found: Files) -> list[str]:
        """Add the files of a directory; return the directories in it. Other file systems are not entered."""
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        inner: list[str] = []
        try:
            descriptor = os.open(directory or ".", flags, dir_fd=self._directory)
        except OSError:
            found[directory] = 0
            return inner
        try:
            if os.fstat(descriptor).st_dev != self._device:
                return inner
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    path = f"{directory}/{entry.name}" if directory else entry.name
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        inner.append(path)
                    elif len(found) < MOST_FILES:
                        found[path] = mode
        finally:
            os.close(descriptor)
        return inner
