"""The tool record: a name, the parameters, the effect on the tree, and the function that runs it.

The input from a model is checked here, once for all tools. A failure in a tool becomes an answer to the model; it never
reaches other code as an exception.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal

import anyio

from donewhen.engines.interface import Asker, NoChange, PlanTracker, RunOnCopy
from donewhen.events import Event
from donewhen.model.interface import ToolSpec
from donewhen.records import frozen
from donewhen.workspace.policy import Policy
from donewhen.workspace.trees.maker import Maker

Kind = Literal["string", "integer", "boolean"]
Effect = Literal["reads", "changes", "talks"]
"""`reads`: may run concurrently with others; `changes`: the tree is saved before it; `talks`: neither, it runs in
order."""

ERROR = "ERROR: "
PYTHON_KINDS: Mapping[Kind, type] = {"string": str, "integer": int, "boolean": bool}
KIND_NAMES: Mapping[Kind, str] = {"string": "a string", "integer": "an integer", "boolean": "true or false"}
MOST_SHOWN = 60


class ToolFailed(Exception):
    """Control flow: the model gets this as an error message and continues."""


@frozen
class Parameter:
    name: str
    kind: Kind
    description: str
    required: bool = True
    choices: tuple[str, ...] = ()
    least: int | None = None
    not_blank: bool = False
    """True if a value of only whitespace counts as empty and is rejected."""
    accepts_integer: bool = False
    """True if an integer is accepted in place of a string."""

    def schema(self) -> dict[str, Any]:
        more: dict[str, Any] = {"enum": list(self.choices)} if self.choices else {}
        if self.least is not None:
            more["minimum"] = self.least
        return {"type": self.kind, "description": self.description, **more}

    @property
    def expected(self) -> str:
        """The expected value, as text for an error message."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return f"{KIND_NAMES[self.kind]} of at least {self.least}" if self.least is not None else KIND_NAMES[self.kind]

    def is_valid(self, value: Any) -> bool:
        if self.accepts_integer and isinstance(value, int) and not isinstance(value, bool):
            return True
        if not isinstance(value, PYTHON_KINDS[self.kind]) or (isinstance(value, bool) and self.kind != "boolean"):
            return False
        return (not self.choices or value in self.choices) and (self.least is None or value >= self.least)


@frozen
class ToolContext:
    """What the tools can use in one round."""

    maker: Maker
    policy: Policy
    asker: Asker | None
    reads_only: bool = False
    """Offers and runs no tool that changes the tree or talks to a person."""
    plan: PlanTracker | None = None
    """The plan that is being built, if there is one."""
    run_on_copy: RunOnCopy | None = None
    """For a read-only role: runs commands without changing the tree."""
    search_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """The tree is assembled for only one command at a time."""


@frozen
class ToolUse:
    """One call of a tool."""

    id: str
    input: Mapping[str, Any]
    context: ToolContext

    def text(self, name: str, default: str = "") -> str:
        return self.input.get(name, default)

    def number(self, name: str) -> int | None:
        return self.input.get(name)

    def flag(self, name: str) -> bool:
        return self.input.get(name, False)


@frozen
class ToolOutput:
    """The result of one tool call."""

    text: str
    ok: bool = True
    failed: bool = False
    """True if the same call is likely to fail again. A command may fail although its tool did not."""
    events: tuple[Event, ...] = ()
    claim: NoChange | None = None


@frozen
class Tool:
    name: str
    description: str
    parameters: tuple[Parameter, ...]
    effect: Effect
    run: Callable[[ToolUse], Awaitable[ToolOutput]]

    def spec(self) -> ToolSpec:
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        required = [parameter.name for parameter in self.parameters if parameter.required]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return ToolSpec(self.name, self.description, schema)

    def checked_input(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the input if it is valid for the tool. An optional parameter that is null counts as not given."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise ToolFailed(f"{self.name} has no parameter {_shown(name)}; it takes {', '.join(known)}")
        for parameter in self.parameters:
            value = given.get(parameter.name)
            if value is None and parameter.required:
                raise ToolFailed(f"{self.name} needs {parameter.name}: {parameter.expected}")
            if value is not None and not parameter.is_valid(value):
                raise ToolFailed(f"{self.name}: {parameter.name} must be {parameter.expected}, not {_shown(value)}")
            if parameter.not_blank and not str(value).strip():
                raise ToolFailed(f"{self.name}: {parameter.name} is empty")
        return {
            name: str(value) if known[name].accepts_integer else value
            for name, value in given.items()
            if value is not None
        }


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
