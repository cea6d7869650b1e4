"""Git LFS pointers and contents, handled in Python. No filter program runs for them.

A pointer in a tree becomes its content on disk if this machine has it. Content on disk becomes its pointer in a tree.
Content is only searched locally and never fetched.
"""

import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from donewhen.workspace.beneath import LeavesRoot, Root

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

    @property
    def path(self) -> str:
        """Path of the content below an LFS directory."""
        return f"{self.oid[:2]}/{self.oid[2:4]}/{self.oid}"


def pointer_in(content: bytes) -> Pointer | None:
    found = POINTER.fullmatch(content)
    return Pointer(found.group(1).decode(), int(found.group(2))) if found else None


def fill(root: Root, paths: Iterable[bytes], places: Sequence[Root]) -> list[bytes]:
    """Write the content into each file that is a pointer to it. Return the paths whose content is not available."""
    missing: list[bytes] = []
    for path in paths:
        with os.fdopen(root.open(path, os.O_RDWR), "r+b") as file:
            pointer = pointer_in(file.read(LONGEST_POINTER + 1))
            if pointer is None:
                continue
            source = _find(pointer, places)
            if source is None:
                missing.append(path)
                continue
            with source.file(pointer.path) as content:
                file.seek(0)
                file.truncate()
                shutil.copyfileobj(content, file, 1 << 20)
    return missing


def _find(pointer: Pointer, places: Sequence[Root]) -> Root | None:
    return next((place for place in places if _has_content(place, pointer)), None)


def _has_content(place: Root, pointer: Pointer) -> bool:
    """Return whether a directory has the content. A link counts as missing: content is never read from outside."""
    try:
        found = place.status(pointer.path)
    except LeavesRoot:
        return False
    return found is not None and stat.S_ISREG(found.st_mode) and found.st_size == pointer.size


def pointer_of(root: Root, path: bytes) -> bytes:
    """Return the pointer of a file for a tree; the file's content if that is already a pointer."""
    with root.file(path) as file:
        start = file.read(LONGEST_POINTER + 1)
        if pointer_in(start):
            return start
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Pointer(digest, file.tell()).content()


def store_content(root: Root, path: bytes, places: Sequence[Root]) -> bytes:
    """Return the pointer of a file, and store its content in the first of `places` if none of them has it."""
    content = pointer_of(root, path)
    pointer = pointer_in(content)
    with root.file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if pointer is None or size != pointer.size or _find(pointer, places) is not None:
            return content
        with places[0].above(pointer.path, make=True) as (above, name):
            temporary = f"tmp_donewhen_{secrets.token_hex(6)}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=above), "wb") as copy:
                shutil.copyfileobj(file, copy, 1 << 20)
            os.replace(temporary, name, src_dir_fd=above, dst_dir_fd=above)
    return content
