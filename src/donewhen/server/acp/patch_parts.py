"""A patch of git as the parts that an editor shows: one for each hunk, with the path of its file. Pure."""

import os.path
import re
from collections.abc import Iterator

from acp.schema import FileEditToolCallContent

from donewhen.records import frozen

MOST_PARTS = 200
MOST_CHARACTERS = 400_000
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_SHORT = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


@frozen
class PatchPart:
    """A hunk, or a file without text."""

    path: str
    """Relative to the repository."""
    line: int
    """The first line in the new file; 0 if it has none."""
    old: str | None
    """None for a new file."""
    new: str
    note: str = ""
    """Why no text is here."""


def parts_of(patch: str) -> Iterator[PatchPart]:
    """Yield the parts of a patch in their order."""
    lines = patch.split("\n")
    at, old_path, new_path = 0, "", ""
    while at < len(lines):
        line = lines[at]
        if line.startswith("--- "):
            old_path = _path(line[4:])
        elif line.startswith("+++ "):
            new_path = _path(line[4:])
        elif line.startswith("Binary files ") or line == "GIT binary patch":
            yield PatchPart(_binary_path(lines, at), 0, "", "", "the file is no text")
        elif (hunk := _HUNK.match(line)) and (old_path or new_path):
            at, old, new = _sides(lines, at + 1, int(hunk[2] or 1), int(hunk[4] or 1))
            yield PatchPart(new_path or old_path, int(hunk[3]), old if old_path else None, new)
            continue
        at += 1


def _sides(lines: list[str], at: int, old_count: int, new_count: int) -> tuple[int, str, str]:
    """Return where a hunk ends, and its text before and after."""
    old: list[str] = []
    new: list[str] = []
    while at < len(lines) and (len(old) < old_count or len(new) < new_count):
        mark, text = lines[at][:1], lines[at][1:] + "\n"
        if mark in (" ", "", "-"):
            old.append(text)
        if mark in (" ", "", "+"):
            new.append(text)
        at += 1
        if lines[at : at + 1] and lines[at].startswith("\\ "):  # no line end at the end of the file
            for side in (old, new):
                if side and mark in ((" ", "-") if side is old else (" ", "+")):
                    side[-1] = side[-1][:-1]
            at += 1
    return at, "".join(old), "".join(new)


def _binary_path(lines: list[str], at: int) -> str:
    """Return the path of the file whose header is above."""
    header = next((line for line in reversed(lines[:at]) if line.startswith("diff --git ")), "")
    return _path(header.rpartition(' "b/' if header.endswith('"') else " b/")[2].rstrip('"'), prefixed=False)


def _path(name: str, prefixed: bool = True) -> str:
    """Return a path that git wrote; empty for a file that is not there."""
    name = name.split("\t", 1)[0]
    if name == "/dev/null":
        return ""
    if name.startswith('"') and name.endswith('"'):
        name = _ESCAPE.sub(_character, name[1:-1].encode()).decode("utf-8", "replace")
    return name[2:] if prefixed and name[:2] in ("a/", "b/") else name


def _character(escape: re.Match[bytes]) -> bytes:
    found = escape[1]
    return bytes([int(found, 8) & 0xFF]) if len(found) == 3 else _SHORT.get(found, found)


def edits_of(patch: str, root: str) -> tuple[list[FileEditToolCallContent], list[tuple[str, int]], int]:
    """Return what an editor shows of a patch, its places (path, line), and how many parts are left out."""
    contents: list[FileEditToolCallContent] = []
    places: list[tuple[str, int]] = []
    size = left_out = 0
    for part in parts_of(patch):
        path = below(root, part.path)
        size += len(part.new) + len(part.old or "")
        if not path or part.note or len(contents) >= MOST_PARTS or size > MOST_CHARACTERS:
            left_out += 1
            continue
        edit = FileEditToolCallContent(type="diff", path=path, old_text=part.old, new_text=part.new)
        contents.append(edit)
        places.append((path, part.line))
    return contents, places, left_out


def below(root: str, path: str) -> str:
    """Return the absolute path of a file of the repository; empty if the path leads out of it."""
    whole = os.path.normpath(os.path.join(root, path))
    return whole if whole.startswith(root.rstrip("/") + "/") and "\0" not in path else ""
