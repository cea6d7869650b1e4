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


class AmendmentCost(TypedDict):
    """How many tests a check collects with edits of protected paths, and on the base; null: it reports none."""

    check: str
    collected: int | None
    base: int | None


class ProtectedEditSize(TypedDict):
    """An edit of a protected path; null: the lines of the file cannot be counted."""

    path: str
    action: str
    added: int | None
    removed: int | None
    reason: str


class AmendmentEntry(TypedDict):
    """Edits of protected paths on which a person decides."""

    tests: list[AmendmentCost]
    edits: list[ProtectedEditSize]
    edit_count: int


class CheckEntry(TypedDict):
    """The result of one check."""

    name: str
    status: str
    exit_code: int | None
    duration_ms: int


class RefusedEntry(TypedDict):
    """A path because of which work could not be captured."""

    path: str
    reason: str


class RoundEntry(TypedDict):
    """One round: an attempt and its verdict."""

    n: int
    engine: str
    stop: str | None
    said: str
    green: bool | None
    failing: list[list[str]]
    """Names and statuses of the checks that did not pass."""
    opinion: str


class QuestionEntry(TypedDict):
    """A question that waits for an answer."""

    id: str
    prompt: str


class GateEntry(TypedDict):
    """A gate that waits for a decision."""

    id: str
    kind: str
    reason: str
    detail: str
    amendment: AmendmentEntry | None


class LeftOutEntry(TypedDict):
    """The edits that a verified session left out, and what a person decided or may decide about them."""

    id: str
    kind: str
    reason: str
    detail: str
    amendment: AmendmentEntry | None
    expires_at: str
    decision: str | None
    status: str
    words: str
    red: str | None
    tree: str | None
    receipt: str | None
    landed: dict[str, Any] | None


class SessionDetails(TypedDict):
    """Everything that is known about a session."""

    id: str
    live: bool
    """True if a process works on it now."""
    intent: str
    repo: str
    base: str
    created_at: str
    state: str
    outcome: str | None
    reason: str | None
    engine: str | None
    model: str | None
    isolation: str | None
    contract: dict[str, Any]
    baseline: list[CheckEntry]
    results: list[CheckEntry]
    edits: list[list[str]]
    """Path, action and reason of each change of a protected path. They are not graded."""
    refused: list[RefusedEntry]
    amended: bool
    iterations: int
    rounds: list[RoundEntry]
    tokens: int
    usd: float | None
    active_secs: float
    question: QuestionEntry | None
    gate: GateEntry | None
    optional: LeftOutEntry | None
    landed: dict[str, Any] | None
    lost_records: int
    tree: str | None
    action: dict[str, Any] | None
    """What a round of a loop has carried out."""
    artifacts: dict[str, str]
    """Files by name."""


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


class DecisionResult(TypedDict):
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


class Begun(TypedDict):
    """Work has begun. How it ends is an event of the session."""

    id: str


class SessionSubscription(TypedDict):
    """A subscription of one session."""

    subscription: str


class BoardSubscription(TypedDict):
    """A subscription of all sessions, with the sessions as they are at its beginning."""

    subscription: str
    sessions: list[SessionEntry]
