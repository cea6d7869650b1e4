"""A patch as it is remembered: text only, what changed and where, without the names of objects. Never applied.

A patch may be as large as it likes. Each file in it has its share of the room, so that a lock file or a picture that
comes first does not hide what was repaired.
"""

import re
from collections.abc import Iterator

from donewhen.memory.inert import CUT, LINE_ENDS, cut

BINARY = "(a binary file)"
OBJECTS = re.compile(r"index [0-9a-f]{4,64}\.\.[0-9a-f]{4,64}(?: \d+)?")
HEAD = "diff --git "
FILE_LENGTH = 16 * 1024
PATCH_LENGTH = 128 * 1024
"""Characters that are looked at, of one file and of all: much more than is kept."""


def readable(patch: bytes | str) -> str:
    """A patch of git without what only git reads; of a long one, the beginnings of its files."""
    data = patch if isinstance(patch, bytes) else patch.encode("utf-8", "replace")
    kept: list[str] = []
    left = PATCH_LENGTH
    for one in _files(data):
        kept.append(_readable(one)[:left])
        left -= len(kept[-1]) + 1
        if left <= 0:
            break
    return "\n".join(kept)


def shared(diff: str, most_bytes: int) -> str:
    """At most so many bytes of a readable patch: what is short stays whole, what is long gets what is left."""
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
    """Whole lines, so that no half of what was taken out is left, which would be taken for something else."""
    if len(file.encode()) <= most_bytes:
        return file
    lines = cut(file, most_bytes - len(f"\n{CUT}".encode())).split("\n")
    return "\n".join([*lines[:-1], CUT] if len(lines) > 1 else lines)


def substance(diff: str) -> list[str]:
    """What two patches that do the same have in common: the files, and the lines that come and go, wherever that is."""
    return [line.rstrip() for line in diff.splitlines() if line.startswith((HEAD, "+", "-"))]


def _files(patch: bytes) -> Iterator[str]:
    """The part of each file; no line of a file's own begins like the head of one, since it has a mark in front."""
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
            # What would end a line in it is shown as a space: one line stays one, with its mark.
            kept.append(LINE_ENDS.sub(" ", line.rstrip("\r")))
    return "\n".join(kept)
