"""Errors that say in one line why something was not landed. Nothing is changed when one is raised.

NotLanded           a person must look first
├── Moved           the branch does not have the expected value
├── Locked          another process holds a lock, or left it behind
└── NotClean        the checkout has content that would be lost
"""

import contextlib
from collections.abc import Generator, Sequence

from donewhen.errors import MachineryBroke, NeedsPerson
from donewhen.workspace.beneath import LeavesRoot
from donewhen.workspace.git.objects import shown

MOST_NAMED = 5


class NotLanded(NeedsPerson):
    """The present state of the user's repository does not allow the landing."""


class Moved(NotLanded):
    """The branch has an unexpected value. `there` is None if the branch does not exist."""

    def __init__(self, name: str, there: str | None) -> None:
        state = f"is at {there[:12]}" if there else "does not exist"
        super().__init__(f"the branch {shown(name)} {state}, which was not expected; it was not changed")
        self.there = there


class Locked(NotLanded):
    def __init__(self, path: str) -> None:
        super().__init__(f"another git process is running, or it left {shown(path)} behind")


class NotClean(NotLanded):
    """The checkout is not clean; it was not changed."""

    def __init__(self, why: str, paths: Sequence[bytes]) -> None:
        named = ", ".join(shown(path) for path in paths[:MOST_NAMED])
        more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        super().__init__(f"{why}: {named}{more}")
        self.paths = tuple(paths)


@contextlib.contextmanager
def explain_errors(action: str) -> Generator[None]:
    """Convert operating system errors into one-line errors."""
    try:
        yield
    except LeavesRoot as error:
        raise NotLanded(str(error)) from error
    except OSError as error:
        where = f" ({shown(str(error.filename))})" if error.filename is not None else ""
        raise MachineryBroke(f"{action}: {error.strerror}{where}") from error
