"""A method of the program interface: its function, who may call it, and where a server runs it."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from donewhen.records import frozen


class Right(StrEnum):
    """What a caller may do. Each right is given by itself: a caller that may decide need not be one that may submit."""

    OBSERVE = "observe"
    """Read: nothing changes, and no command of a repository is run."""
    SUBMIT = "submit"
    """Start, stop and judge work."""
    DECIDE = "decide"
    """Decide for the person: gates, questions, landings, trust, and what is thrown away."""


@frozen
class Method:
    name: str
    """For example `session.start`."""
    function: Callable[..., Any]
    """Takes the parameters by keyword, after a `CallContext` if `takes_context`. It may be asynchronous."""
    right: Right
    in_process: bool = False
    """True: a server runs it in a process of its own, with the directory and the environment of the caller."""
    begins: bool = False
    """True: a server answers `{"id": …}` when its session has begun, and the work goes on."""

    @property
    def takes_context(self) -> bool:
        return self.function.__code__.co_varnames[:1] == ("context",)
