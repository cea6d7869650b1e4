"""What happened, as frozen plain facts. Nobody is told here; `emit` is handed down.

A fact says its own fields only. Sequence, time and session are put on by whoever keeps the log. Fields are only ever
added, and readers tolerate types that they do not know.

The classes are records by annotation alone: there are many, every command loads them, and generated code for each
would cost more than all of them are worth.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar, NoReturn, Self, dataclass_transform

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")

PREVIEW_BYTES = 400


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Event:
    """The base of all facts: fields are what a class annotates, by keyword, and never change."""

    __slots__ = ("__dict__",)
    _fields: ClassVar[tuple[str, ...]] = ()
    _type: ClassVar[str] = "event"

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        cls._type = _WORD.sub("_", cls.__name__).lower()

    def __init__(self, **fields: Any) -> None:
        for name in self._fields:
            if name in fields:
                self.__dict__[name] = fields.pop(name)
            elif name in type(self).__dict__:
                self.__dict__[name] = type(self).__dict__[name]
            else:
                raise TypeError(f"{type(self).__name__} needs {name}")
        if fields:
            raise TypeError(f"{type(self).__name__} has no {', '.join(fields)}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a fact does not change: {type(self).__name__}.{name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self._type, repr(self.__dict__)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    @classmethod
    def type(cls) -> str:
        return cls._type

    def of_subtask(self, id: str) -> Self:
        """The same fact, with the subtask that it is about."""
        told = object.__new__(type(self))
        told.__dict__.update(self.__dict__, subtask=id)
        return told

    def fields(self) -> dict[str, Any]:
        """As a line of JSON has them; a name that Python reserves ends in `_` here."""
        return {name.removesuffix("_"): _plain(value) for name, value in self.__dict__.items()}


Emit = Callable[[Event], None]


def preview(text: str) -> str:
    """At most 400 bytes of UTF-8; what was cut ends in an ellipsis."""
    data = text.encode("utf-8", "replace")
    if len(data) <= PREVIEW_BYTES:
        return data.decode()
    return data[: PREVIEW_BYTES - len("…".encode())].decode("utf-8", "ignore") + "…"


# The life of a session.


class SessionStarted(Event):
    intent: str
    repo: str
    base: str
    engine: str | None
    model: str | None
    contract: dict[str, Any]
    isolation: str
    path_transparent: bool


class StateChanged(Event):
    from_: str
    to: str


class ContractProposed(Event):
    contract: dict[str, Any]
    why: tuple[str, ...]
    not_verified: tuple[str, ...] = ()
    """What is wanted and no check covers."""
    revised: bool | None = None
    """Whether it differs from the one before, where a person had asked for that."""
    reason: str = ""
    """Why it does not."""
    by_person: bool = False
    """Whether a person changed it in its file."""


class BaselineCompleted(Event):
    results: tuple[Mapping[str, Any], ...]


class DiffReady(Event):
    files: int
    insertions: int
    deletions: int


class Landed(Event):
    branch: str
    commit: str
    note: str = ""


class Error(Event):
    kind: str
    message: str


class SessionFinished(Event):
    outcome: str
    reason: str
    iterations: int
    results: tuple[Mapping[str, Any], ...]
    summary: str
    tree: str
    refused: tuple[Mapping[str, str], ...] = ()
    """Paths with reasons why the last work could not be captured; empty when it was."""


# Who works, and what it costs.


class ModelSelected(Event):
    model: str
    reason: str


class ModelFallback(Event):
    model: str
    reason: str


class EngineSelected(Event):
    engine: str
    reason: str
    agent: str = ""
    """Who works, where the engine has others work."""


class EngineDeclined(Event):
    engine: str
    reason: str
    detail: str
    next: str


class IterationStarted(Event):
    n: int
    max: int


class ModelTurn(Event):
    role: str
    usage: dict[str, int] | None
    """None when whoever worked does not say."""
    cost_usd: float | None
    duration_ms: int
    model: str = ""


class Spend(Event):
    tokens: int
    usd: float | None


class PlanText(Event):
    text: str


class ToolCall(Event):
    id: str
    tool: str
    params_preview: str


class ToolResult(Event):
    id: str
    tool: str
    ok: bool
    preview: str


class PolicyDenied(Event):
    command: str
    rule: str
    reason: str


class HintRecalled(Event):
    signature: str
    times_helped: int
    repair: str = ""
    """Its id, for `donewhen memory show`."""
    source: str = ""
    """The other repository that it comes from; empty when it was learnt in this one."""


class ExternalEvent(Event):
    agent: str
    raw: Any


# What an evaluator says about work that is green.


class EvaluationStarted(Event):
    round: int
    model: str = ""


class EvaluationCompleted(Event):
    status: str
    """`passed`, `rejected` or `inconclusive`."""
    scorecard: Mapping[str, Any]
    summary: str
    failed_rules: tuple[str, ...] = ()
    artifact: str = ""
    """The file that has all of it."""


class RevisionStarted(Event):
    round: int
    summary: str = ""
    artifact: str = ""


# What many hands do.


class PlanningStarted(Event):
    pass


class PlanningCompleted(Event):
    subtasks: tuple[Mapping[str, Any], ...]
    levels: tuple[tuple[str, ...], ...]
    """Ids; those of one level are worked on at the same time, and stand on the levels before."""
    prefer_single_session: bool
    items: tuple[Mapping[str, Any], ...] = ()
    """Of a plan that one builder works on, item by item."""
    filled: tuple[str, ...] = ()
    """What the planner had left out, and what was taken instead."""


class SubtaskStarted(Event):
    id: str
    index: int
    """Its place among all of them, from 0 on, as is its level."""
    level: int
    total: int
    attempt: int = 1


class SubtasksFarmed(Event):
    """Told after every level; the numbers are about the whole plan."""

    accepted: int
    total: int


class SubtaskVerifying(Event):
    id: str


class SubtaskGated(Event):
    id: str
    status: str
    reasons: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()


class SubtaskApplied(Event):
    id: str


class UnionVerified(Event):
    applied: tuple[str, ...]
    reconciled: tuple[tuple[str, str], ...] = ()


class UnionRejected(Event):
    """Partner, reason and detail are those of the gravest cause; each has its own in `causes`."""

    culprits: tuple[str, ...]
    partner: str | None
    reason: str
    detail: str
    causes: tuple[Mapping[str, Any], ...] = ()


# What the judge says.


class CheckStarted(Event):
    name: str
    phase: str


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


class ProtectedEdit(Event):
    path: str
    action: str
    reason: str = ""
    parts: tuple[str, ...] = ()


# What waits for a person.


class QuestionAsked(Event):
    id: str
    prompt: str
    expires_at: str | None


class QuestionAnswered(Event):
    id: str
    answer: str


class QuestionExpired(Event):
    id: str


class GateOpened(Event):
    gate: str
    id: str
    reason: str = ""
    detail: str = ""


class GateDecided(Event):
    gate: str
    id: str
    decision: str
    by: str = ""
    answer: str = ""
    """What is wanted instead, where that was the decision."""
    edited: bool = False
    """Whether the contract was approved as a person had changed it in its file."""


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - any tuple of plain values
    return value
