"""The log of requests: when, from where, what path, who asked, what was answered. It contains no secret and no body."""

import datetime
import os
from pathlib import Path

from donewhen.printable import one_line

LARGEST = 1 << 20
"""Bytes. Then the file becomes `access.log.1`, and a new one is begun."""
LONGEST_LINE = 300


class AccessLog:
    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        self._path = path
        self._largest = largest
        self._file = _opened(path)

    def close(self) -> None:
        os.close(self._file)

    def write(self, *words: str) -> None:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = one_line(" ".join(words))[:LONGEST_LINE]
        os.write(self._file, f"{now} {line}\n".encode("utf-8", "backslashreplace"))
        if os.fstat(self._file).st_size >= self._largest:
            os.close(self._file)
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._file = _opened(self._path)


def _opened(path: Path) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    file = os.open(path, flags, 0o600)
    os.fchmod(file, 0o600)
    return file
