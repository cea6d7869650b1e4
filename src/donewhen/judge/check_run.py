"""The facts of one run of one check, as plain data. `run_cache` keeps them and `evidence` evaluates them."""

from typing import TYPE_CHECKING

from donewhen.judge.used_paths import UsedPaths
from donewhen.judge.verdict import EvidenceKind
from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.readers.result import RunnerReport


@frozen(kw_only=True)
class StartedProgram:
    """A program that a run started."""

    name: str
    """`./path` of a program of the tree; the name alone of any other."""
    parent: int
    """The number of the program that started it; -1 if that is not known."""
    succeeded: bool
    files: tuple[str, ...] = ()
    """Files of the base among its words."""
    read: tuple[str, ...] = ()
    """Files of the base that it read, if it started other programs."""


@frozen(kw_only=True)
class SealedWrites:
    """What a run wrote that it should not write."""

    lines: tuple[str, ...] = ()
    """One line for each path that is always forbidden."""
    bytecode: tuple[str, ...] = ()
    """Directories with bytecode. It is forbidden if the run depends on it."""
    data: tuple[str, ...] = ()
    """Judged files that contain data. They are forbidden unless they are the state of the product."""


@frozen(kw_only=True)
class CheckRun:
    """The facts of one run."""

    end: str
    exit_code: int | None
    signal: int | None
    reason: str
    duration_ms: int
    tail: str
    log: str = ""
    """More of the output of a run that was not as expected. For failure readers; it is not shown."""
    printed: bool
    """True if the output contains the text that the check requires."""
    reading: "RunnerReport | None"
    evidence: EvidenceKind
    expected: tuple[str, ...] = ()
    """The runners that the command calls, as far as its text shows."""
    touched: tuple[str, ...] = ()
    """Forbidden writes during the run, one line each."""
    bytecode: tuple[str, ...] = ()
    """Directories in which the run left bytecode that a program may have read."""
    data_written: tuple[str, ...] = ()
    """Judged data files that the run wrote."""
    caught: tuple[int, ...] = ()
    """The numbers of the added tests that were reported as failed."""
    not_caught: tuple[int, ...] = ()
    """The numbers of the other added tests."""
    started: tuple[StartedProgram, ...] | None = None
    """The programs in the order of their start; None if the run could not be observed."""
    all_started: bool = False
    """True if `started` contains every program."""
    used: UsedPaths | None = None
    """Which paths of the base it used, if the run could be observed. Look-ups are known only for runs on the base."""
    confirmed: bool = False
    """True if the run was red and a second run was red too."""
    keepable: bool = True
    cached: bool = False
