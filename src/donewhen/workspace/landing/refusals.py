"""Why something was not landed: one line each that names what is there. Nothing is changed when one is raised.

NotLanded           a person has to look first
├── Moved           the branch is not where it was expected
├── Locked          somebody else holds a lock, or left it behind
└── NotClean        the checkout has something that would be lost
"""

import contextlib
from collections.abc import Generator, Sequence

from donewhen.errors import MachineryBroke, NeedsPerson
from donewhen.workspace.beneath import LeavesRoot
from donewhen.workspace.objects import shown

MOST_NAMED = 5


class NotLanded(NeedsPerson):
    """The user's repository does not allow it as it is."""


class Moved(NotLanded):
    """Another value than the expected one; `there` is None when there is no such branch."""

    def __init__(self, name: str, there: str | None) -> None:
        state = f"is at {there[:12]}" if there else "does not exist"
        super().__init__(f"the branch {shown(name)} {state}, which was not expected; nothing was forced")
        self.there = there


class Locked(NotLanded):
    def __init__(self, path: str) -> None:
        super().__init__(f"another git is at work, or left {shown(path)} behind")


class NotClean(NotLanded):
    """The checkout was left as it is."""

    def __init__(self, why: str, paths: Sequence[bytes]) -> None:
        named = ", ".join(shown(path) for path in paths[:MOST_NAMED])
        more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
        super().__init__(f"{why}: {named}{more}")
        self.paths = tuple(paths)


@contextlib.contextmanager
def telling(doing: str) -> Generator[None]:
    """Turn what the operating system refuses into one line."""
    try:
        yield
    except LeavesRoot as error:
        raise NotLanded(str(error)) from error
    except OSError as error:
        where = f" ({shown(str(error.filename))})" if error.filename is not None else ""
        raise MachineryBroke(f"{doing}: {error.strerror}{where}") from error
