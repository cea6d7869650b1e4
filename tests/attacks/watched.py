"""Watch a directory: the kernel reports every open, write and new name."""

import contextlib
import ctypes
import os
import struct
from collections.abc import Generator
from pathlib import Path

ACCESS, MODIFY, ATTRIB, OPEN, MOVED, CREATE, DELETE = 0x1, 0x2, 0x4, 0x20, 0xC0, 0x100, 0x200
ALL = ACCESS | MODIFY | ATTRIB | OPEN | MOVED | CREATE | DELETE
IS_DIRECTORY = 0x40000000
NAMES = {
    ACCESS: "read",
    MODIFY: "written",
    ATTRIB: "changed",
    OPEN: "opened",
    CREATE: "made in",
    DELETE: "removed from",
}
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def watched(*places: Path) -> Generator[list[str]]:
    """At the end, fill the list with the events of the directories, of everything below them, and of every file in
    them."""
    events: list[str] = []
    fd = _libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    assert fd >= 0
    everything = [path for place in places for path in (place, *place.rglob("*")) if not path.is_symlink()]
    paths = {_libc.inotify_add_watch(fd, bytes(path), ALL): path for path in everything}
    try:
        yield events
        with contextlib.suppress(BlockingIOError):
            while data := os.read(fd, 1 << 16):
                events += list(read_events(data, paths))
    finally:
        os.close(fd)


def read_events(data: bytes, paths: dict[int, Path]) -> Generator[str]:
    at = 0
    while at < len(data):
        watch, mask, _, length = struct.unpack_from("iIII", data, at)
        name = data[at + 16 : at + 16 + length].rstrip(b"\0").decode()
        at += 16 + length
        what = [word for bit, word in NAMES.items() if mask & bit]
        if what and watch in paths:
            looked = mask & IS_DIRECTORY and what[0] in ("opened", "read")
            yield f"{paths[watch] / name}: {what[0]}{' (directory)' if looked else ''}"
