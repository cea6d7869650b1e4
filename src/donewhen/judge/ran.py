"""What one run of one check did, as plain data: kept by `cache`, weighed by `evidence`."""

from typing import TYPE_CHECKING

from donewhen.judge.verdict import EvidenceKind
from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.readers.reading import Reading


@frozen(kw_only=True)
class Ran:
    """What one run did."""

    end: str
    exit_code: int | None
    signal: int | None
    reason: str
    duration_ms: int
    tail: str
    log: str = ""
    """More of what a run printed that did not do what was asked of it: for readers, and for nobody to see."""
    printed: bool
    """Whether it printed what the check asks for."""
    reading: "Reading | None"
    evidence: EvidenceKind
    expected: tuple[str, ...] = ()
    """The runners that the command's words promise."""
    touched: tuple[str, ...] = ()
    """What should not have been written during the run, one line each."""
    caught: bool | None = None
    """Whether the test that must fail did; None when there was none."""
    confirmed: bool = False
    """Red, and red again in a second run."""
    keepable: bool = True
    cached: bool = False
