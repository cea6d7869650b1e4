"""Merges three versions of a piece: equal on both sides, changed on one side, or split and merged part by part.

It never guesses: what it cannot merge is recorded as a conflict, and the resulting text must then not be used.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from donewhen.records import frozen
from donewhen.syntax.merging.layout import Placed, lay_out
from donewhen.syntax.merging.pieces import Items, Parts, Piece
from donewhen.syntax.merging.rows import Clash, MergedRow, merge_rows

MOST_LEVELS = 60
"""Each level costs four frames of the interpreter; hand-written code is not nested deeper than this."""

EMPTY = b""


@frozen
class MergeConflict:
    """An offset in our text, the surrounding symbol, and why the sides cannot be merged there."""

    at: int
    symbol: str
    why: str


@dataclass(slots=True)
class Weaving:
    """One merge attempt: what was merged, and what could not be."""

    how: list[str] = field(default_factory=list[str])
    failures: list[MergeConflict] = field(default_factory=list[MergeConflict])

    def merge_file(self, versions: Sequence[Piece]) -> bytes:
        """Return the merged text of a file: base, ours, theirs."""
        base, ours, theirs = versions
        return self.merge_piece(base, ours, theirs)

    def merge_piece(
        self, base: Piece | None, ours: Piece, theirs: Piece, where: tuple[str, ...] = (), level: int = 0
    ) -> bytes:
        """Return the merged text of a piece; our text if the merge fails."""
        agreed = _one_sided(base.text if base else None, ours.text, theirs.text)
        if agreed is not None:
            return agreed
        try:
            return self._merge_split(base, ours, theirs, where, level)
        except Clash as clash:
            at = ours.start + _first_difference(base.text if base else b"", ours.text) if clash.at is None else clash.at
            self.failures.append(MergeConflict(at, ".".join(where), str(clash)))
            return ours.text

    def _merge_split(self, base: Piece | None, ours: Piece, theirs: Piece, where: tuple[str, ...], level: int) -> bytes:
        if level >= MOST_LEVELS:
            raise Clash("it is nested too deeply")
        if ours.kind != theirs.kind or (base and base.kind != ours.kind):
            raise Clash("both sides changed it in different ways")
        split = base.split() if base else None, ours.split(), theirs.split()
        match split:
            case (Items() | None as b, Items() as o, Items() as t) if (b is None) == (base is None):
                return self._merge_row(
                    b or Items(o.what, EMPTY, (), EMPTY, o.sep, o.between), o, t, base is None, where, level
                )
            case (Parts() | None as b, Parts() as o, Parts() as t) if (b is None) == (base is None):
                return self._merge_parts(b, o, t, where, level)
            case _:
                raise Clash("both sides changed it")

    def _merge_parts(self, base: Parts | None, ours: Parts, theirs: Parts, where: tuple[str, ...], level: int) -> bytes:
        roles = [[role for role, _ in parts.parts] for parts in (base or ours, ours, theirs)]
        if roles[0] != roles[1] or roles[1] != roles[2]:
            raise Clash("both sides changed it")
        old = [piece for _, piece in base.parts] if base else [None] * len(roles[0])
        triples = list(zip(old, (piece for _, piece in ours.parts), (piece for _, piece in theirs.parts), strict=True))
        if not ours.independent:
            touched = [trio for trio in triples if not trio[1].text == trio[2].text == (trio[0] or trio[1]).text]
            if len(touched) > 1:
                raise Clash("both sides changed it")
        elif any(o.text != t.text and b and b.text == t.text for b, o, t in triples):
            self.how.append(f"separate parts of {'.'.join(where)}" if where else "imports")
        return b"".join(self.merge_piece(*trio, where, level + 1) for trio in triples)

    def _merge_row(
        self,
        base: Items,
        ours: Items,
        theirs: Items,
        new: bool,
        where: tuple[str, ...],
        level: int,
    ) -> bytes:
        head = self._merge_edge(None if new else base.head, ours.head, theirs.head)
        tail = self._merge_edge(None if new else base.tail, ours.tail, theirs.tail)
        kept = merge_rows(base, ours, theirs)
        if _have_both_changed(kept, base, ours, theirs):
            self._note(kept, ours, theirs, where)
        placed = [self._merge_item(one, base, ours, theirs, where, level) for one in kept]
        return head + lay_out(placed, base, ours, theirs) + tail

    def _merge_edge(self, base: bytes | None, ours: bytes, theirs: bytes) -> bytes:
        agreed = _one_sided(base, ours, theirs)
        if agreed is None and ours.split() != theirs.split():
            raise Clash("both sides changed it")
        return ours if agreed is None else agreed

    def _merge_item(
        self, kept: MergedRow, base: Items, ours: Items, theirs: Items, where: tuple[str, ...], level: int
    ) -> Placed:
        b, o, t = (
            None if at is None else row.items[at]
            for row, at in ((base, kept.base), (ours, kept.ours), (theirs, kept.theirs))
        )
        if o is None or t is None:
            source, at = (theirs, kept.theirs) if o is None else (ours, kept.ours)
            item = source.items[at or 0]
            return Placed(source, at or 0, item.gap, item.lead, item.core.text, item.rest)
        if b is None and o.texts != t.texts and not (o.core.addable and o.lead == t.lead and o.rest == t.rest):
            raise Clash(f"both sides add a different {_shown(o.key)}", o.core.start)
        below = (*where, _shown(o.key)) if o.named and o.core.kind != "import" else where
        core = self.merge_piece(b.core if b else None, o.core, t.core, below, level + 1)
        gap = _one_sided(b.gap if b else None, o.gap, t.gap)
        lead = self._merge_edge(b.lead if b else None, o.lead, t.lead)
        rest = self._merge_edge(b.rest if b else None, o.rest, t.rest)
        moved = b is not None and gap == t.gap != o.gap
        source, at = (theirs, kept.theirs) if moved else (ours, kept.ours)
        return Placed(source, at or 0, o.gap if gap is None else gap, lead, core, rest)

    def _note(self, kept: list[MergedRow], ours: Items, theirs: Items, where: tuple[str, ...]) -> None:
        """Record what was merged, and where."""
        inside = ".".join(where)
        if ours.what in ("definitions", "statements"):
            notes = _definition_notes(kept, ours, theirs, where)
        elif ours.what in ("imports", "__all__"):
            notes = [ours.what]
        else:
            notes = [f"{ours.what} of {inside}" if inside else ours.what]
        self.how += [one for one in notes if one not in self.how]


def _have_both_changed(kept: list[MergedRow], base: Items, ours: Items, theirs: Items) -> bool:
    """Tell whether each side changed the row itself, and not only an item that both changed."""
    mine = len(base.items) > sum(one.base is not None for one in kept)
    other = mine
    for one in kept:
        b, o, t = (
            None if at is None else row.items[at].texts
            for row, at in ((base, one.base), (ours, one.ours), (theirs, one.theirs))
        )
        mine, other = mine or (o != b and t in (b, o)), other or (t != b and o in (b, t))
    return mine and other


def _definition_notes(kept: list[MergedRow], ours: Items, theirs: Items, where: tuple[str, ...]) -> list[str]:
    notes: dict[str, None] = {}
    neighbour: list[str] = []
    for one in kept:
        item = ours.items[one.ours] if one.ours is not None else theirs.items[one.theirs or 0]
        if one.base is not None:
            neighbour = [_shown(item.key)] if item.named and item.core.kind != "import" else []
        elif item.core.kind == "import":
            notes["imports"] = None
        else:
            after = ".".join([*where, *neighbour])
            notes[
                f"sibling definitions {'after' if neighbour else 'in'} {after}" if after else "sibling definitions"
            ] = None
    return list(notes) or [f"separate definitions of {'.'.join(where)}" if where else "separate definitions"]


def _one_sided(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    """Return the text if at most one side changed it; None if both did, differently."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def _first_difference(old: bytes, new: bytes) -> int:
    """Return the length of the common prefix, by binary search."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[:middle] == new[:middle] else (low, middle - 1)
    return low


def _shown(key: bytes) -> str:
    return key.decode("utf-8", "replace").split("\n", 1)[0][:80]
