"""Interface to any LLM: one turn in, one reply out.

A conversation is plain data that only grows at its end, so that an implementation can serialise each message once and a
provider can cache the beginning. Providers, wire formats and retries are not part of this module. `close_model` closes
what any model keeps open between its turns.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol, runtime_checkable

from donewhen.errors import MachineryBroke, NeedsPerson
from donewhen.records import Stored, frozen


@frozen
class ToolSpec:
    """A tool as it is described to a model."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """The JSON schema of its input."""


class Call(Stored):
    """A model's request to use a tool."""

    id: str
    """Empty if the model gave none; the engine assigns one."""
    name: str
    input: Mapping[str, Any]
    problem: str = ""
    """Why the input could not be read (cut off, not JSON, not an object); such a call is never executed."""


@frozen
class User:
    text: str


@frozen
class Assistant:
    text: str
    calls: tuple[Call, ...] = ()
    raw: Any = None
    """The provider's own form of the message; the wire that created it sends it back unchanged (see `Reply.raw`)."""


@frozen
class ToolAnswer:
    """The result of one tool call."""

    call_id: str
    name: str
    text: str
    ok: bool = True


@frozen
class Answers:
    """The results of all calls of the previous assistant message, in the same order."""

    answers: tuple[ToolAnswer, ...]


Message = User | Assistant | Answers


@frozen(kw_only=True)
class Turn:
    """Everything that a model receives for its next reply."""

    role: str
    """The role of the model: maker, planner, worker:ID, evaluator, checker."""
    number: int
    """Number of turns of this role that the session has recorded so far, including failed ones."""
    system: str
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...]
    max_tokens: int = 4096
    temperature: float = 0

    @property
    def most_usage(self) -> "Usage":
        """Return what the reply may cost at most, as far as the texts tell: two characters are a token or less.

        What only the provider reads (`Assistant.raw`) and scripts with a token for each character are not considered.
        """
        tools = sum(len(tool.description) + len(str(tool.parameters)) for tool in self.tools)
        characters = len(self.system) + tools + sum(map(_characters, self.messages))
        return Usage(input=characters // 2, output=self.max_tokens)


def _characters(message: Message) -> int:
    match message:
        case User(text=text):
            return len(text)
        case Assistant(text=text, calls=calls):
            return len(text) + sum(len(str(call.input)) for call in calls)
        case Answers(answers=answers):
            return sum(len(answer.text) for answer in answers)


class Usage(Stored):
    input: int = 0
    """All tokens of the prompt, including cached ones."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@frozen
class Bill:
    """Token usage and cost of a turn."""

    usage: Usage = field(default_factory=Usage)
    usd: float | None = None
    """None when no price is known; never a guess."""

    def __add__(self, other: "Bill") -> "Bill":
        """Add two bills. A bill without usage does not make the sum's price unknown."""
        if not other.usage.total:
            return self
        if not self.usage.total:
            return other
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Bill(self.usage + other.usage, usd)


class Reply(Stored):
    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    """None when no price is known; never a guess."""
    duration_ms: int = 0
    model: str = ""
    """The model that answered, PROVIDER:NAME: the requested one or a fallback."""
    stop: Literal["done", "calls", "length"] = "done"
    """`length`: the reply was cut at `max_tokens`."""
    raw: Any = None
    """Plain JSON that the same wire needs back in later turns, such as signatures; None if the other fields suffice."""
    filled: int = 0
    """Tokens of the prompt that was answered. `usage` counts all requests of the turn."""
    fallback: str = ""
    """Why a model other than the first answered; empty if the first did."""


OnText = Callable[[str], None]
"""Callback for pieces of text as they stream in, for live display only; the reply is authoritative."""


class Model(Protocol):
    @property
    def name(self) -> str:
        """PROVIDER:NAME."""
        ...

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        """Return the complete reply. Raise `ModelFailed` or `ModelWaits`."""
        ...


class ModelFailed(MachineryBroke):
    """No reply after all useful retries."""

    def __init__(self, message: str, kind: str, final: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        """network, timeout, overloaded, rate_limited, malformed, refused, bad_request, script …"""
        self.final = final
        """True if the same turn can only fail again."""
        self.bill = Bill()
        """The usage and cost that the provider reported in spite of the failure."""


class ModelWaits(NeedsPerson):
    """Only a person or time can help: missing or invalid credentials, or an exhausted quota."""

    def __init__(self, message: str, kind: Literal["sign_in", "quota"], reset_at: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.reset_at = reset_at
        """The time of the reset in UTC, in the format of events; empty if the provider did not report it."""
        self.bill = Bill()
        """The cost of the requests before the last one."""


@runtime_checkable
class Closable(Protocol):
    async def close(self) -> None: ...


async def close_model(model: Model) -> None:
    """Close a model. Call this once, in the event loop that ran the turns; the model can be used again afterwards."""
    if isinstance(model, Closable):
        await model.close()
