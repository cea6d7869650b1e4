"""What a tool is: a name, what it takes, what it does to the tree, and how it is carried out.

The input that a model gives is checked here, once for all tools. What goes wrong in a tool is an answer to the model
and never an exception to anybody else.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any, Literal

import anyio

from donewhen.engines.base import Asker, NoChange, Planned, Probe
from donewhen.events import Event
from donewhen.model.base import ToolSpec
from donewhen.records import frozen
from donewhen.workspace.maker import Maker
from donewhen.workspace.policy import Policy

Kind = Literal["string", "integer", "boolean"]
Effect = Literal["reads", "changes", "talks"]
"""`reads`: may run beside others; `changes`: the tree is saved before; `talks`: neither, but in its turn."""

ERROR = "ERROR: "
PYTHON_KINDS: Mapping[Kind, type] = {"string": str, "integer": int, "boolean": bool}
A_KIND: Mapping[Kind, str] = {"string": "a string", "integer": "an integer", "boolean": "true or false"}
MOST_SHOWN = 60


class ToolFailed(Exception):
    """Steers: the model is told, and goes on."""


@frozen
class Parameter:
    name: str
    kind: Kind
    description: str
    required: bool = True
    choices: tuple[str, ...] = ()
    least: int | None = None
    filled: bool = False
    """Whether nothing but blanks is nothing."""
    or_number: bool = False
    """Whether a number will do for a string."""

    def schema(self) -> dict[str, Any]:
        more: dict[str, Any] = {"enum": list(self.choices)} if self.choices else {}
        if self.least is not None:
            more["minimum"] = self.least
        return {"type": self.kind, "description": self.description, **more}

    @property
    def form(self) -> str:
        """What is expected, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return f"{A_KIND[self.kind]} of at least {self.least}" if self.least is not None else A_KIND[self.kind]

    def fits(self, value: Any) -> bool:
        if self.or_number and isinstance(value, int) and not isinstance(value, bool):
            return True
        if not isinstance(value, PYTHON_KINDS[self.kind]) or (isinstance(value, bool) and self.kind != "boolean"):
            return False
        return (not self.choices or value in self.choices) and (self.least is None or value >= self.least)


@frozen
class Workbench:
    """What tools work with in one round."""

    maker: Maker
    policy: Policy
    asker: Asker | None
    reads_only: bool = False
    """Nothing that changes the tree is offered or carried out, nor anything that talks to a person."""
    planned: Planned | None = None
    """The plan that is built, where there is one."""
    probe: Probe | None = None
    """For one who reads only: what runs commands without changing the tree."""
    one_search: anyio.Lock = field(default_factory=anyio.Lock)
    """A tree is put together for one command at a time."""


@frozen
class Use:
    """One use of a tool."""

    id: str
    input: Mapping[str, Any]
    bench: Workbench

    def text(self, name: str, default: str = "") -> str:
        return self.input.get(name, default)

    def number(self, name: str) -> int | None:
        return self.input.get(name)

    def flag(self, name: str) -> bool:
        return self.input.get(name, False)


@frozen
class Outcome:
    """What a use of a tool gave."""

    text: str
    ok: bool = True
    failed: bool = False
    """Whether doing the same again is likely to give the same; a command may fail although its tool did not."""
    events: tuple[Event, ...] = ()
    claim: NoChange | None = None


@frozen
class Tool:
    name: str
    description: str
    parameters: tuple[Parameter, ...]
    effect: Effect
    run: Callable[[Use], Awaitable[Outcome]]

    def spec(self) -> ToolSpec:
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        required = [parameter.name for parameter in self.parameters if parameter.required]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return ToolSpec(self.name, self.description, schema)

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The input, if it is what the tool takes. An optional one that is null was not given."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise ToolFailed(f"{self.name} has no parameter {_shown(name)}; it takes {', '.join(known)}")
        for parameter in self.parameters:
            value = given.get(parameter.name)
            if value is None and parameter.required:
                raise ToolFailed(f"{self.name} needs {parameter.name}: {parameter.form}")
            if value is not None and not parameter.fits(value):
                raise ToolFailed(f"{self.name}: {parameter.name} must be {parameter.form}, not {_shown(value)}")
            if parameter.filled and not str(value).strip():
                raise ToolFailed(f"{self.name}: {parameter.name} is empty")
        return {
            name: str(value) if known[name].or_number else value for name, value in given.items() if value is not None
        }


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
