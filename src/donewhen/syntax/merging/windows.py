"""Splits a long file into windows: the changed places with their context, and the unchanged ranges between them.

The start and end of a window are guessed from the lines: after an empty line, without indentation. The caller parses
the windows and so finds out whether the guess was right. For a short file nothing is guessed.
"""

from donewhen.records import frozen
from donewhen.syntax.merging.regions import LineMerge

SHORT = 128 * 1024
"""Up to this size (in bytes) the whole file is one window."""
_NOT_A_START = b" \t\r\n)}]#/*'\"`<>-=+|&@.,:;"


@frozen
class Window:
    """The same range of the three texts, the line of ours where it starts, and the unchanged text that follows it."""

    base: bytes
    ours: bytes
    theirs: bytes
    line: int
    after: bytes


def whole(lines: LineMerge) -> list[Window]:
    return [Window(b"".join(lines.base), b"".join(lines.ours), b"".join(lines.theirs), 0, b"")]


def windows(lines: LineMerge) -> list[Window]:
    """Return one window for each cluster of changes."""
    found: list[Window] = []
    start = (0, 0, 0)
    for region in lines.regions:
        cuts = _cuts(lines.base, region.base) if region.chosen == "base" else None
        if cuts:
            ends, starts = (
                (cut, *(cut - region.base.start + span.start for span in (region.ours, region.theirs))) for cut in cuts
            )
            found.append(_window(lines, start, ends, b"".join(lines.base[cuts[0] : cuts[1]])))
            start = starts
    return [*found, _window(lines, start, (len(lines.base), len(lines.ours), len(lines.theirs)), b"")]


def _window(lines: LineMerge, start: tuple[int, ...], end: tuple[int, ...], after: bytes) -> Window:
    texts = (lines.base, lines.ours, lines.theirs)
    base, ours, theirs = (b"".join(text[a:b]) for text, a, b in zip(texts, start, end, strict=True))
    return Window(base, ours, theirs, start[1], after)


def _cuts(lines: list[bytes], quiet: range) -> tuple[int, int] | None:
    """Return where a window may end in an unchanged range, and where the next one starts: each keeps one neighbour of
    its changes."""
    ends = _starts(lines, range(quiet.start + 1, quiet.stop))
    begins = _starts(lines, range(quiet.stop - 1, quiet.start, -1))
    return (ends, begins) if ends is not None and begins is not None and ends < begins else None


def _starts(lines: list[bytes], places: range) -> int | None:
    """Return the second of these lines that looks like the start of a top-level item."""
    seen = 0
    for at in places:
        if lines[at][:1] not in _NOT_A_START and not lines[at - 1].strip():
            seen += 1
            if seen > 1:
                return at
    return None
