"""Files that git keeps as LFS pointers, in Python: no filter program is ever run for them.

A pointer in a tree becomes its content on disk where this machine has it; content on disk becomes its pointer in a
tree. Content is only ever looked for locally and never fetched.
"""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

LONGEST_POINTER = 1024
POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-\d-\S+ \S+\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
ATTRIBUTE = b"filter=lfs"


class Pointer(NamedTuple):
    oid: str
    size: int

    def content(self) -> bytes:
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.oid}\nsize {self.size}\n".encode()

    def below(self, place: Path) -> Path:
        return place / self.oid[:2] / self.oid[2:4] / self.oid


def pointer_in(content: bytes) -> Pointer | None:
    found = POINTER.fullmatch(content)
    return Pointer(found.group(1).decode(), int(found.group(2))) if found else None


def fill(paths: Iterable[bytes], places: Sequence[Path]) -> list[bytes]:
    """Put the content into each file that holds a pointer to it. What is not here stays a pointer and is given back."""
    missing: list[bytes] = []
    for path in paths:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(fd, "r+b") as file:
            pointer = pointer_in(file.read(LONGEST_POINTER + 1))
            if pointer is None:
                continue
            source = _find(pointer, places)
            if source is None:
                missing.append(path)
                continue
            file.seek(0)
            file.truncate()
            with source.open("rb") as content:
                shutil.copyfileobj(content, file, 1 << 20)
    return missing


def _find(pointer: Pointer, places: Sequence[Path]) -> Path | None:
    candidates = (pointer.below(place) for place in places)
    return next((path for path in candidates if path.is_file() and path.stat().st_size == pointer.size), None)


def pointer_of(path: bytes) -> bytes:
    """What a tree says for a file: its pointer, or what is in it when that is one already."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        start = file.read(LONGEST_POINTER + 1)
        if pointer_in(start):
            return start
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Pointer(digest, file.tell()).content()


def take_in(path: bytes, places: Sequence[Path]) -> bytes:
    """The pointer of a file, whose content is then below one of the places; the first of them is ours to write to."""
    content = pointer_of(path)
    pointer = pointer_in(content)
    if pointer is not None and _find(pointer, places) is None and os.stat(path).st_size == pointer.size:
        target = pointer.below(places[0])
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix="tmp_donewhen_", delete=False) as copy:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, copy, 1 << 20)
        Path(copy.name).replace(target)
    return content
