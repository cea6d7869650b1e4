"""Finds the lines that two texts have in common. It does not interpret the lines.

Unique common lines are the anchors; Myers' algorithm fills the ranges between them. The search has a budget: a text
made to be expensive gets a coarser result, which is still correct.
"""

import bisect
from collections.abc import Sequence

from donewhen.records import frozen

MOST_STEPS = 2_000_000
MOST_EDITS = 400
MOST_ROUNDS = 30


@frozen
class Hunk:
    """Lines `old_start` to `old_end` became `new_start` to `new_end`; the ends are not included."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def split_lines(text: bytes) -> list[bytes]:
    """Return the lines with their ends; joined they are the text again."""
    lines = [line + b"\n" for line in text.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def number_lines(*texts: Sequence[bytes]) -> list[list[int]]:
    """Replace each distinct line by a number that is the same in all texts: numbers are faster to compare."""
    numbers: dict[bytes, int] = {}
    return [[numbers.setdefault(line, len(numbers)) for line in text] for text in texts]


def diff_lines(old: Sequence[int], new: Sequence[int]) -> list[Hunk]:
    """Return how `old` became `new`, in order; two hunks never touch."""
    found: list[Hunk] = []
    steps = MOST_STEPS
    waiting = [(0, len(old), 0, len(new), 0)]
    while waiting:
        old_start, old_end, new_start, new_end, rounds = waiting.pop()
        span = _trim(old, new, old_start, old_end, new_start, new_end)
        if span.old_start == span.old_end or span.new_start == span.new_end:
            found += [span] if (span.old_start, span.new_start) != (span.old_end, span.new_end) else []
            continue
        anchors = _anchors(old, new, span) if rounds < MOST_ROUNDS else []
        if anchors:
            waiting += [(*gap, rounds + 1) for gap in _gaps_between(anchors, span)]
            continue
        inner, used = _shortest_edit(old[span.old_start : span.old_end], new[span.new_start : span.new_end], steps)
        steps -= used
        found += [_shifted(hunk, span) for hunk in inner]
    return _join_touching(sorted(found, key=lambda hunk: (hunk.old_start, hunk.new_start)))


def _trim(old: Sequence[int], new: Sequence[int], a: int, a_end: int, b: int, b_end: int) -> Hunk:
    while a < a_end and b < b_end and old[a] == new[b]:
        a, b = a + 1, b + 1
    while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
    return Hunk(a, a_end, b, b_end)


def _anchors(old: Sequence[int], new: Sequence[int], span: Hunk) -> list[tuple[int, int]]:
    """Return lines that occur once on each side, as many as fit in one order."""
    there = _unique_lines(new, span.new_start, span.new_end)
    pairs = [
        (at, there[line])
        for line, at in sorted(_unique_lines(old, span.old_start, span.old_end).items(), key=lambda pair: pair[1])
        if line in there
    ]
    return _longest_increasing(pairs)


def _unique_lines(lines: Sequence[int], start: int, end: int) -> dict[int, int]:
    places: dict[int, int] = {}
    for at in range(start, end):
        places[lines[at]] = -1 if lines[at] in places else at
    return {line: at for line, at in places.items() if at >= 0}


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest sequence of pairs that increases on both sides (patience sorting)."""
    tops: list[int] = []
    last: list[int] = []
    before = [-1] * len(pairs)
    for at, (_, new) in enumerate(pairs):
        pile = bisect.bisect_left(tops, new)
        before[at] = last[pile - 1] if pile else -1
        tops[pile : pile + 1] = [new]
        last[pile : pile + 1] = [at]
    chain: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _gaps_between(anchors: list[tuple[int, int]], span: Hunk) -> list[tuple[int, int, int, int]]:
    starts = [(span.old_start, span.new_start), *((old + 1, new + 1) for old, new in anchors)]
    ends = [*anchors, (span.old_end, span.new_end)]
    pairs = zip(starts, ends, strict=True)
    return [(start[0], end[0], start[1], end[1]) for start, end in pairs if start != end]


def _shortest_edit(old: Sequence[int], new: Sequence[int], steps: int) -> tuple[list[Hunk], int]:
    """Return the shortest edit from old to new, and the cost of the search; one big hunk if it would cost too much."""
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    used = 0
    for edits in range(min(len(old) + len(new), MOST_EDITS) + 1):
        if used > steps:
            break
        trail.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            start = x
            while x < len(old) and 0 <= x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            reach[diagonal] = x
            used += 2 + x - start
            if x >= len(old) and x - diagonal >= len(new):
                return _trace_back(trail, len(old), len(new)), used
    return [Hunk(0, len(old), 0, len(new))], used


def _trace_back(trail: list[dict[int, int]], x: int, y: int) -> list[Hunk]:
    steps: list[Hunk] = []
    for edits in range(len(trail) - 1, 0, -1):
        reach, diagonal = trail[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        from_x = reach[diagonal + 1] if down else reach[diagonal - 1]
        from_y = from_x - (diagonal + 1 if down else diagonal - 1)
        steps.append(Hunk(from_x, from_x + (not down), from_y, from_y + down))
        x, y = from_x, from_y
    return steps[::-1]


def _shifted(hunk: Hunk, span: Hunk) -> Hunk:
    old, new = span.old_start, span.new_start
    return Hunk(hunk.old_start + old, hunk.old_end + old, hunk.new_start + new, hunk.new_end + new)


def _join_touching(hunks: list[Hunk]) -> list[Hunk]:
    joined: list[Hunk] = []
    for hunk in hunks:
        last = joined[-1] if joined else None
        if last and (last.old_end, last.new_end) == (hunk.old_start, hunk.new_start):
            joined[-1] = Hunk(last.old_start, hunk.old_end, last.new_start, hunk.new_end)
        else:
            joined.append(hunk)
    return joined
