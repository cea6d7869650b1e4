"""Outcomes of a session: what each of them means for the exit code, for a later resume, and for the person."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple, Self

STOPPED = "a person stopped it"
"""The reason of `Outcome.CANCELLED`."""
_DIFF, _RESUME, _DISCARD, _LOG = (
    "donewhen diff {id}",
    "donewhen resume {id}",
    "donewhen discard {id}",
    "donewhen log {id}",
)
WORK_ON = (_DIFF, _RESUME, _DISCARD)
"""Commands after an outcome that leaves work which can continue."""


class Outcome(StrEnum):
    """How a session ended, or that it waits. The values are in the log and never change."""

    VERIFIED = "verified", 0, (_DIFF, "donewhen land {id}")
    RED = "red", 1, WORK_ON
    FLAKY = "flaky", 1, (_LOG, _RESUME, _DISCARD)
    NO_PROGRESS = "no_progress", 1, WORK_ON
    REJECTED = "rejected", 1, (_DIFF, _DISCARD)
    WAITING = "waiting", 3, (_RESUME,)
    FAILED = "failed", 4, (_LOG, "donewhen doctor", _RESUME)
    BUDGET = "budget", 5, WORK_ON
    ALREADY_SATISFIED = "already_satisfied", 6, ("donewhen run {intent} --allow-green",)
    NO_CHANGE = "no_change", 6, (_LOG,)
    CANCELLED = "cancelled", 130, WORK_ON

    _value_: str
    exit_code: int
    next: tuple[str, ...]
    """Commands that a person may type next, the most likely first, with {id} and {intent} to fill in."""

    def __new__(cls, value: str, exit_code: int, next: tuple[str, ...]) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.exit_code = exit_code
        member.next = next
        return member

    @property
    def is_success(self) -> bool:
        """True if nothing is left to do, so that no handoff is needed."""
        return self in (Outcome.VERIFIED, Outcome.ALREADY_SATISFIED, Outcome.NO_CHANGE)

    @property
    def is_final(self) -> bool:
        """True if there is nothing to resume."""
        return self.is_success or self is Outcome.REJECTED

    @property
    def rates_model(self) -> bool:
        """True if the outcome shows how good the model is: there was work to do, and no person ended it."""
        return self in (
            Outcome.VERIFIED,
            Outcome.RED,
            Outcome.FLAKY,
            Outcome.NO_PROGRESS,
            Outcome.FAILED,
            Outcome.BUDGET,
        )

    @classmethod
    def of(cls, value: object) -> "Outcome | None":
        """Return the outcome of a log; None for no outcome, and for one that only a newer version knows."""
        return next((one for one in cls if one == value), None)


StopKind = Literal[
    "green",
    "iterations",
    "no_progress",
    "model_failed",
    "budget",
    "claim",
    "waits",
    "declined",
    "refused",
    "rejected",
    "inconclusive",
]
"""Why no further round is worked on."""
OF_STOP: Mapping[StopKind, Outcome] = {
    "iterations": Outcome.RED,
    "no_progress": Outcome.NO_PROGRESS,
    "model_failed": Outcome.FAILED,
    "budget": Outcome.BUDGET,
    "waits": Outcome.WAITING,
    "declined": Outcome.FAILED,
    "refused": Outcome.REJECTED,
    "rejected": Outcome.REJECTED,
}
"""Outcome of each reason to stop. For the others, `conclude` lands the work or a person decides."""


class SessionResult(NamedTuple):
    """How a session ended, or that it waits. What the verbs that work on a session return."""

    session: str
    outcome: Outcome
    reason: str
