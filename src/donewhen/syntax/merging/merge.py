"""The merge of two changes of one file: lines first, then syntax where lines conflict, then the proof.

It answers with a text or with the places that do not go together. It never raises because of what a text holds.
"""

from donewhen.records import frozen
from donewhen.syntax.grammar import LanguageName, Unreadable, language_of
from donewhen.syntax.merging.outlines import Outline, outline_of
from donewhen.syntax.merging.proof import doubt, odd_line
from donewhen.syntax.merging.regions import SIDES, LineMerge, Region, merged_by_lines
from donewhen.syntax.merging.trees import Reader
from donewhen.syntax.merging.versions import Base, Version
from donewhen.syntax.merging.weave import Failure, Weaving
from donewhen.syntax.merging.windows import SHORT, Window, whole, windows

MOVED = "both sides put something else under the same line"


@frozen
class Place:
    """Where the sides do not go together: a line of our text, the symbol around it (may be empty), and why."""

    line: int
    symbol: str
    why: str


@frozen
class Merged:
    """The text, and in words what more than lines was needed for; empty when lines sufficed."""

    text: bytes
    how: tuple[str, ...] = ()


@frozen
class Conflict:
    places: tuple[Place, ...]


def merge(path: str, base: bytes, ours: bytes, theirs: bytes) -> Merged | Conflict:
    """Both changes of base in one text, or where that is not possible."""
    if ours == theirs or theirs == base:
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    if any(b"\0" in text for text in (base, ours, theirs)):
        return Conflict((Place(1, "", "it is not text, and both sides changed it"),))
    lines = merged_by_lines(base, ours, theirs)
    outline = outline_of(path)
    if outline is not None:
        return _merged_by_outline(outline, lines)
    language = language_of(path)
    if language is None:
        return _by_lines_alone(lines)
    try:
        return _merged_by_syntax(language, lines)
    except Unreadable as unreadable:
        return _by_lines_alone(lines) if not lines.conflicts else _given_up(lines, str(unreadable))


def _by_lines_alone(lines: LineMerge) -> Merged | Conflict:
    return _given_up(lines, "both sides changed these lines") if lines.conflicts else Merged(lines.text("ours"))


def _given_up(lines: LineMerge, why: str, above: int = 0) -> Conflict:
    """Every conflict by lines, for the same reason; `above` lines of our text come before these."""
    places = [Place(above + region.ours.start + 1, "", why) for region in lines.conflicts]
    return Conflict(tuple(places) or (Place(1, "", why),))


def _merged_by_outline(outline: Outline, lines: LineMerge) -> Merged | Conflict:
    if not lines.conflicts:
        text = lines.text("ours")
        fine = [outline.is_sound(b"".join(version)) for version in (lines.base, lines.ours, lines.theirs)]
        return (
            Merged(text) if outline.is_sound(text) or not all(fine) else _given_up(lines, "together they do not parse")
        )
    texts = [lines.text(side) for side in SIDES]
    if not all(map(outline.is_sound, texts)):
        return _given_up(lines, "both sides changed these lines")
    weaving = Weaving()
    text = weaving.whole([outline.piece(version) for version in texts])
    if weaving.failures:
        return _conflict(weaving.failures, lines, texts[1])
    if odd_line([*texts, text]) is not None:
        return _given_up(lines, MOVED)
    return (
        Merged(text, tuple(weaving.how))
        if outline.is_sound(text)
        else _given_up(lines, "the merged text does not parse")
    )


def _merged_by_syntax(language: LanguageName, lines: LineMerge) -> Merged | Conflict:
    """Window by window; the whole file at once when it is short, or when a window turns out to be none."""
    if sum(map(len, lines.base)) > SHORT:
        parts = [_Part.of(language, window) for window in windows(lines)]
        if all(part.readable for part in parts):
            return _merged_parts(parts, lines)
    return _merged_parts([_Part.of(language, window) for window in whole(lines)], lines)


def _merged_parts(parts: "list[_Part]", lines: LineMerge) -> Merged | Conflict:
    attempts = [part.merged() for part in parts]
    places = tuple(place for attempt in attempts if isinstance(attempt, Conflict) for place in attempt.places)
    merged = [attempt for attempt in attempts if isinstance(attempt, Merged)]
    if places:
        return Conflict(places)
    text = b"".join(one.text + part.window.after for one, part in zip(merged, parts, strict=True))
    if all(part.readable for part in parts):
        results = [part.base.version(one.text) for one, part in zip(merged, parts, strict=True)]
        if not all(result.readable for result in results):
            return _given_up(lines, "the merged text does not parse")
        against = doubt([(p.base.tree, p.ours, p.theirs, r) for p, r in zip(parts, results, strict=True)])
        if against:
            return _given_up(lines, against)
    return Merged(text, tuple(dict.fromkeys(word for one in merged for word in one.how)))


@frozen
class _Part:
    """A window with its trees."""

    window: Window
    base: Base
    ours: Version
    theirs: Version

    @staticmethod
    def of(language: LanguageName, window: Window) -> "_Part":
        base = Base.of(language, window.base)
        return _Part(window, base, base.version(window.ours), base.version(window.theirs))

    @property
    def readable(self) -> bool:
        return self.base.readable and self.ours.readable and self.theirs.readable

    def merged(self) -> Merged | Conflict:
        lines = merged_by_lines(self.window.base, self.window.ours, self.window.theirs)
        if not lines.conflicts:
            return Merged(lines.text("ours"))
        versions = [self.base.version(lines.text(side)) for side in SIDES]
        if not self.readable or not all(version.readable for version in versions):
            return _given_up(lines, "both sides changed these lines", self.window.line)
        weaving = Weaving()
        text = weaving.whole([Reader(self.base.language, one.text).whole(one.tree.root_node) for one in versions])
        if weaving.failures:
            return _conflict(weaving.failures, lines, versions[1].text, self.window.line)
        if odd_line([*(version.text for version in versions), text]) is not None:
            return _given_up(lines, MOVED, self.window.line)
        return Merged(text, tuple(weaving.how))


def _conflict(failures: list[Failure], lines: LineMerge, text: bytes, above: int = 0) -> Conflict:
    places = [
        Place(above + _line_in_ours(lines, text.count(b"\n", 0, one.at)), one.symbol, one.why) for one in failures
    ]
    return Conflict(tuple(sorted(set(places), key=lambda place: place.line)))


def _line_in_ours(lines: LineMerge, row: int) -> int:
    """A row of the text that has our lines at the conflicts, as a line of our own text."""
    at = 0
    for region in lines.regions:
        length = len(_side(region))
        if row < at + length:
            return min(region.ours.start + row - at, max(region.ours.stop - 1, region.ours.start)) + 1
        at += length
    return max(len(lines.ours), 1)


def _side(region: Region) -> range:
    return region.base if region.taken == "base" else region.theirs if region.taken == "theirs" else region.ours
