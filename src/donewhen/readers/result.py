"""The result of a reader: how many tests there were and how they went. Plain data.

Also helpers that sum counts into a `Tests` and bound the number and size of names. This module knows no format.
"""

from collections.abc import Iterable

from donewhen.records import frozen


@frozen
class Tests:
    """The test counts that a runner reported. `failed` includes errors; `collected` is the sum of the others."""

    __test__ = False  # pytest would collect the class otherwise

    collected: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Tests") -> "Tests":
        return Tests(
            self.collected + other.collected,
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
        )


@frozen
class RunnerReport:
    """The report of one run of one runner."""

    runner: str
    tests: Tests
    failures: tuple[str, ...] = ()
    """Names of the failed tests, as the runner writes them; not every format has them."""
    complete: bool = True
    """False if the report is incomplete: the runner was killed or stopped early."""
    ran: tuple[str, ...] = ()
    """Names of the tests that ran, passed or failed but not skipped, as the runner writes them; empty if the format
    does not have them."""
    skipped: tuple[str, ...] = ()
    """Names of the tests that were skipped, in the same form."""


MOST_NAMES = 10_000
LONGEST_NAME = 500
LONGEST_PLACE = 1_000
MOST_THAT_RAN = 100_000
MOST_BYTES_THAT_RAN = 16 * 1024 * 1024


def tally(*, passed: int = 0, failed: int = 0, skipped: int = 0) -> Tests:
    """Return the counts with their sum. Negative counts, from a reader's subtraction, become 0."""
    passed, failed, skipped = max(passed, 0), max(failed, 0), max(skipped, 0)
    return Tests(passed + failed + skipped, passed, failed, skipped)


def names(found: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, in the order found, at most `MOST_NAMES`, each cut to `LONGEST_NAME`."""
    kept: dict[str, None] = {}
    for name in found:
        if len(kept) >= MOST_NAMES:
            break
        kept[name.strip()[:LONGEST_NAME]] = None
    return tuple(kept)


def that_ran(found: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, whole and sorted, so that two runs can be compared; empty if there are too many.

    An entry that stands for tests but is not a test, such as a file that could not be loaded, must not be included:
    once the file can be loaded, its name is gone and the tests in it take its place.
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
    """Return a name with its file, program or suite. Many names share a place, so a very long place is cut."""
    return f"{place[:LONGEST_PLACE]} > {name}" if place else name
