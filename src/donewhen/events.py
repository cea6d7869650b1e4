"""Public events of a session: immutable records of plain data. This module sends nothing; `emit` is passed to the code.

An event contains only its own fields. The code that writes the log adds sequence number, time and session. New versions
only add fields, and readers accept event types that they do not know: `load` returns `UnknownEvent` for those.

The classes define their fields by annotation and are not dataclasses. There are many of them and every command loads
them, so generating code for each would make every start slower.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, NoReturn, Self, dataclass_transform

from donewhen.event_records import Amendment, CheckResult, GateReason, RefusedPath, RejectionCause, TestCounts
from donewhen.records import Reader, WrongShape, plain, reader

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")

PREVIEW_BYTES = 400


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Event:
    """Base of all events: the annotations of a class are its fields; they are set by keyword and never change."""

    __slots__ = ("__dict__",)
    _fields: ClassVar[tuple[str, ...]] = ()
    _type: ClassVar[str] = "event"
    subtask: ClassVar[str] = ""
    """The subtask that the event belongs to; empty for events about the whole session."""

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        cls._type = _WORD.sub("_", cls.__name__).lower()
        _CLASSES[cls._type] = cls

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
        raise AttributeError(f"an event does not change: {type(self).__name__}.{name}")

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
        """Return a copy of the event with the id of the subtask that it belongs to."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, subtask=id)
        return copy

    def fields(self) -> dict[str, Any]:
        """Return the fields as plain JSON values. Strip the `_` that ends a field name which Python reserves."""
        return {name.removesuffix("_"): plain(value) for name, value in self.__dict__.items()}


_CLASSES: dict[str, type[Event]] = {}
"""The classes of events by type."""
Emit = Callable[[Event], None]


class UnknownEvent(Event):
    """An event of a type that this version does not know, or without a field that its type needs."""

    kind: str
    body: Mapping[str, Any]


def load(kind: str, body: Mapping[str, Any]) -> Event:
    """Return the event of this type with these fields. Fields that its class does not have are ignored.

    Texts, lists and records have the type that the class says. Numbers are not checked.
    """
    cls = _CLASSES.get(kind, UnknownEvent)
    fields: dict[str, Any] = {}
    for name, key, read, default in _columns(cls):
        if key not in body:
            if default is _REQUIRED:
                return UnknownEvent(kind=kind, body=body)
            fields[name] = default
            continue
        try:
            fields[name] = read(body[key]) if read else body[key]
        except WrongShape:
            return UnknownEvent(kind=kind, body=body)
    if "subtask" in body:
        fields["subtask"] = str(body["subtask"])
    event = object.__new__(cls)
    event.__dict__.update(fields)
    return event


_REQUIRED = object()


@cache
def _columns(cls: type[Event]) -> tuple[tuple[str, str, Reader | None, Any], ...]:
    """Return name, key, reader and default of every field. Made when an event of the class is loaded first."""
    return tuple(
        (name, name.removesuffix("_"), reader(kind), vars(cls).get(name, _REQUIRED))
        for name, kind in cls.__annotations__.items()
    )


def preview(text: str) -> str:
    """Return at most 400 bytes of UTF-8; a text that was cut ends with an ellipsis."""
    data = text.encode("utf-8", "replace")
    if len(data) <= PREVIEW_BYTES:
        return data.decode()
    return data[: PREVIEW_BYTES - len("…".encode())].decode("utf-8", "ignore") + "…"


# Session life cycle.


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
    """Requirements that no check covers."""
    revised: bool | None = None
    """After a change request of a person: True if the contract differs from the previous one."""
    reason: str = ""
    """Why it does not differ."""
    by_person: bool = False
    """True if a person edited the contract file."""


class BaselineCompleted(Event):
    results: tuple[CheckResult, ...]


class DiffReady(Event):
    files: int
    insertions: int
    deletions: int


class Landed(Event):
    branch: str
    commit: str
    note: str = ""
    amended: bool = False
    """True for the second commit of a verified session: its left-out edits, which a person approved afterwards."""


class Error(Event):
    kind: str
    message: str


class SessionFinished(Event):
    outcome: str
    reason: str
    iterations: int
    results: tuple[CheckResult, ...]
    summary: str
    tree: str
    refused: tuple[RefusedPath, ...] = ()
    """Paths, with reasons, because of which the last work could not be captured; empty if it was captured."""


# Engines, models, tools and costs.


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
    """The agent that does the work, if the engine runs one."""


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
    """None if the model or agent does not report it."""
    cost_usd: float | None
    duration_ms: int
    model: str = ""


class Spend(Event):
    tokens: int
    usd: float | None
    input: int = 0
    output: int = 0


class PlanText(Event):
    text: str
    by: str = ""
    """Who reported it from outside, such as a client of MCP; empty for the engine."""


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
    """The id of the repair, for `donewhen memory show`."""
    source: str = ""
    """The other repository that the repair comes from; empty if it was learnt in this repository."""


class ExternalEvent(Event):
    agent: str
    raw: Any


# The evaluator's opinion on green work.


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
    """The file that contains the complete evaluation."""


class RevisionStarted(Event):
    round: int
    summary: str = ""
    artifact: str = ""


# Rounds of a loop. Nothing emits them yet; their line for people is there already.


class RoundStarted(Event):
    loop: str
    intent: str = ""
    level: str = ""
    trigger: str = ""
    """What made the loop due: an occurrence of its schedule, a trigger, or a person."""


class RoundFinished(Event):
    loop: str
    outcome: str
    decision: str = ""
    intent: str = ""
    reason: str = ""
    limit: str = ""
    """For `budget`: input, output, total, turns, minutes or money."""
    level: str = ""
    maker: Mapping[str, Any] | None = None
    """Status, turns and text of the maker; None if it did not work."""
    checker: Mapping[str, Any] | None = None
    action: Mapping[str, Any] | None = None
    """Kind and summary of what was carried out, or would be; None if nothing was."""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0
    finding: str = ""


# Plans, subtasks and workers.


class PlanningStarted(Event):
    pass


class PlanningCompleted(Event):
    subtasks: tuple[Mapping[str, Any], ...]
    levels: tuple[tuple[str, ...], ...]
    """Subtask ids. Subtasks of one level run in parallel and build on the previous levels."""
    prefer_single_session: bool
    items: tuple[Mapping[str, Any], ...] = ()
    """The items of a plan that one builder works through."""
    filled: tuple[str, ...] = ()
    """What the planner left out, and the values used instead."""


class SubtaskStarted(Event):
    id: str
    index: int
    """Position among all subtasks, counted from 0; `level` is also counted from 0."""
    level: int
    total: int
    attempt: int = 1


class SubtasksFarmed(Event):
    """Emitted after every level; the numbers describe the whole plan."""

    accepted: int
    total: int


class SubtaskVerifying(Event):
    id: str


class SubtaskGated(Event):
    id: str
    status: str
    reasons: tuple[GateReason, ...]
    notes: tuple[str, ...] = ()


class SubtaskApplied(Event):
    id: str


class UnionVerified(Event):
    applied: tuple[str, ...]
    reconciled: tuple[tuple[str, str], ...] = ()


class UnionRejected(Event):
    """Partner, reason and detail describe the most severe cause; `causes` contains those of every cause."""

    culprits: tuple[str, ...]
    partner: str | None
    reason: str
    detail: str
    causes: tuple[RejectionCause, ...] = ()


# Results of the judge.


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
    tests: TestCounts | None
    evidence: str
    cached: bool
    reasons: tuple[str, ...] = ()


class ProtectedEdit(Event):
    path: str
    action: str
    reason: str = ""
    parts: tuple[str, ...] = ()


# Questions and gates for a person.


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
    amendment: Amendment | None = None
    """What the person decides on, if it is about edits of protected paths."""
    optional: bool = False
    """True if nothing waits for the decision: the session has ended without it."""
    expires_at: str | None = None
    """Until when an optional decision can be made, or when a loop action counts as denied."""


class GateDecided(Event):
    gate: str
    id: str
    decision: str
    by: str = ""
    answer: str = ""
    """The text of the change request, if that was the decision."""
    edited: bool = False
    """True if the approved contract is the one that a person edited in its file."""
