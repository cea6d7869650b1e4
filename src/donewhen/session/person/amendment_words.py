"""Edits of protected paths in words, the same wherever a person decides: their sizes, and what they cost. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from donewhen.event_records import NOT_GRADED, CollectedTests, EditSize

MOST_SHOWN = 20
"""Edits that are named of each kind; the others are counted."""


def cost_lines(tests: Iterable[CollectedTests]) -> Iterator[str]:
    """Yield a line such as `tests: collects 1 test, the base 16` for each check."""
    for one in tests:
        if one.collected is None:
            yield f"{one.check}: reports no tests, the base {one.base}"
        elif one.base is None:
            yield f"{one.check}: collects {_count(one.collected, 'test')}, the base reports none"
        else:
            yield f"{one.check}: collects {_count(one.collected, 'test')}, the base {one.base}"


def edit_lines(edits: Sequence[EditSize], count: int, reasons: bool = False) -> Iterator[str]:
    """Yield what is not graded. Additions stand apart from changes and deletions. `reasons`: also why, for each."""
    additions = [one for one in edits if one.is_addition]
    others = [one for one in edits if not one.is_addition]
    for heading, group in (("additions:", additions), ("changes and deletions:", others)):
        if group:
            yield heading
        for one in group[:MOST_SHOWN]:
            why = f"; {one.reason}" if reasons and one.reason else ""
            yield f"{NOT_GRADED}: {one.path} ({size_words(one)}{why})"
        if len(group) > MOST_SHOWN:
            yield f"and {len(group) - MOST_SHOWN} more"
    if count > len(edits):
        yield f"and {count - len(edits)} more that are not listed"


def size_words(edit: EditSize) -> str:
    """Return words such as `2 lines added`; a new or deleted file is called so."""
    counts = ((edit.added, "added"), (edit.removed, "removed"))
    lines = [f"{_count(number, 'line')} {word}" for number, word in counts if number]
    kind = {"added": ["a new file"], "deleted": ["the file is deleted"]}.get(edit.action, [])
    return ", ".join([*kind, *lines]) or edit.action


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
