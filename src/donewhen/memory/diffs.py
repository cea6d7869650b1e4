"""Patches in the form that memory stores: text only, what changed and where, without object ids. Never applied.

A patch may have any size. Each file in it gets a share of the limit, so that a lock file or an image at the beginning
does not hide the repair.
"""

import re
from collections.abc import Iterator

from donewhen.memory.sanitise import CUT, LINE_ENDS, cut

BINARY = "(a binary file)"
OBJECTS = re.compile(r"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: \d+)?")
HEAD = "diff --git "
FILE_LENGTH = 16 * 1024
PATCH_LENGTH = 128 * 1024
"""Limits of what is read, of one file (bytes) and of the patch (characters): much more than is stored."""


def readable_patch(patch: bytes | str) -> str:
    """Return a git patch without the parts that only git needs. Of a long patch, keep the beginning of each file."""
    data = patch if isinstance(patch, bytes) else patch.encode("utf-8", "replace")
    kept: list[str] = []
    left = PATCH_LENGTH
    for one in _files(data):
        kept.append(_readable(one)[:left])
        left -= len(kept[-1]) + 1
        if left <= 0:
            break
    return "\n".join(kept)


def shorten(diff: str, most_bytes: int) -> str:
    """Shorten a readable patch to `most_bytes`: short files stay whole, long ones share the rest."""
    files = re.split(rf"\n(?={HEAD})", diff)
    if len(files) == 1 or len(diff.encode()) <= most_bytes:
        return cut(diff, most_bytes)
    left = most_bytes - len(files)
    kept = dict[int, str]()
    for done, number in enumerate(sorted(range(len(files)), key=lambda number: len(files[number].encode()))):
        kept[number] = _beginning(files[number], left // (len(files) - done))
        left -= len(kept[number].encode())
    return cut("\n".join(kept[number] for number in sorted(kept)), most_bytes)


def _beginning(file: str, most_bytes: int) -> str:
    """Return whole lines only: half of a redaction mark could be mistaken for something else."""
    if len(file.encode()) <= most_bytes:
        return file
    lines = cut(file, most_bytes - len(f"\n{CUT}".encode())).split("\n")
    return "\n".join([*lines[:-1], CUT] if len(lines) > 1 else lines)


def changed_lines(diff: str) -> list[str]:
    """Return what equal changes have in common: file names, added and removed lines, without positions."""
    return [line.rstrip() for line in diff.splitlines() if line.startswith((HEAD, "+", "-"))]


def _files(patch: bytes) -> Iterator[str]:
    """Yield the part of each file. Content lines have a mark in front, so none looks like a file header."""
    at = 0
    while at < len(patch):
        end = patch.find(f"\n{HEAD}".encode(), at)
        end = len(patch) if end < 0 else end
        yield patch[at : min(end, at + FILE_LENGTH)].decode("utf-8", "replace")
        at = end + 1


def _readable(file: str) -> str:
    kept: list[str] = []
    for line in file.rstrip("\n").split("\n"):
        if line == "GIT binary patch":
            kept.append(BINARY)
            break
        if not OBJECTS.fullmatch(line):
            # Other line ends inside become spaces, so that one line stays one line, with its mark.
            kept.append(LINE_ENDS.sub(" ", line.rstrip("\r")))
    return "\n".join(kept)
