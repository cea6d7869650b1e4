"""A failure as a tool reports it. Plain data; which failures of two runs are the same is decided elsewhere."""

from typing import Literal

from donewhen.records import frozen

Phase = Literal["setup", "collect", "build", "lint", "test", "timeout"]


@frozen
class Frame:
    """A place in a trace. Traces have the innermost frame last."""

    file: str
    line: int | None = None
    function: str = ""


@frozen(kw_only=True)
class Failure:
    id: str
    """What failed, as the tool names it, without what differs from run to run: a test without the values of its
    parameters, `file:rule` or `file:code` for a finding."""
    kind: str = ""
    """The exception, the error code or the rule, as the tool writes it."""
    message: str = ""
    """The beginning of the message, in one line, as the tool writes it."""
    file: str = ""
    line: int | None = None
    frames: tuple[Frame, ...] = ()


@frozen
class FailureReport:
    """What one reader found in a log."""

    reader: str
    phase: Phase
    failures: tuple[Failure, ...]
