"""Reasons why a patch was not accepted: a code for programs, a text for people, and the location."""

from dataclasses import asdict
from typing import Any, Literal

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

    def plain(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}

    def __str__(self) -> str:
        where = ": ".join(part for part in (shown(self.path), self.symbol) if part)
        return f"{where} {self.words}" if where else self.words
