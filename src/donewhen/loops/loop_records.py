"""Records of the loop store: what is known about a loop, its occurrences and its findings. Plain data.

An occurrence is one moment or event for which a loop is due. It has a key: the due time in UTC, or what was noticed.
"""

import datetime
from enum import StrEnum
from pathlib import Path

from donewhen.records import frozen
from donewhen.storage.owner import Owner
from donewhen.storage.record import storable

MANUAL, SCHEDULE = "manual", "schedule"
"""Triggers beside those of the key `on`: a person, and the time."""
FAILED, BUDGET = "failed", "budget"
"""The outcomes of a round that change when the loop runs next."""
PAUSED_BY_PERSON = "a person paused it"
"""The reason of a pause that waits for nobody."""


def repo_key(top: Path) -> str:
    """Return the text under which the loops of a repository are stored."""
    return storable(str(top))


class OccurrenceStatus(StrEnum):
    RUNNING = "running"
    RAN = "ran"
    SKIPPED = "skipped"
    MISSED = "missed"
    """Nobody looked when it was due. The round that made up for it is `coalesced_into`, if there was one."""
    COALESCED = "coalesced"
    """It was put together with a later occurrence, `coalesced_into`."""


class ClaimRefusal(StrEnum):
    """Why an occurrence was not claimed."""

    DECIDED = "the occurrence has a row already"
    RUNNING = "a round of this loop is running"
    INTERRUPTED = "an interrupted round of this loop must end first"
    PAUSED = "the loop is paused"
    MOVED = "another process has changed the due time"


class FindingStatus(StrEnum):
    OPEN = "open"
    LANDED = "landed"
    REFUSED = "refused"
    REPORTED = "reported"
    NOTHING = "nothing"
    """A round looked and found nothing to do."""
    CLOSED = "closed"


class WorkStatus(StrEnum):
    """What became of the work of a round. `autonomy` decides what follows from it."""

    OPEN = "open"
    """It is on a branch or in a pull request, and not merged yet."""
    KEPT = "kept"
    """It is in the branch for which it was made, or its action needs no branch."""
    DENIED = "denied"
    """A person said no."""
    REVERTED = "reverted"
    RED = "red"
    """A check is red at the commit at which it came in."""
    GONE = "gone"
    """Its branch was removed, and it is not merged."""


@frozen(kw_only=True)
class Claim:
    """The right to run one occurrence of a loop. The session id was chosen before the claim."""

    repo: str
    loop: str
    key: str
    session: str
    trigger: str
    due_at: datetime.datetime
    attempt: int = 1
    """One more each time that the process of the round was killed."""
    is_resumed: bool = False
    """True if an earlier process has started this round and did not end it."""


@frozen(kw_only=True)
class RoundEnd:
    """How a round ended."""

    outcome: str
    reason: str = ""
    finding: str = ""
    """The key of what it found."""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    """None if the price is unknown."""
    has_session: bool = True
    """False if it ended before its session began: then the history names none."""
    is_stopped: bool = False
    """True if a person stopped it. That is no failure after which the loop should wait."""


@frozen(kw_only=True)
class Decided:
    """An occurrence for which no round is run, and why."""

    key: str
    due_at: datetime.datetime
    trigger: str
    status: OccurrenceStatus
    reason: str
    coalesced_into: str = ""


@frozen(kw_only=True)
class Move:
    """A new due time of a loop. It counts only if the old one is still `was_due`."""

    was_due: datetime.datetime | None
    due_at: datetime.datetime | None
    schedule: str
    """The schedule from which `due_at` was computed, with its zone."""
    seen: tuple[tuple[str, str], ...] = ()
    """Triggers of the key `on`, with the state in which they were seen."""


@frozen(kw_only=True)
class Due:
    """An occurrence that is due now, with those that are put together with it, and the next due time."""

    repo: str
    loop: str
    key: str
    trigger: str
    due_at: datetime.datetime
    others: tuple[Decided, ...] = ()
    move: Move | None = None


@frozen(kw_only=True)
class Occurrence:
    key: str
    due_at: datetime.datetime
    trigger: str
    status: OccurrenceStatus
    reason: str
    session: str
    attempts: int
    coalesced_into: str
    outcome: str
    finding: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None


@frozen(kw_only=True)
class RunningRound:
    """The round that a loop runs, or ran when its process ended."""

    repo: str
    loop: str
    key: str
    session: str
    owner: Owner | None
    """None if its process has released it."""

    @property
    def is_interrupted(self) -> bool:
        return self.owner is None or not self.owner.is_alive()


@frozen(kw_only=True)
class LoopState:
    repo: str
    loop: str
    paused: str = ""
    """Why the loop is paused; empty if it is not."""
    due_at: datetime.datetime | None = None
    schedule: str = ""
    looked_at: datetime.datetime | None = None
    """When a scheduler looked at this loop last."""
    failures: int = 0
    backoff_until: datetime.datetime | None = None
    level: str = ""
    """The level that a promotion or a demotion has set; empty for the one in the file."""
    level_reason: str = ""
    level_of: str = ""
    """A digest of the table that a person promoted."""
    level_since: datetime.datetime | None = None
    """The last promotion or demotion: works before it are no evidence any more."""
    running: RunningRound | None = None


@frozen(kw_only=True)
class LoopUsage:
    input_tokens: int
    output_tokens: int
    usd: float | None
    """None if the price of any round is unknown."""
    known_usd: float
    """The money of the rounds whose price is known."""


@frozen(kw_only=True)
class LoopFinding:
    key: str
    status: FindingStatus
    session: str
    reason: str
    at: datetime.datetime


@frozen(kw_only=True)
class LoopWork:
    """The work of one round, from its action or its denial on."""

    session: str
    action: str
    onto: str
    """The branch for which it was made; empty if none was checked out."""
    made: str
    """The commit with the work; empty if the action made none."""
    is_verified: bool
    status: WorkStatus
    seen_at: str = ""
    """The commit of `onto` at which it was seen first."""
    at: datetime.datetime
