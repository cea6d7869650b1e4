"""Rows of whole lines: entries of which somebody found the start and the end, with what lies between them."""

from collections.abc import Sequence

from donewhen.records import frozen
from donewhen.syntax.merging.pieces import Item, Items, Piece


@frozen
class Entry:
    core: Piece
    key: bytes
    named: bool
    free: bool

    @property
    def end(self) -> int:
        return self.core.start + len(self.core.text)


def row_of(what: str, text: bytes, offset: int, head_end: int, entries: Sequence[Entry]) -> Items:
    """A row over `text`, which starts at `offset` of the file; the head ends at `head_end` of the text."""
    items: list[Item] = []
    at = head_end
    for entry in entries:
        between = text[at : entry.core.start - offset]
        lead = between.lstrip()
        gap = between[: len(between) - len(lead)]
        items.append(Item(gap, lead, entry.core, b"", b"", entry.key, entry.named, entry.free))
        at = entry.end - offset
    return Items(what, text[:head_end], items, text[at:])


def lines_with_offsets(text: bytes, offset: int) -> list[tuple[int, bytes]]:
    """Each line without its end, and where it starts in the file."""
    found: list[tuple[int, bytes]] = []
    at = offset
    for line in text.split(b"\n"):
        found.append((at, line.rstrip(b"\r")))
        at += len(line) + 1
    return found
