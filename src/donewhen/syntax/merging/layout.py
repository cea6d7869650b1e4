"""Writes a merged row as text, with the white space and separators of the file. It does not decide what is in the
row."""

from collections import Counter
from collections.abc import Sequence

from donewhen.records import frozen
from donewhen.syntax.merging.pieces import Items, RowItem


@frozen
class Placed:
    """One item of the result: its texts, and the version and index from which its white space comes."""

    source: Items
    at: int
    gap: bytes
    lead: bytes
    core: bytes
    rest: bytes

    @property
    def item(self) -> RowItem:
        return self.source.items[self.at]


def lay_out(placed: Sequence[Placed], base: Items, ours: Items, theirs: Items) -> bytes:
    broken = {id(row): _is_broken(row) for row in (base, ours, theirs)}
    model = ours if broken[id(theirs)] == broken[id(base)] else theirs
    foreign = {id(row): bool(model.items) and broken[id(row)] != broken[id(model)] for row in (base, ours, theirs)}
    usual, sep = _usual_gap([model]), _usual_sep([model, ours, theirs, base])
    trailing = _has_trailing_sep(base, ours, theirs)
    pieces: list[bytes] = []
    for at, thing in enumerate(placed):
        last = at == len(placed) - 1
        closing = (thing.item.sep or sep) if not last or trailing else b""
        if at and foreign[id(thing.source)]:
            gap = usual or model.items[0].gap
        else:
            gap = _gap(thing, at == 0, model, [ours, theirs, base])
        pieces += [gap, thing.lead, thing.core, closing, thing.rest]
    return b"".join(pieces)


def _is_broken(row: Items) -> bool:
    """Tell whether the items are on separate lines."""
    return any(b"\n" in item.gap for item in row.items)


def _gap(thing: Placed, first: bool, model: Items, rows: Sequence[Items]) -> bytes:
    """Return the white space before an item: its own, unless it became the first item or is no longer the first."""
    if first == (thing.at == 0):
        return thing.gap
    if first:
        return next((row.items[0].gap for row in rows if row.items), thing.gap)
    if len(thing.source.items) > 1:
        return thing.source.items[1].gap
    return _default_gap(thing, model, rows)


def _default_gap(thing: Placed, model: Items, rows: Sequence[Items]) -> bytes:
    """Return the gap if no version has two adjacent items: definitions of several lines get an empty line."""
    usual = _usual_gap(rows)
    if usual or model.what == "bullets":
        return usual or model.between
    first = next((row.items[0].gap for row in rows if row.items and b"\n" in row.items[0].gap), b"")
    if model.what != "definitions":
        return first or model.between
    end = b"\r\n" if b"\r\n" in thing.core else b"\n"
    blank = model.between if b"\n" in thing.core else b"\n"
    return blank.replace(b"\n", end) + first.rpartition(b"\n")[2]


def _usual_gap(rows: Sequence[Items]) -> bytes:
    """Return the most frequent white space between two items."""
    for row in rows:
        if gaps := [item.gap for item in row.items[1:]]:
            return Counter(gaps).most_common(1)[0][0]
    return b""


def _usual_sep(rows: Sequence[Items]) -> bytes:
    seps = [item.sep for row in rows for item in row.items if item.sep]
    crowded = any(len(row.items) > 1 for row in rows[1:] if not any(item.sep for item in row.items))
    return seps[0] if seps else b"" if crowded else rows[0].sep


def _has_trailing_sep(base: Items, ours: Items, theirs: Items) -> bool:
    b, o, t = (bool(row.items and row.items[-1].sep) for row in (base, ours, theirs))
    if not base.items:
        return o
    return t if o == b else o
