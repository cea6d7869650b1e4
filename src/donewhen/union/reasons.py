"""Reasons why a patch was not accepted: a code for programs, a text for people, and the location."""

from typing import Literal

from donewhen.event_records import GateReason
from donewhen.records import frozen
from donewhen.workspace.git.objects import shown

Code = Literal[
    "does_not_apply",
    "empty",
    "does_not_parse",
    "unreadable",
    "outside_footprint",
    "duplicate_declaration",
    "protected",
    "name",
    "link",
    "submodule",
    "control_file",
    "secret",
    "check_turned",
    "check_unknown",
    "no_evidence",
    "machinery",
    "worker_failed",
    "need_missing",
]
Status = Literal["accepted", "rejected", "inconclusive", "error"]


@frozen
class Reason:
    code: Code
    words: str
    path: str = ""
    symbol: str = ""
    check: str = ""
    """The check that the reason is about."""

    def as_event(self) -> GateReason:
        """Return the reason as an event reports it."""
        path, symbol, check = self.path or None, self.symbol or None, self.check or None
        return GateReason(self.code, self.words or None, path, symbol, check)

    def __str__(self) -> str:
        where = ": ".join(part for part in (shown(self.path), self.symbol) if part)
        return f"{where} {self.words}" if where else self.words
