"""Counts put into a `Tests`, and names of failures kept within bounds. Knows no format."""

from collections.abc import Iterable

from donewhen.readers.reading import Tests

MOST_NAMES = 10_000
LONGEST_NAME = 500


def tally(*, passed: int = 0, failed: int = 0, skipped: int = 0) -> Tests:
    """The counts with their sum. A runner that subtracts may end below zero; that is nothing."""
    passed, failed, skipped = max(passed, 0), max(failed, 0), max(skipped, 0)
    return Tests(passed + failed + skipped, passed, failed, skipped)


def names(found: Iterable[str]) -> tuple[str, ...]:
    """Each name once, in the order found."""
    kept: dict[str, None] = {}
    for name in found:
        if len(kept) >= MOST_NAMES:
            break
        kept[name.strip()[:LONGEST_NAME]] = None
    return tuple(kept)
