"""What a reader found: how many tests there were and how they went. Plain data."""

from donewhen.records import frozen


@frozen
class Tests:
    """How many tests a runner reported. `failed` counts errors too; `collected` is the sum of the others."""

    __test__ = False  # a word that pytest would take for a test

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
class Reading:
    """What one run of one runner said about itself."""

    runner: str
    tests: Tests
    failures: tuple[str, ...] = ()
    """Names of the tests that failed, as the runner calls them; not every format has them."""
    complete: bool = True
    """False when the report breaks off: the runner was killed or stopped before its end."""
    ran: tuple[str, ...] = ()
    """Names of the tests that ran, passed or failed but not skipped, as the runner calls them; empty where the format
    does not tell them."""
