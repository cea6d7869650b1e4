"""A text in pieces: what a merge needs to know about a range of a file, in any language.

A piece computes its shape only on request, because only what both sides changed is ever opened. The bytes of a shape,
joined in order, are the text of the piece.
"""

from collections.abc import Callable, Sequence

from donewhen.records import frozen

Sorting = Callable[[bytes], tuple[int, bytes]]


@frozen
class Piece:
    """A text, its start, its kind, and a function that splits it."""

    text: bytes
    kind: str
    start: int
    split: "Callable[[], Items | Parts | None]"
    addable: bool = False
    """True if two pieces added by both sides may become one, for example imports from one module."""


@frozen
class RowItem:
    """One item of a row: white space, comments, the item itself, its separator, a comment on the same line."""

    gap: bytes
    lead: bytes
    core: Piece
    sep: bytes
    rest: bytes
    key: bytes
    named: bool
    """True if the key is a name, which stays when the item changes; otherwise the key is the text."""
    free: bool
    """True if it may be before or after what the other side adds at the same position."""
    order: bytes | None = None
    """The key by which a sorted row is sorted."""
    filler: bool = False
    """A placeholder that the syntax requires, such as `pass`; it is dropped when a real item is added."""

    @property
    def texts(self) -> tuple[bytes, bytes, bytes]:
        return self.lead, self.core.text, self.rest


@frozen
class Items:
    """A row of items. `sep` and `between` separate them if there is no example in the file."""

    what: str
    head: bytes
    items: Sequence[RowItem]
    tail: bytes
    sep: bytes = b""
    between: bytes = b"\n"
    sortings: Sequence[Sorting] = ()


@frozen
class Parts:
    """A fixed sequence of parts with roles. Unless they are independent, at most one part may have changed."""

    parts: Sequence[tuple[str, Piece]]
    independent: bool


def plain(text: bytes, start: int, kind: str = "text") -> Piece:
    """Return a piece that cannot be split."""
    return Piece(text, kind, start, lambda: None)
