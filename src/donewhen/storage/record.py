"""Record of a session's log, in its read and its written form. Plain data, independent of any database.

A public event has a `seq`; a private note has none; `position` counts both. The written form of a record is stored with
a checksum over all of it, the same in the database and in the log file.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Any, NamedTuple

from donewhen.errors import MachineryBroke
from donewhen.events import Event, load
from donewhen.records import frozen

LONGEST = 8 * 1024 * 1024
"""Maximum bytes of one record's body. A log file is read line by line, and no line may exhaust memory."""


@frozen
class Record:
    session: str
    position: int
    at: str
    kind: str
    body: dict[str, Any]
    seq: int | None
    generation: int = field(default=0, compare=False)
    """The lease generation that wrote it."""
    _event: Event | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def event(self) -> Event:
        """The event that a record with a `seq` holds."""
        if self._event is None:
            object.__setattr__(self, "_event", load(self.kind, self.body))
        assert self._event is not None
        return self._event

    def line(self) -> dict[str, Any]:
        """Return the record as one entry of the public event stream."""
        return {"seq": self.seq, "at": self.at, "session": self.session, "type": self.kind, **self.body}


@frozen
class SessionRow:
    """One session in a list of sessions."""

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
    """A record in its written form, in the order of the table columns; `body` is JSON text."""

    position: int
    seq: int | None
    at: str
    generation: int
    kind: str
    body: str

    def payload(self) -> str:
        """Return one line of JSON; the checksum is computed over it."""
        seq = "null" if self.seq is None else self.seq
        return (
            f'{{"position":{self.position},"seq":{seq},"at":"{self.at}","generation":{self.generation},'
            f'"kind":{json.dumps(self.kind)},"body":{self.body}}}'
        )

    def read(self, session: str) -> Record:
        return Record(session, self.position, self.at, self.kind, json.loads(self.body), self.seq, self.generation)


def checksum(payload: str) -> int:
    return zlib.crc32(payload.encode())


def record_in(entry: Mapping[str, Any]) -> Written | None:
    """Return the record in a log file line; None if the line is not a record."""
    match entry:
        case {"position": int(position), "seq": int() | None as seq, "at": str(at), "generation": int(generation)}:
            kind, body = entry.get("kind"), entry.get("body")
            if isinstance(kind, str) and isinstance(body, dict):
                return Written(position, seq, at, generation, kind, encode(body))  # pyright: ignore[reportUnknownArgumentType] - any object of JSON
        case _:
            pass
    return None


def encode(body: Mapping[str, Any]) -> str:
    """Encode as ASCII JSON, so that every database accepts lone surrogates and NUL. NaN and infinity become null."""
    try:
        text = _dumps(body)
    except ValueError:
        text = _dumps(json.loads(json.dumps(body, default=_plain), parse_constant=lambda _: None))
    if len(text) > LONGEST:
        raise MachineryBroke(f"a record of {len(text)} bytes is too long for the log; {LONGEST} are allowed")
    return text


def storable(text: str) -> str:
    """Return a text that every database accepts: NUL and what is not valid UTF-8 become visible escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


SUMMARY_EVENTS = ("state_changed", "session_finished")


def summary(kind: str, body: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of the session's row that an event changes, with their new values."""
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
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - any mapping
    raise TypeError(f"{type(value).__name__} cannot be stored in the log")
