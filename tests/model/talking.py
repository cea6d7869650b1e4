"""Models opened against the scripted server, and turns for them, shared by the tests of every wire."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from donewhen.model.clock import Clock
from donewhen.model.deadlines import Deadlines, RetryBudget
from donewhen.model.interface import (
    Answers,
    Assistant,
    Message,
    Model,
    Reply,
    ToolAnswer,
    ToolSpec,
    Turn,
    User,
    close_model,
)
from donewhen.model.open_model import ModelConfig, open_model
from wire_server import SaidCall, Wire, WireServer

WIRES: tuple[Wire, ...] = ("openai-chat", "openai-responses", "anthropic", "google")
KEY = "sk-test-0123456789"
ENVIRONMENT = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY}
NOW = 1_800_000_000.0
"""Friday, 15 January 2027, 08:00:00 UTC."""

READ = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
SHELL = ToolSpec("shell", "Run a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
TWO_CALLS = (SaidCall("c1", "read_file", '{"path": "a.py"}'), SaidCall("c2", "shell", '{"command": "echo ü 😀"}'))


@dataclass
class World:
    """The clock of a test: fixed time, no randomness, and pauses that are only recorded."""

    pauses: list[float] = field(default_factory=list[float])

    def outside(self) -> Clock:
        async def pause(secs: float) -> None:
            self.pauses.append(secs)

        return Clock(now=lambda: NOW, random_fraction=lambda: 0.0, pause=pause)


def base_url(server: WireServer, wire: Wire) -> str:
    return f"{server.url}/v1" if wire.startswith("openai") else server.url


@asynccontextmanager
async def talking(
    server: WireServer,
    wire: Wire,
    world: World | None = None,
    *,
    name: str = "",
    deadlines: Deadlines | None = None,
    retry: RetryBudget | None = None,
    fallback: tuple[str, ...] = (),
) -> AsyncGenerator[Model]:
    config = ModelConfig(
        base_url=base_url(server, wire),
        deadlines=deadlines or Deadlines(),
        retry=retry or RetryBudget(),
        fallback=fallback,
    )
    outside = (world or World()).outside()
    model = open_model(name or f"{wire}:scripted", config, ENVIRONMENT, outside)
    try:
        yield model
    finally:
        await close_model(model)


def first_turn(text: str = "make the tests pass") -> Turn:
    return Turn(role="maker", number=0, system="You repair code.", tools=(READ, SHELL), messages=(User(text),))


def after(turn: Turn, reply: Reply, *more: Message) -> Turn:
    """The next turn: the reply, and an answer to each of its calls, whose missing ids are assigned."""
    calls = tuple(call.changed(id=call.id or f"t{turn.number}.{place}") for place, call in enumerate(reply.calls))
    answers = tuple(ToolAnswer(call.id, call.name, f"did {call.name}", ok=not call.problem) for call in calls)
    said = Assistant(reply.text, calls, reply.raw)
    messages = (*turn.messages, said, *((Answers(answers),) if answers else ()), *more)
    return replace(turn, number=turn.number + 1, messages=messages)
