"""The results of the methods about sessions, by type. They are loaded for type checks and for `--schema` only."""

from typing import Any

from typing_extensions import TypedDict  # that of `typing` has no types at run time before Python 3.12


class OptionalDecision(TypedDict):
    """A decision that a person may make although nothing waits for it."""

    gate: str
    expires_at: str


class SessionEntry(TypedDict):
    """A session in a list."""

    id: str
    repo: str
    title: str
    created_at: str
    last_at: str
    state: str
    outcome: str
    """Empty until the session has ended."""
    reason: str
    events: int
    live: bool
    """True if a process works on it now."""
    optional: OptionalDecision | None


class SessionEnding(TypedDict):
    """How a session ended, or that it waits."""

    id: str
    outcome: str
    reason: str
    exit_code: int
    """That of `donewhen run`."""


class EventPage(TypedDict):
    """Some events of a session, in order."""

    events: list[dict[str, Any]]
    next_seq: int
    """Where the next page begins. A page without events is the end, for the moment."""


class SettingEntry(TypedDict):
    """A setting of a session, and where its value is from."""

    table: str
    key: str
    value: Any
    source: str


class SessionPatch(TypedDict):
    """The work of a session as a patch that git can apply, or the beginning of it."""

    patch: str
    encoding: str
    """`utf-8`, or `base64` for a patch that is no text."""
    size: int
    """Bytes of the whole patch."""
    truncated: bool


class LandedCommit(TypedDict):
    """A landing on a branch."""

    branch: str
    commit: str
    applied: bool
    """True if the files of the checkout are those of the commit."""
    note: str


class LandingResult(TypedDict):
    """What became of a landing. Without a commit, the repository is unchanged."""

    landed: LandedCommit | None
    reason: str
    """Why nothing was landed."""
    paths: list[str]


class Answered(TypedDict):
    """An answer was recorded."""

    id: str
    live: bool
    """True if a process works on the session. If not, the session continues when it is resumed."""


class Decided(TypedDict):
    """A decision was recorded, and carried out if it is about left-out edits."""

    id: str
    live: bool
    """True if a process works on the session. If not, the session continues when it is resumed."""
    is_optional: bool
    """True if it is about left-out edits of a session that has ended. Then nothing is to be resumed."""
    landed: LandedCommit | None
    """Where approved left-out edits were landed."""
    problem: str
    """What is red with approved left-out edits, or why they could not be landed."""


class Cancelled(TypedDict):
    """A session has ended."""

    id: str
    line: str
    """What was done, or what had already happened."""
