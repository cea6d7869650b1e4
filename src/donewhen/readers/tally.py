"""Counts put into a `Tests`, and names kept within bounds. Knows no format."""

from collections.abc import Iterable

from donewhen.readers.reading import Tests

MOST_NAMES = 10_000
LONGEST_NAME = 500
LONGEST_PLACE = 1_000
MOST_THAT_RAN = 100_000
MOST_BYTES_THAT_RAN = 16 * 1024 * 1024


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


def that_ran(found: Iterable[str]) -> tuple[str, ...]:
    """Each name once, whole and sorted, so that two runs can be compared; none at all where they are too many.

    What stands for a test but is none, such as a file that could not be loaded, must not be among them: once it can be
    loaded its name is gone, and the tests in it take its place.
    """
    kept, size = set[str](), 0
    for name in found:
        if name in kept:
            continue
        kept.add(name)
        size += len(name.encode("utf-8", "surrogatepass"))
        if len(kept) > MOST_THAT_RAN or size > MOST_BYTES_THAT_RAN:
            return ()
    return tuple(sorted(kept))


def within(place: str, name: str) -> str:
    """A name with the file, program or suite it is in. Many names share a place, so a huge one is not repeated."""
    return f"{place[:LONGEST_PLACE]} > {name}" if place else name
