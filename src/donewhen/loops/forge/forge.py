"""The interface of a forge: pull requests, comments and labels of one repository. It opens and reads; it never closes.

Every write has one effect, also if it is repeated after a lost answer or a crash: an operation looks for what it wants
to make before it makes it, and again before it repeats a request whose result is unknown.
"""

from collections.abc import Sequence
from typing import Protocol

from donewhen.errors import MachineryBroke
from donewhen.loops.forge.marker import Marker, marker_in
from donewhen.records import frozen

BOT = "Bot"


class ForgeFailed(MachineryBroke):
    """The forge refused a request or could not be asked. `status` is that of HTTP; 0 if there was no answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Later(ForgeFailed):
    """The forge asks us to wait, or does not work at the moment. The same request may succeed after `seconds`."""

    def __init__(self, message: str, seconds: float, status: int = 0) -> None:
        super().__init__(f"{message}; try again in {seconds:.0f} s", status)
        self.seconds = seconds


@frozen
class Account:
    login: str
    is_bot: bool = False


@frozen(kw_only=True)
class PullRequest:
    number: int
    url: str
    """The page for a person."""
    title: str
    body: str
    branch: str
    head: str
    """The newest commit of the branch."""
    base: str
    author: Account
    is_own_repository: bool
    """False if the branch is in a fork."""
    is_draft: bool
    is_open: bool
    is_merged: bool
    labels: tuple[str, ...]

    @property
    def marker(self) -> Marker | None:
        """The marker in the body. Anyone may write one; `marked_pulls` compares the author, too."""
        return marker_in(self.body)


@frozen(kw_only=True)
class NewPullRequest:
    title: str
    body: str
    """With a marker (`marker.marked_text`)."""
    branch: str
    """The branch is there already: see `push`."""
    base: str
    draft: bool = True


@frozen(kw_only=True)
class IssueState:
    """State of an issue or a pull request."""

    number: int
    is_pull: bool
    is_open: bool
    is_merged: bool
    closed_by: Account | None
    """None if it is open, or if the forge does not say (Forgejo)."""
    reason: str
    """`state_reason`: completed, not_planned, duplicate, reopened or empty."""
    labels: tuple[str, ...]
    author: Account
    body: str

    @property
    def marker(self) -> Marker | None:
        return marker_in(self.body)

    @property
    def is_refused(self) -> bool:
        """True if a person closed it without merging.

        We never close, so our own login is a person's too: a person who works with the same token. If the forge does
        not say who closed it, it counts as a person.
        """
        return not self.is_open and not self.is_merged and not (self.closed_by and self.closed_by.is_bot)


@frozen(kw_only=True)
class Comment:
    id: int
    url: str
    author: Account
    body: str

    @property
    def marker(self) -> Marker | None:
        return marker_in(self.body)


class Forge(Protocol):
    """One repository on a forge. Every method may raise `ForgeFailed`, and `Later` if it is worth to wait."""

    async def me(self) -> Account:
        """Return the owner of the token. Its login is empty for the token of an app: GitHub does not tell it."""
        ...

    async def is_me(self, account: Account) -> bool:
        """Return True for the owner of the token; for the token of an app, which is not told its name, for any app."""
        ...

    async def newest_pull(self, branch: str) -> PullRequest | None:
        """Return the newest pull request of a branch of this repository, in any state."""
        ...

    async def marked_pulls(self, loop: str = "", is_open: bool = True) -> tuple[PullRequest, ...]:
        """Return our pull requests with a marker: those of a loop, or of all loops of the repository.

        All that are open; of those that are not, what is on one page, the newest change first.
        """
        ...

    async def open_pull(self, new: NewPullRequest) -> PullRequest:
        """Open a pull request, or return the one that has the same marker, in whatever state it is."""
        ...

    async def update_body(self, number: int, body: str) -> PullRequest: ...

    async def comment(self, number: int, body: str) -> Comment:
        """Comment on an issue or a pull request, or return our comment with the same marker."""
        ...

    async def comments(self, number: int) -> tuple[Comment, ...]: ...

    async def state(self, number: int) -> IssueState: ...

    async def add_labels(self, number: int, labels: Sequence[str]) -> tuple[str, ...]:
        """Add labels to an issue or a pull request. Return all labels that it has then."""
        ...
