"""A text in pieces: what a merge needs to know about a stretch of a file, whatever language it is written in.

A piece tells its shape only when asked, because only what both sides changed is ever opened. The bytes of a shape,
put together in order, are the piece's text.
"""

from collections.abc import Callable, Sequence

from donewhen.records import frozen

Sorting = Callable[[bytes], tuple[int, bytes]]


@frozen
class Piece:
    """Some text, where it starts, what it is, and how it can be taken apart."""

    text: bytes
    kind: str
    start: int
    opened: "Callable[[], Items | Parts | None]"
    addable: bool = False
    """Two that were added by both sides may become one: imports from one module, say."""


@frozen
class Item:
    """One of several things in a row: white space, comments, the thing, its separator, a comment on the same line."""

    gap: bytes
    lead: bytes
    core: Piece
    sep: bytes
    rest: bytes
    key: bytes
    named: bool
    """Whether the key is a name, which stays when the thing changes; otherwise it is the text."""
    free: bool
    """Whether it may stand before or after what the other side adds at the same place."""
    order: bytes | None = None
    """What a sorted row is sorted by."""
    filler: bool = False
    """It stands there because something must, and goes when something comes."""

    @property
    def told(self) -> tuple[bytes, bytes, bytes]:
        return self.lead, self.core.text, self.rest


@frozen
class Items:
    """A row of things. `sep` and `between` are what separates them where no example is at hand."""

    what: str
    head: bytes
    items: Sequence[Item]
    tail: bytes
    sep: bytes = b""
    between: bytes = b"\n"
    sortings: Sequence[Sorting] = ()


@frozen
class Parts:
    """A fixed sequence of parts with roles. Unless they are independent, both sides may have changed one part only."""

    parts: Sequence[tuple[str, Piece]]
    independent: bool


def plain(text: bytes, start: int, kind: str = "text") -> Piece:
    """A piece that cannot be taken apart."""
    return Piece(text, kind, start, lambda: None)
