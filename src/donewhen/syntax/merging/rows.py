"""Decides which items of a row stay when both sides changed it, and in which order. It uses keys and positions, not
bytes.

The items that all three versions have divide the row into stretches; within a stretch, our items come before theirs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from donewhen.records import frozen
from donewhen.syntax.merging.pieces import Items, RowItem, Sorting


class Clash(Exception):
    """The sides cannot be merged here. The message says why; `at` is an offset in our text, if one is known."""

    def __init__(self, why: str, at: int | None = None) -> None:
        super().__init__(why)
        self.at = at


@frozen
class MergedRow:
    """One item of the result: its index in the versions that have it."""

    base: int | None
    ours: int | None
    theirs: int | None


@frozen
class Row:
    """One version of the row, with unique keys."""

    items: Sequence[RowItem]
    keys: list[bytes]
    place: dict[bytes, int]


@frozen
class Stretch:
    base: range
    ours: range
    theirs: range


def merge_rows(base: Items, ours: Items, theirs: Items) -> list[MergedRow]:
    """Return the items of the merged row in order. Raise `Clash` if there is no safe result."""
    counts = [Counter(item.key for item in version.items if item.named) for version in (base, ours, theirs)]
    ambiguous = {key for count in counts for key, times in count.items() if times > 1}
    b, o, t = (_row(version.items, ambiguous) for version in (base, ours, theirs))
    o, t = _match_unnamed(b, o, t)
    sorting = _Sorting(o, t, ours.sortings)
    kept: list[MergedRow] = []
    shared = _shared(b, o, t)
    for stretch, after in zip(_stretches(shared, b, o, t), [*shared, None], strict=True):
        kept += _merge_stretch(stretch, b, o, t, sorting)
        kept += [MergedRow(*after)] if after else []
    return kept


def _row(items: Sequence[RowItem], ambiguous: set[bytes]) -> Row:
    """Build a row. A name that occurs twice identifies nothing: such items are identified by their text."""
    items = [
        replace(item, named=False, free=False, key=item.core.text) if item.key in ambiguous else item for item in items
    ]
    seen: Counter[bytes] = Counter()
    keys: list[bytes] = []
    for item in items:
        kind = b"name " if item.named else b"text "
        keys.append(kind + item.key + b" %d" % seen[kind + item.key])
        seen[kind + item.key] += 1
    return Row(items, keys, {key: at for at, key in enumerate(keys)})


def _shared(b: Row, o: Row, t: Row) -> list[tuple[int, int, int]]:
    found = [(at, o.place[key], t.place[key]) for at, key in enumerate(b.keys) if key in o.place and key in t.place]
    for side in (1, 2):
        if any(before[side] > after[side] for before, after in pairwise(found)):
            raise Clash("the order was changed")
    return found


def _stretches(shared: Sequence[tuple[int, int, int]], b: Row, o: Row, t: Row) -> list[Stretch]:
    starts = [(0, 0, 0), *((x + 1, y + 1, z + 1) for x, y, z in shared)]
    ends = [*shared, (len(b.keys), len(o.keys), len(t.keys))]
    return [
        Stretch(*(range(s, e) for s, e in zip(start, end, strict=True)))
        for start, end in zip(starts, ends, strict=True)
    ]


def _match_unnamed(b: Row, o: Row, t: Row) -> tuple[Row, Row]:
    """Match unnamed items: if each version has exactly one that the others do not have, it counts as one changed
    item."""
    o_keys, t_keys = list(o.keys), list(t.keys)
    for stretch in _stretches(_shared(b, o, t), b, o, t):
        gone = [at for at in stretch.base if b.keys[at] not in o.place and b.keys[at] not in t.place]
        ours = [at for at in stretch.ours if o.keys[at] not in b.place]
        theirs = [at for at in stretch.theirs if t.keys[at] not in b.place]
        if len(gone) == len(ours) == len(theirs) == 1:
            same = [b.items[gone[0]], o.items[ours[0]], t.items[theirs[0]]]
            if not any(item.named for item in same) and len({item.core.kind for item in same}) == 1:
                o_keys[ours[0]] = t_keys[theirs[0]] = b.keys[gone[0]]
    return _with_keys(o, o_keys), _with_keys(t, t_keys)


def _with_keys(row: Row, keys: list[bytes]) -> Row:
    return Row(row.items, keys, {key: at for at, key in enumerate(keys)})


def _merge_stretch(stretch: Stretch, b: Row, o: Row, t: Row, sorting: "_Sorting") -> list[MergedRow]:
    texts = [
        [row.items[at].texts for at in span]
        for row, span in ((b, stretch.base), (o, stretch.ours), (t, stretch.theirs))
    ]
    if texts[1] == texts[2] or texts[0] == texts[2]:
        return [MergedRow(b.place.get(o.keys[at]), at, t.place.get(o.keys[at])) for at in stretch.ours]
    if texts[0] == texts[1]:
        return [MergedRow(b.place.get(t.keys[at]), o.place.get(t.keys[at]), at) for at in stretch.theirs]
    new_ours = [at for at in stretch.ours if o.keys[at] not in b.place]
    new_theirs = [at for at in stretch.theirs if t.keys[at] not in b.place]
    _forbid_changed_and_deleted(stretch, b, o, t)
    _forbid_two_replacements(stretch, b, o, t, bool(new_ours and new_theirs))
    _forbid_ordered(stretch, b, o, t, new_ours, new_theirs)
    only_theirs = [MergedRow(None, None, at) for at in new_theirs if t.keys[at] not in o.place]
    from_ours = [MergedRow(None, at, t.place.get(o.keys[at])) for at in new_ours]
    return sorting.in_order(from_ours, only_theirs)


def _forbid_changed_and_deleted(stretch: Stretch, b: Row, o: Row, t: Row) -> None:
    for at in stretch.base:
        key, was = b.keys[at], b.items[at]
        kept = o if key in o.place else t if key in t.place else None
        if kept and kept.items[kept.place[key]].texts != was.texts:
            raise Clash("one side deletes what the other changes")


def _forbid_two_replacements(stretch: Stretch, b: Row, o: Row, t: Row, both_added: bool) -> None:
    gone = [b.items[at] for at in stretch.base if b.keys[at] not in o.place and b.keys[at] not in t.place]
    if both_added and any(not item.filler for item in gone):
        raise Clash("both sides replaced the same part")


def _forbid_ordered(stretch: Stretch, b: Row, o: Row, t: Row, new_ours: list[int], new_theirs: list[int]) -> None:
    """Raise `Clash` if both sides changed the same place and the order of an item matters there."""
    lost_by_ours = [b.items[at] for at in stretch.base if b.keys[at] not in o.place]
    lost_by_theirs = [b.items[at] for at in stretch.base if b.keys[at] not in t.place]
    by_ours = [o.items[at] for at in new_ours if o.keys[at] not in t.place] + lost_by_ours
    by_theirs = [t.items[at] for at in new_theirs if t.keys[at] not in o.place] + lost_by_theirs
    if by_ours and by_theirs and any(not item.free and not item.filler for item in (*by_ours, *by_theirs)):
        raise Clash("both sides changed the same place, and the order matters there")


class _Sorting:
    """Our items, then theirs; but a row that is sorted on both sides stays sorted."""

    def __init__(self, ours: Row, theirs: Row, sortings: Sequence[Sorting]) -> None:
        self.ours, self.theirs, self.sortings = ours, theirs, sortings
        self.fitting = [_sortings_that_fit(row, sortings) if sortings else [] for row in (ours, theirs)]

    def in_order(self, ours: list[MergedRow], theirs: list[MergedRow]) -> list[MergedRow]:
        both = ours + theirs
        if self.sortings and ours and theirs and all(self._order(kept) is not None for kept in both):
            mine, other = self.fitting[0][ours[0].ours or 0], self.fitting[1][theirs[0].theirs or 0]
            for sorting in self.sortings:
                if sorting in mine and sorting in other:
                    return sorted(both, key=lambda kept, sorting=sorting: sorting(self._order(kept) or b""))
        return both

    def _order(self, kept: MergedRow) -> bytes | None:
        return (self.theirs.items[kept.theirs or 0] if kept.ours is None else self.ours.items[kept.ours]).order


def _sortings_that_fit(row: Row, sortings: Sequence[Sorting]) -> list[list[Sorting]]:
    """Return for each item how its run is sorted; a run is sortable items with no empty line between them."""
    found: list[list[Sorting]] = []
    start = 0
    for at in range(1, len(row.items) + 1):
        ends = at == len(row.items) or row.items[at].order is None or row.items[at].gap.count(b"\n") > 1
        if ends or row.items[at - 1].order is None:
            run = [item.order or b"" for item in row.items[start:at]]
            fitting = [sorting for sorting in sortings if len(run) > 1 and _is_sorted(run, sorting)]
            found += [fitting] * len(run)
            start = at
    return found


def _is_sorted(run: list[bytes], sorting: Sorting) -> bool:
    keys = [sorting(order) for order in run]
    return keys == sorted(keys)
