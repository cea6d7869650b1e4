"""Records inside events: plain data with named fields, kept as JSON objects. `events` has the events themselves."""

from donewhen.records import Stored

NOT_GRADED = "Not graded (restored from the base)"
"""How an edit of a protected path is named everywhere, followed by its path."""


class CheckResult(Stored):
    """The result of one check on one tree, without its output."""

    name: str
    status: str
    exit_code: int | None = None
    duration_ms: int = 0


class RefusedPath(Stored):
    """A path because of which work could not be captured."""

    path: str
    reason: str


class TestCounts(Stored):
    """The test counts that a runner reported."""

    __test__ = False  # pytest would collect the class otherwise

    collected: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0


class GateReason(Stored):
    """Why the gate did not accept the patch of a subtask."""

    OPTIONAL = frozenset({"words", "path", "symbol", "check"})
    code: str
    words: str | None = None
    path: str | None = None
    symbol: str | None = None
    check: str | None = None


class RejectionCause(Stored):
    """Why one subtask was left out of a union."""

    culprit: str
    partner: str | None
    reason: str
    check: str | None
    common: tuple[str, ...]
    detail: str


class CollectedTests(Stored):
    """How many tests a check collects with edits of protected paths, and on the base. None: it reports no tests."""

    check: str
    collected: int | None = None
    base: int | None = None


class EditSize(Stored):
    """The size of an edit of a protected path. None: the lines of the file cannot be counted."""

    path: str
    action: str
    added: int | None = None
    removed: int | None = None
    reason: str = ""
    """The rule that protects the path."""

    @property
    def is_addition(self) -> bool:
        """True if nothing of the base is changed or deleted."""
        return self.action == "added" or (self.action == "modified" and self.removed == 0 and bool(self.added))


class Amendment(Stored):
    """Edits of protected paths on which a person decides."""

    tests: tuple[CollectedTests, ...] = ()
    """What they cost, by check. Empty if the work was not judged with them, or if no check reports tests."""
    edits: tuple[EditSize, ...] = ()
    """The edits; the first of them if there are many."""
    edit_count: int = 0
    """How many there are in all."""
