"""The seam to any LLM: one turn in, one reply out.

A conversation is plain data that only ever grows at its end, so that an implementation may serialise each message once
and a provider may keep the beginning in its cache. Which provider, over which wire, with which retries: not known here.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from donewhen.errors import MachineryBroke, NeedsPerson
from donewhen.records import frozen


@frozen
class ToolSpec:
    """A tool as a model is told about it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """The JSON schema of its input."""


@frozen
class Call:
    """A model's wish to use a tool."""

    id: str
    """Empty when the model gave none; the engine assigns one."""
    name: str
    input: Mapping[str, Any]
    problem: str = ""
    """Why the input could not be read (cut off, not JSON, not an object); such a call is never carried out."""


@frozen
class User:
    text: str


@frozen
class Assistant:
    text: str
    calls: tuple[Call, ...] = ()
    raw: Any = None
    """The provider's own form of the message, to be sent back as it came by the wire that made it (see `Reply.raw`)."""


@frozen
class ToolAnswer:
    """What a tool gave."""

    call_id: str
    name: str
    text: str
    ok: bool = True


@frozen
class Answers:
    """The results of all calls of the assistant's message before, in its order."""

    answers: tuple[ToolAnswer, ...]


Message = User | Assistant | Answers


@frozen(kw_only=True)
class Turn:
    """Everything a model is given for its next reply."""

    role: str
    """Who is asked: maker, planner, worker:ID, evaluator, checker."""
    number: int
    """How many turns of that role the session has recorded so far, failed ones included."""
    system: str
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...]
    max_tokens: int = 4096
    temperature: float = 0


@frozen
class Usage:
    input: int = 0
    """All tokens of the prompt, those from a cache included."""
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
    """What was used for a turn, and what that costs."""

    usage: Usage = field(default_factory=Usage)
    usd: float | None = None
    """None when no price is known; never a guess."""

    def __add__(self, other: "Bill") -> "Bill":
        """Where nothing was used, nothing is unknown either."""
        if not other.usage.total:
            return self
        if not self.usage.total:
            return other
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Bill(self.usage + other.usage, usd)


@frozen(kw_only=True)
class Reply:
    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    """None when no price is known; never a guess."""
    duration_ms: int = 0
    model: str = ""
    """The one that answered, PROVIDER:NAME, be it the one that was asked for or a fallback."""
    stop: Literal["done", "calls", "length"] = "done"
    """`length`: the reply was cut at `max_tokens`."""
    raw: Any = None
    """Plain JSON that the same wire wants back in later turns, such as signatures; None when the rest says it all."""
    filled: int = 0
    """Tokens of the prompt that was answered. `usage` has those of all requests that the turn took."""
    fallback: str = ""
    """Why another model than the first answered; empty when the first did."""


Said = Callable[[str], None]
"""Told pieces of text as they stream in, for people who watch; what counts is the reply."""


class Model(Protocol):
    @property
    def name(self) -> str:
        """PROVIDER:NAME."""
        ...

    async def reply(self, turn: Turn, said: Said | None = None) -> Reply:
        """The reply, whole; or `ModelFailed`, or `ModelWaits`."""
        ...


class ModelFailed(MachineryBroke):
    """No reply, after all retries that made sense."""

    def __init__(self, message: str, kind: str, final: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        """network, timeout, overloaded, rate_limited, malformed, refused, bad_request, script …"""
        self.final = final
        """Whether the same turn can only fail again."""
        self.bill = Bill()
        """What the provider said that it costs all the same."""


class ModelWaits(NeedsPerson):
    """Only a person or time helps: no or bad credentials, or a quota that is used up."""

    def __init__(self, message: str, kind: Literal["sign_in", "quota"], reset_at: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.reset_at = reset_at
        """When the provider said it: the time, in UTC as events have it."""
        self.bill = Bill()
        """What the requests before the last one cost."""
