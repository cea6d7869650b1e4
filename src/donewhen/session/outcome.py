"""Outcomes of a session with their exit codes. Only `verified` is a success."""

from typing import NamedTuple

EXITS = {
    "verified": 0,
    "red": 1,
    "flaky": 1,
    "no_progress": 1,
    "rejected": 1,
    "waiting": 3,
    "failed": 4,
    "budget": 5,
    "already_satisfied": 6,
    "no_change": 6,
    "cancelled": 130,
}
STOPPED = "a person stopped it"
"""The reason of `cancelled`."""


class SessionResult(NamedTuple):
    session: str
    name: str
    reason: str

    @property
    def exit_code(self) -> int:
        return EXITS[self.name]
