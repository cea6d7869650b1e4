"""Outcomes of a loop round, and the exit code of each."""

from enum import StrEnum
from typing import Self


class RoundOutcome(StrEnum):
    """How a loop round ended. The values are in the log and never change."""

    REPORTED = "reported", 0
    PROCEEDED = "proceeded", 0
    SKIPPED = "skipped", 0
    ESCALATED = "escalated", 3
    FAILED = "failed", 4
    BUDGET = "budget", 5

    _value_: str
    exit_code: int

    def __new__(cls, value: str, exit_code: int) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.exit_code = exit_code
        return member

    @classmethod
    def of(cls, value: object) -> "RoundOutcome | None":
        """Return the outcome of a log; None for one that only a newer version knows."""
        return next((one for one in cls if one == value), None)
