"""Reader and writer of git's index file, versions 2 and 3. A few entries then need no git process.

This module creates our own small indexes, which we give to git and read again afterwards. It never parses the user's
index: git reads a copy of it. The functions about that copy only check what must be known before git compares files
with it.
"""

import hashlib
import re
import struct
from collections.abc import Iterable
from typing import NamedTuple

from donewhen.workspace.git.objects import TreeEntry

STAT_BYTES = 24
"""Times, device, inode: the file data that precedes the mode in an entry."""
EXTENDED = SKIP_WORKTREE = 0x4000
LONGEST_NAME = 0xFFF
UNSAFE = re.compile(rb"(?<=[/\0])(?:\.\.?|\.git|)(?=[/\0])", re.IGNORECASE)
"""A path component that no checkout has. Git would look outside the working tree, or into a git directory."""
UNSAFE_PARTS = (b"//", b"/./", b"/../", b"/.git/")
"""The same components, for paths that begin and end with a slash."""
LINK = re.compile(b"link")
"""Header of the extension that names the shared part of a split index. Its length and the name follow."""


class IndexEntry(NamedTuple):
    """One entry of an index."""

    path: bytes
    entry: TreeEntry
    absent: bool = False
    """True for a skip-worktree entry: git does not expect the file and reads rules from the entry's blob instead."""


def index_content(items: Iterable[IndexEntry], object_format: str) -> bytes:
    """Return the content of an index file, without stat data of the files on disk."""
    ordered = sorted(items, key=lambda item: item.path)
    body = struct.pack(">4sLL", b"DIRC", 3, len(ordered)) + b"".join(map(_record, ordered))
    return body + hashlib.new(object_format, body, usedforsecurity=False).digest()


def _record(item: IndexEntry) -> bytes:
    flags = min(len(item.path), LONGEST_NAME) | (EXTENDED if item.absent else 0)
    extended = struct.pack(">H", SKIP_WORKTREE) if item.absent else b""
    head = bytes(STAT_BYTES) + struct.pack(">LLLL", item.entry.mode, 0, 0, 0)
    record = head + bytes.fromhex(item.entry.id) + struct.pack(">H", flags) + extended + item.path
    return record + bytes(8 - len(record) % 8)


def entries(content: bytes, object_format: str) -> dict[bytes, TreeEntry]:
    """Return path → entry of an index file that git wrote for us."""
    width = hashlib.new(object_format, usedforsecurity=False).digest_size
    signature, version, count = struct.unpack_from(">4sLL", content)
    if signature != b"DIRC" or version not in (2, 3):
        raise ValueError(f"unexpected index version {version}")
    found: dict[bytes, TreeEntry] = {}
    at = 12
    for _ in range(count):
        (mode,) = struct.unpack_from(">L", content, at + STAT_BYTES)
        name = at + STAT_BYTES + 16 + width + 2
        (flags,) = struct.unpack_from(">H", content, name - 2)
        entry = TreeEntry(mode, content[name - 2 - width : name - 2].hex())
        name += 2 if flags & EXTENDED else 0
        end = content.index(b"\0", name)
        found[content[name:end]] = entry
        at += (end - at + 8) // 8 * 8
    return found


def unsafe_path(listed: bytes) -> bytes | None:
    """Return the first NUL-terminated path that leads out of a working tree or into a git directory, or None."""
    plain = b"/" + listed.lower().replace(b"\0", b"/")
    if not any(part in plain for part in UNSAFE_PARTS):  # much faster than the pattern, which names the path
        return None
    found = UNSAFE.search(b"\0" + listed)
    if found is None:
        return None
    start = listed.rfind(b"\0", 0, found.start() - 1) + 1 if found.start() > 1 else 0
    return listed[start:].partition(b"\0")[0]


def named_parts(content: bytes, names: Iterable[str]) -> set[str]:
    """Return those of the names, all `sharedindex.ID`, that a split index refers to as its shared part.

    The extension is recognised by its four letters only, so a path that contains them can add a name.
    """
    ids = {name.partition(".")[2]: name for name in names}
    widths = {len(id) // 2 for id in ids}
    starts = (link.end() + 4 for link in LINK.finditer(content))
    found = (content[start : start + width].hex() for start in starts for width in widths)
    return {ids[id] for id in found if id in ids}
