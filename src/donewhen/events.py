"""What happened, as frozen plain facts, and one line of JSON each. Nobody is told here; `emit` is handed down.

A fact says its own fields only. Sequence, time and session are put on by whoever keeps the log. Fields are only ever
added, and readers tolerate types that they do not know.
"""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all facts."""

    @classmethod
    def type(cls) -> str:
        return _WORD.sub("_", cls.__name__).lower()

    def fields(self) -> dict[str, Any]:
        return {name.removesuffix("_"): _plain(value) for name, value in asdict(self).items()}


Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted(Event):
    intent: str
    repo: str
    base: str
    engine: str | None
    model: str | None
    contract: dict[str, Any]
    isolation: str
    path_transparent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckStarted(Event):
    name: str
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCompleted(Event):
    name: str
    phase: str
    attempt: int
    status: str
    exit_code: int | None
    signal: int | None
    duration_ms: int
    output_tail: str
    tests: dict[str, int] | None
    evidence: str
    cached: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedEdit(Event):
    path: str
    action: str
    reason: str = ""
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinished(Event):
    outcome: str
    reason: str
    iterations: int
    results: tuple[dict[str, Any], ...]
    summary: str
    tree: str


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - any tuple of plain values
    return value
