"""The three-way merge by lines: where one side changed, where both did, and where they disagree.

It does not resolve conflicts. The texts that it makes differ only in the conflicting places, so that a later step with
more knowledge does not need to look elsewhere.
"""

from collections.abc import Sequence
from typing import Literal

from donewhen.records import frozen
from donewhen.syntax.merging.lines import Hunk, diff_lines, number_lines, split_lines

Side = Literal["base", "ours", "theirs"]
SIDES: tuple[Side, ...] = ("base", "ours", "theirs")


@frozen
class MergeRegion:
    """The same range of the file in all three texts, as line ranges; `chosen` is None for a conflict."""

    base: range
    ours: range
    theirs: range
    chosen: Side | None


@frozen
class LineMerge:
    base: list[bytes]
    ours: list[bytes]
    theirs: list[bytes]
    regions: list[MergeRegion]

    @property
    def conflicts(self) -> list[MergeRegion]:
        return [region for region in self.regions if region.chosen is None]

    def text(self, at_conflicts: Side) -> bytes:
        """Return all lines without conflict, with the lines of one side where there is a conflict."""
        pieces: list[bytes] = []
        for region in self.regions:
            pieces += self.lines(region, region.chosen or at_conflicts)
        return b"".join(pieces)

    def lines(self, region: MergeRegion, side: Side) -> list[bytes]:
        span: range = getattr(region, side)
        lines: list[bytes] = getattr(self, side)
        return lines[span.start : span.stop]


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> LineMerge:
    b, o, t = split_lines(base), split_lines(ours), split_lines(theirs)
    b_numbers, o_numbers, t_numbers = number_lines(b, o, t)
    by_ours, by_theirs = diff_lines(b_numbers, o_numbers), diff_lines(b_numbers, t_numbers)
    regions: list[MergeRegion] = []
    at = _Position()
    for group_ours, group_theirs in _group_touching(by_ours, by_theirs):
        hunks = [*group_ours, *group_theirs]
        start, end = min(hunk.old_start for hunk in hunks), max(hunk.old_end for hunk in hunks)
        regions += at.unchanged_until(start)
        span = at.advance(end, group_ours, group_theirs)
        same = o_numbers[span[1].start : span[1].stop] == t_numbers[span[2].start : span[2].stop]
        chosen: Side | None = "ours" if not group_theirs or same else "theirs" if not group_ours else None
        regions.append(MergeRegion(*span, chosen))
    regions += at.unchanged_until(len(b))
    return LineMerge(b, o, t, regions)


class _Position:
    """The current read position in each of the three texts."""

    def __init__(self) -> None:
        self.base = self.ours = self.theirs = 0

    def unchanged_until(self, end: int) -> list[MergeRegion]:
        """Return the lines that neither side changed, up to a line of base."""
        return [MergeRegion(*self.advance(end, [], []), "base")] if end > self.base else []

    def advance(self, end: int, by_ours: Sequence[Hunk], by_theirs: Sequence[Hunk]) -> tuple[range, range, range]:
        start = self.base, self.ours, self.theirs
        self.ours += end - self.base + sum(map(_growth, by_ours))
        self.theirs += end - self.base + sum(map(_growth, by_theirs))
        self.base = end
        return range(start[0], self.base), range(start[1], self.ours), range(start[2], self.theirs)


def _growth(hunk: Hunk) -> int:
    return (hunk.new_end - hunk.new_start) - (hunk.old_end - hunk.old_start)


def _group_touching(by_ours: list[Hunk], by_theirs: list[Hunk]) -> list[tuple[list[Hunk], list[Hunk]]]:
    """Group hunks in order of base; hunks of both sides with no unchanged line between them are in one group."""
    tagged = [(hunk, side) for side, hunks in enumerate((by_ours, by_theirs)) for hunk in hunks]
    tagged.sort(key=lambda entry: (entry[0].old_start, entry[0].old_end, entry[1]))
    groups: list[tuple[list[Hunk], list[Hunk]]] = []
    reached = -1
    for hunk, side in tagged:
        if not groups or hunk.old_start > reached:
            groups.append(([], []))
        groups[-1][side].append(hunk)
        reached = max(reached, hunk.old_end)
    return groups
