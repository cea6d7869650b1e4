"""Explains why a text is not in a file and shows the most similar text of the file. The work is bounded for any
file."""

import difflib
from collections import Counter
from collections.abc import Sequence
from itertools import islice

MOST_LINES = 50_000
MOST_COMPARED = 5
MOST_SCANNED = 3_000
MOST_TRIED = 1_000
MOST_MEASURED = 300
MOST_SHOWN = 24
LONGEST_LINE = 160
LEAST_RATIO = 0.5


def explain_miss(path: str, text: str, old: str) -> str:
    """Return a few lines that help the next attempt to succeed."""
    plain, wanted_text = text.replace("\r\n", "\n"), old.replace("\r\n", "\n")
    if wanted_text in plain:
        return f"old is not in {path}: only the line ends differ (the file has {_line_ends(text)})"
    lines, wanted = plain.split("\n")[:MOST_LINES], wanted_text.strip("\n").split("\n")
    start = _same_but_for_blanks(lines, wanted)
    if start >= 0:
        shown = _numbered(lines, start, len(wanted))
        return f"old is not in {path}: only whitespace differs. The file has:\n{shown}"
    starts = _sharing_most(lines, wanted) or _with_similar_line(lines, wanted)
    if not starts:
        return f"old is not in {path}, and nothing like it; read the file again"
    size, cut = len(wanted), _cut(wanted)
    scored = [(difflib.SequenceMatcher(None, _cut(lines[s : s + size]), cut).ratio(), -s) for s in starts]
    return f"old is not in {path}. The nearest text is:\n{_numbered(lines, -max(scored)[1], size)}"


def _line_ends(text: str) -> str:
    windows, all_ends = text.count("\r\n"), text.count("\n")
    return "CRLF" if windows == all_ends else "LF" if not windows else "both LF and CRLF"


def _without_blanks(line: str) -> str:
    return "".join(line.split())


def _same_but_for_blanks(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """Return the line index where these lines occur if whitespace is ignored; -1 if they do not occur."""
    bare = [_without_blanks(line) for line in lines]
    bare_wanted = [_without_blanks(line) for line in wanted]
    if not any(bare_wanted):
        return -1
    starts = (start for start, line in enumerate(bare) if line == bare_wanted[0])
    for start in islice(starts, MOST_TRIED):
        if bare[start : start + len(bare_wanted)] == bare_wanted:
            return start
    whole = "".join(bare_wanted)
    return next((start for start, line in enumerate(bare) if whole in line), -1)


def _cut(lines: Sequence[str]) -> str:
    return "\n".join(line.strip()[:LONGEST_LINE] for line in lines[:MOST_SHOWN])


def _sharing_most(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the positions that share most lines with the sought text; found in one pass over the file."""
    known = Counter(bare for line in wanted if len(bare := _without_blanks(line)) > 2)
    shared: Counter[int] = Counter()
    offsets: dict[str, list[int]] = {}
    for offset, line in enumerate(wanted):
        offsets.setdefault(_without_blanks(line), []).append(offset)
    for number, line in enumerate(lines):
        if (bare := _without_blanks(line)) in known:
            for offset in offsets[bare][:MOST_COMPARED]:
                shared[max(number - offset, 0)] += 1
    return [start for start, _ in shared.most_common(MOST_COMPARED)]


def _with_similar_line(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the positions where a line is similar to the longest sought line."""
    offset = max(range(len(wanted)), key=lambda number: len(wanted[number].strip()))
    matcher = difflib.SequenceMatcher(None, "", wanted[offset].strip()[:LONGEST_LINE])
    found: list[tuple[float, int]] = []
    tried = 0
    for number, line in enumerate(lines[:MOST_SCANNED]):
        matcher.set_seq1(line.strip()[:LONGEST_LINE])
        if tried < MOST_MEASURED and matcher.real_quick_ratio() > LEAST_RATIO and matcher.quick_ratio() > LEAST_RATIO:
            tried += 1
            found.append((matcher.ratio(), number))
    best = sorted(found, reverse=True)[:MOST_COMPARED]
    return [max(number - offset, 0) for ratio, number in best if ratio > LEAST_RATIO]


def _numbered(lines: Sequence[str], start: int, count: int) -> str:
    shown = lines[start : start + min(count, MOST_SHOWN)]
    rows = [f"{start + number:>6}| {line[:LONGEST_LINE]}" for number, line in enumerate(shown, 1)]
    return "\n".join([*rows, f"        [… {count - MOST_SHOWN} more lines …]"] if count > MOST_SHOWN else rows)
