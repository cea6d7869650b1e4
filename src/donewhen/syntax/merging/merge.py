"""The merge of two changes of one file: by lines first, then by syntax where lines conflict, then a proof.

The result is a text, or the places that cannot be merged. It never raises because of the contents of a text.
"""

from donewhen.records import frozen
from donewhen.syntax.grammar import LanguageName, SourceUnreadable, language_of
from donewhen.syntax.merging.outlines import Outline, outline_of
from donewhen.syntax.merging.proof import miscounted_line, reason_against
from donewhen.syntax.merging.regions import SIDES, LineMerge, merge_lines
from donewhen.syntax.merging.trees import NodeReader
from donewhen.syntax.merging.versions import BaseVersion, Version
from donewhen.syntax.merging.weave import MergeConflict, Weaving
from donewhen.syntax.merging.windows import SHORT, Window, whole, windows

MOVED = "both sides inserted different lines in the same place"


@frozen
class ConflictPlace:
    """A place that cannot be merged: the line in our text, the surrounding symbol (may be empty), and the reason."""

    line: int
    symbol: str
    why: str


@frozen
class MergedText:
    """The merged text, and a description of each merge beyond lines; empty if lines were enough."""

    text: bytes
    how: tuple[str, ...] = ()


@frozen
class Conflict:
    places: tuple[ConflictPlace, ...]


def merge(path: str, base: bytes, ours: bytes, theirs: bytes) -> MergedText | Conflict:
    """Merge both changes of base into one text, or return the conflicts."""
    if ours == theirs or theirs == base:
        return MergedText(ours)
    if ours == base:
        return MergedText(theirs)
    if any(b"\0" in text for text in (base, ours, theirs)):
        return Conflict((ConflictPlace(1, "", "it is not text, and both sides changed it"),))
    lines = merge_lines(base, ours, theirs)
    outline = outline_of(path)
    if outline is not None:
        return _merge_by_outline(outline, lines)
    language = language_of(path)
    if language is None:
        return _merge_by_lines(lines)
    try:
        return _merge_by_syntax(language, lines)
    except SourceUnreadable as unreadable:
        return _merge_by_lines(lines) if not lines.conflicts else _all_in_conflict(lines, str(unreadable))


def _merge_by_lines(lines: LineMerge) -> MergedText | Conflict:
    return (
        _all_in_conflict(lines, "both sides changed these lines") if lines.conflicts else MergedText(lines.text("ours"))
    )


def _all_in_conflict(lines: LineMerge, why: str, above: int = 0) -> Conflict:
    """Return every line conflict with the same reason; `above` lines of our text come before these."""
    places = [ConflictPlace(above + region.ours.start + 1, "", why) for region in lines.conflicts]
    return Conflict(tuple(places) or (ConflictPlace(1, "", why),))


def _merge_by_outline(outline: Outline, lines: LineMerge) -> MergedText | Conflict:
    if not lines.conflicts:
        text = lines.text("ours")
        fine = [outline.is_sound(b"".join(version)) for version in (lines.base, lines.ours, lines.theirs)]
        return (
            MergedText(text)
            if outline.is_sound(text) or not all(fine)
            else _all_in_conflict(lines, "together they do not parse")
        )
    texts = [lines.text(side) for side in SIDES]
    if not all(map(outline.is_sound, texts)):
        return _all_in_conflict(lines, "both sides changed these lines")
    weaving = Weaving()
    text = weaving.merge_file([outline.piece(version) for version in texts])
    if weaving.failures:
        return _conflict(weaving.failures, lines, texts[1])
    if miscounted_line([*texts, text]) is not None:
        return _all_in_conflict(lines, MOVED)
    return (
        MergedText(text, tuple(weaving.how))
        if outline.is_sound(text)
        else _all_in_conflict(lines, "the merged text does not parse")
    )


def _merge_by_syntax(language: LanguageName, lines: LineMerge) -> MergedText | Conflict:
    """Merge window by window; the whole file at once if it is short, or if a window does not parse."""
    if sum(map(len, lines.base)) > SHORT:
        parts = [_Part.of(language, window) for window in windows(lines)]
        if all(part.is_readable for part in parts):
            return _merge_parts(parts, lines)
    return _merge_parts([_Part.of(language, window) for window in whole(lines)], lines)


def _merge_parts(parts: "list[_Part]", lines: LineMerge) -> MergedText | Conflict:
    attempts = [part.merge() for part in parts]
    places = tuple(place for attempt in attempts if isinstance(attempt, Conflict) for place in attempt.places)
    merged = [attempt for attempt in attempts if isinstance(attempt, MergedText)]
    if places:
        return Conflict(places)
    text = b"".join(one.text + part.window.after for one, part in zip(merged, parts, strict=True))
    if all(part.is_readable for part in parts):
        results = [part.base.version(one.text) for one, part in zip(merged, parts, strict=True)]
        if not all(result.is_readable for result in results):
            return _all_in_conflict(lines, "the merged text does not parse")
        against = reason_against([(p.base.tree, p.ours, p.theirs, r) for p, r in zip(parts, results, strict=True)])
        if against:
            return _all_in_conflict(lines, against)
    return MergedText(text, tuple(dict.fromkeys(word for one in merged for word in one.how)))


@frozen
class _Part:
    """A window with its syntax trees."""

    window: Window
    base: BaseVersion
    ours: Version
    theirs: Version

    @staticmethod
    def of(language: LanguageName, window: Window) -> "_Part":
        base = BaseVersion.of(language, window.base)
        return _Part(window, base, base.version(window.ours), base.version(window.theirs))

    @property
    def is_readable(self) -> bool:
        return self.base.is_readable and self.ours.is_readable and self.theirs.is_readable

    def merge(self) -> MergedText | Conflict:
        lines = merge_lines(self.window.base, self.window.ours, self.window.theirs)
        if not lines.conflicts:
            return MergedText(lines.text("ours"))
        versions = [self.base.version(lines.text(side)) for side in SIDES]
        if not self.is_readable or not all(version.is_readable for version in versions):
            return _all_in_conflict(lines, "both sides changed these lines", self.window.line)
        weaving = Weaving()
        text = weaving.merge_file(
            [NodeReader(self.base.language, one.text).whole(one.tree.root_node) for one in versions]
        )
        if weaving.failures:
            return _conflict(weaving.failures, lines, versions[1].text, self.window.line)
        if miscounted_line([*(version.text for version in versions), text]) is not None:
            return _all_in_conflict(lines, MOVED, self.window.line)
        return MergedText(text, tuple(weaving.how))


def _conflict(failures: list[MergeConflict], lines: LineMerge, text: bytes, above: int = 0) -> Conflict:
    places = [
        ConflictPlace(above + _line_in_ours(lines, text.count(b"\n", 0, one.at)), one.symbol, one.why)
        for one in failures
    ]
    return Conflict(tuple(sorted(set(places), key=lambda place: place.line)))


def _line_in_ours(lines: LineMerge, row: int) -> int:
    """Convert a row of the text that has our lines at the conflicts to a line number of our own text."""
    at = 0
    for region in lines.regions:
        length = len(lines.lines(region, region.chosen or "ours"))
        if row < at + length:
            return min(region.ours.start + row - at, max(region.ours.stop - 1, region.ours.start)) + 1
        at += length
    return max(len(lines.ours), 1)
