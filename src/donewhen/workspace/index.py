"""Git's index file, read and written as data, so that a few entries cost no git process. Versions 2 and 3 only.

Our own small indexes are made here, handed to git, and read again afterwards. The user's index is never parsed: git
itself reads a copy of it.
"""

import hashlib
import struct
from collections.abc import Iterable
from typing import NamedTuple

from donewhen.workspace.objects import Entry

STAT_BYTES = 24
"""Times, device, inode: the part of an entry's record of a file that stands before its mode."""
EXTENDED = SKIP_WORKTREE = 0x4000
LONGEST_NAME = 0xFFF


class Held(NamedTuple):
    """One entry of an index."""

    path: bytes
    entry: Entry
    absent: bool = False
    """Not in the work tree and not missed there: git reads rules from such an entry's blob instead."""


def written(held: Iterable[Held], object_format: str) -> bytes:
    """An index file. What the entries' files look like on disk is left unknown."""
    ordered = sorted(held, key=lambda item: item.path)
    body = struct.pack(">4sLL", b"DIRC", 3, len(ordered)) + b"".join(map(_record, ordered))
    return body + hashlib.new(object_format, body, usedforsecurity=False).digest()


def _record(item: Held) -> bytes:
    flags = min(len(item.path), LONGEST_NAME) | (EXTENDED if item.absent else 0)
    extended = struct.pack(">H", SKIP_WORKTREE) if item.absent else b""
    head = bytes(STAT_BYTES) + struct.pack(">LLLL", item.entry.mode, 0, 0, 0)
    record = head + bytes.fromhex(item.entry.id) + struct.pack(">H", flags) + extended + item.path
    return record + bytes(8 - len(record) % 8)


def entries(content: bytes, object_format: str) -> dict[bytes, Entry]:
    """Path → entry of an index file that git wrote for us."""
    width = hashlib.new(object_format, usedforsecurity=False).digest_size
    signature, version, count = struct.unpack_from(">4sLL", content)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError(f"an index of version {version} was not asked for")
    found: dict[bytes, Entry] = {}
    at = 12
    for _ in range(count):
        (mode,) = struct.unpack_from(">L", content, at + STAT_BYTES)
        name = at + STAT_BYTES + 16 + width + 2
        (flags,) = struct.unpack_from(">H", content, name - 2)
        entry = Entry(mode, content[name - 2 - width : name - 2].hex())
        name += 2 if flags & EXTENDED else 0
        end = content.index(b"\0", name)
        found[content[name:end]] = entry
        at += (end - at + 8) // 8 * 8
    return found
