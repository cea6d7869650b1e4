"""One record of a session's log, as it is read and as it is written. Plain data; nothing here knows a database.

A public event has a `seq` of its own, a private note has none; `position` counts both. The written form of a record
carries a checksum over all of it, the same in the database and in the log file beside it.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any, NamedTuple

from donewhen.errors import MachineryBroke
from donewhen.records import frozen

LONGEST = 8 * 1024 * 1024
"""Bytes of one record's body. A log file is read line by line, and no line may fill the memory."""


@frozen
class Record:
    session: str
    position: int
    at: str
    kind: str
    body: dict[str, Any]
    seq: int | None
    generation: int = field(default=0, compare=False)
    """Which of its owners wrote it."""

    def line(self) -> dict[str, Any]:
        """As the public stream of events has it."""
        return {"seq": self.seq, "at": self.at, "session": self.session, "type": self.kind, **self.body}


@frozen
class Row:
    """What a list of sessions says about one of them."""

    id: str
    repo: str
    title: str
    created_at: str
    last_at: str
    state: str
    outcome: str
    reason: str
    events: int


class Written(NamedTuple):
    """A record in its written form, in the order of the columns; `body` is JSON text."""

    position: int
    seq: int | None
    at: str
    generation: int
    kind: str
    body: str

    def payload(self) -> str:
        """One line of JSON, and what the checksum is made of."""
        seq = "null" if self.seq is None else self.seq
        return (
            f'{{"position":{self.position},"seq":{seq},"at":"{self.at}","generation":{self.generation},'
            f'"kind":{json.dumps(self.kind)},"body":{self.body}}}'
        )

    def read(self, session: str) -> Record:
        return Record(session, self.position, self.at, self.kind, json.loads(self.body), self.seq, self.generation)


def checksum(payload: str) -> int:
    return zlib.crc32(payload.encode())


def written(entry: Mapping[str, Any]) -> Written | None:
    """The record that a line of a log file holds, if it is one."""
    match entry:
        case {"position": int(position), "seq": int() | None as seq, "at": str(at), "generation": int(generation)}:
            kind, body = entry.get("kind"), entry.get("body")
            if isinstance(kind, str) and isinstance(body, dict):
                return Written(position, seq, at, generation, kind, encoded(body))  # pyright: ignore[reportUnknownArgumentType] - any object of JSON
        case _:
            pass
    return None


def encoded(body: Mapping[str, Any]) -> str:
    """JSON in plain ASCII, so that lone surrogates and NUL pass every database; what is no number becomes null."""
    try:
        text = _dumps(body)
    except ValueError:
        text = _dumps(json.loads(json.dumps(body, default=_plain), parse_constant=lambda _: None))
    if len(text) > LONGEST:
        raise MachineryBroke(f"a record of {len(text)} bytes is too long for the log; {LONGEST} are allowed")
    return text


def storable(text: str) -> str:
    """A text that every database takes: what is not UTF-8, and NUL, as visible escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


SUMMED_UP = ("state_changed", "session_finished")


def summary(kind: str, body: Mapping[str, Any]) -> dict[str, str]:
    """Which columns of a session's row an event changes."""
    if kind == "state_changed":
        state = str(body["to"])
        return {"state": state} if state == "finished" else {"state": state, "outcome": "", "reason": ""}
    if kind == "session_finished":
        return {"outcome": storable(str(body["outcome"])), "reason": storable(str(body["reason"]))}
    return {}


def _dumps(body: Mapping[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any mapping of plain values
    raise TypeError(f"{type(value).__name__} cannot be put into the log")
