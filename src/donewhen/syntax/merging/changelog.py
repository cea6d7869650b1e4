"""Changelogs and similar files as rows: headings, and the bullets below them. Prose between bullets is not merged."""

import re
from functools import partial

from donewhen.syntax.merging.entries import ListEntry, lines_with_offsets, row_of
from donewhen.syntax.merging.pieces import Items, Piece, plain

_HEADING = re.compile(rb"^(#{1,6})\s+\S")
_UNDERLINE = re.compile(rb"^(=+|-+|~+|\^+|\*+)\s*$")
_BULLET = re.compile(rb"^\s*(?:[-*+]|\xe2\x80\xa2)\s+\S")
_LEVELS = b"=-~^*"


def is_sound(text: bytes) -> bool:
    """Accept any text."""
    del text
    return True


def piece(text: bytes) -> Piece:
    return Piece(text, "changelog", 0, partial(_sections, text))


def _sections(text: bytes) -> Items:
    """Return all headings in one row; the key of each includes the headings above it."""
    lines = lines_with_offsets(text, 0)
    found = [(at, *heading) for at in range(len(lines)) if (heading := _heading(lines, at))]
    entries: list[ListEntry] = []
    if text[: lines[found[0][0]][0] if found else None].strip():
        entries.append(_section(text, 0, lines[found[0][0]][0] if found else len(text), 0, b"", False))
    above: list[tuple[int, bytes]] = []
    for number, (at, level, title, height) in enumerate(found):
        above = [*(one for one in above if one[0] < level), (level, title)]
        start = lines[at][0]
        end = lines[found[number + 1][0]][0] if number + 1 < len(found) else len(text)
        head = lines[at + height][0] - start if at + height < len(lines) else end - start
        free = level > 1 and not re.search(rb"\d|unreleased", title, re.IGNORECASE)
        entries.append(_section(text, start, end, head, b" / ".join(name for _, name in above), free))
    return row_of("sections", text, 0, 0, entries)


def _heading(lines: list[tuple[int, bytes]], at: int) -> tuple[int, bytes, int] | None:
    """Return level, title, and the number of lines of a heading."""
    line = lines[at][1]
    if marks := _HEADING.match(line):
        return len(marks[1]), line.strip(b"# \t"), 1
    under = _UNDERLINE.match(lines[at + 1][1]) if at + 1 < len(lines) else None
    if under and line.strip() and not _BULLET.match(line) and len(under[1]) >= min(len(line.strip()), 3):
        return 1 + _LEVELS.index(under[1][:1]), line.strip(), 2
    return None


def _section(text: bytes, start: int, end: int, head: int, key: bytes, free: bool) -> ListEntry:
    core = text[start:end].rstrip()
    head = min(head, len(core))
    head -= len(core[:head]) - len(core[:head].rstrip())
    return ListEntry(Piece(core, "section", start, partial(_bullets, core, start, head), addable=True), key, True, free)


def _bullets(text: bytes, offset: int, head: int) -> Items:
    """Return paragraphs and bullets; a bullet includes the lines that are indented below it."""
    starts: list[tuple[int, bool]] = []
    goes_on, margin = False, 0
    for at, line in lines_with_offsets(text[head:], offset + head):
        if not line.strip():
            goes_on = False
            continue
        bullet = _BULLET.match(line) is not None
        indent = len(line) - len(line.lstrip())
        margin = min(margin, indent) if starts else indent
        if not starts or not (indent > margin or (goes_on and not bullet)):
            starts.append((at + indent, bullet))
        goes_on = True
    entries: list[ListEntry] = []
    for number, (start, bullet) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else offset + len(text)
        core = text[start - offset : end - offset].rstrip()
        entries.append(ListEntry(plain(core, start, "bullet" if bullet else "prose"), core, False, bullet))
    return row_of("bullets", text, offset, head, entries)
