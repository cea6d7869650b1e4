"""Rows made of whole lines: entries with known start and end, and the text between them."""

from collections.abc import Sequence

from donewhen.records import frozen
from donewhen.syntax.merging.pieces import Items, Piece, RowItem


@frozen
class ListEntry:
    core: Piece
    key: bytes
    named: bool
    free: bool

    @property
    def end(self) -> int:
        return self.core.start + len(self.core.text)


def row_of(what: str, text: bytes, offset: int, head_end: int, entries: Sequence[ListEntry]) -> Items:
    """Return a row over `text`, which starts at `offset` of the file; the head ends at `head_end` of the text."""
    items: list[RowItem] = []
    at = head_end
    for entry in entries:
        between = text[at : entry.core.start - offset]
        lead = between.lstrip()
        gap = between[: len(between) - len(lead)]
        items.append(RowItem(gap, lead, entry.core, b"", b"", entry.key, entry.named, entry.free))
        at = entry.end - offset
    return Items(what, text[:head_end], items, text[at:])


def lines_with_offsets(text: bytes, offset: int) -> list[tuple[int, bytes]]:
    """Return each line without its line end, with its offset in the file."""
    found: list[tuple[int, bytes]] = []
    at = offset
    for line in text.split(b"\n"):
        found.append((at, line.rstrip(b"\r")))
        at += len(line) + 1
    return found
