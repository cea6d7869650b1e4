"""Costs of a turn in a growing conversation: 100 turns over OpenAI's chat interface, with four clients in one run.

CPU is that of the thread that sends the request; the scripted server has its own threads. `raw httpx2` is the lower
bound: it serialises the body again and ignores the response. Bytes are those of request bodies; uncached bytes come
after the common start with the previous request.
"""

import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import anyio

from donewhen.model.interface import Answers, Assistant, Message, ToolAnswer, ToolSpec, Turn, User, close_model
from donewhen.model.open_model import ModelConfig, open_model

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.wire_server import Answer, SaidCall, Says, WireServer, serving

TURNS = 100
EARLY, LATE = slice(5, 15), slice(90, 100)
"""Around turn 10 and turn 100: single turns are too short to measure well."""
OUTPUT = "line of output, as a command prints it\n" * 50
SYSTEM = "You repair code. " * 60
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
CALL = SaidCall("call_1", "shell", '{"command": "echo hello"}')
FLATTER_THAN = 1.5

Ask = Callable[[int], Awaitable[None]]


@dataclass
class Way:
    name: str
    server: WireServer
    ask: Ask
    secs: list[float] = field(default_factory=list[float])


async def ours(server: WireServer, stack: AsyncExitStack) -> Ask:
    model = open_model("openai-chat:bench", ModelConfig(base_url=f"{server.url}/v1"), {})
    stack.push_async_callback(close_model, model)
    tools = (ToolSpec("shell", "Run a command.", SCHEMA),)
    messages: tuple[Message, ...] = (User("make the tests pass"),)

    async def ask(number: int) -> None:
        nonlocal messages
        turn = Turn(role="maker", number=number, system=SYSTEM, tools=tools, messages=messages)
        reply = await model.reply(turn)
        call = reply.calls[0]
        answer = ToolAnswer(call.id, call.name, f"{number}\n{OUTPUT}")
        messages = (*messages, Assistant(reply.text, reply.calls, reply.raw), Answers((answer,)))

    return ask


def chat_tools() -> list[Any]:
    return [{"type": "function", "function": {"name": "shell", "description": "Run a command.", "parameters": SCHEMA}}]


def exchange(number: int) -> list[Any]:
    call = {"id": CALL.id, "type": "function", "function": {"name": CALL.name, "arguments": CALL.arguments}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": CALL.id, "content": f"{number}\n{OUTPUT}"},
    ]


def beginning() -> list[Any]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "make the tests pass"}]


async def official(server: WireServer, stack: AsyncExitStack) -> Ask:
    import openai

    client = await stack.enter_async_context(openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none"))
    messages = beginning()

    async def ask(number: int) -> None:
        stream = await client.chat.completions.create(
            model="bench",
            messages=messages,
            tools=chat_tools(),
            stream=True,
            stream_options={"include_usage": True},
            temperature=0,
            max_tokens=4096,
        )
        async for _ in stream:
            pass
        messages.extend(exchange(number))

    return ask


async def library(server: WireServer, stack: AsyncExitStack) -> Ask:
    from pydantic_ai import direct
    from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.tools import ToolDefinition

    model = OpenAIChatModel("bench", provider=OpenAIProvider(base_url=f"{server.url}/v1", api_key="none"))
    await stack.enter_async_context(model)
    tool = ToolDefinition(name="shell", description="Run a command.", parameters_json_schema=SCHEMA)
    parameters = ModelRequestParameters(function_tools=[tool])
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("make the tests pass")], instructions=SYSTEM)]

    async def ask(number: int) -> None:
        async with direct.model_request_stream(model, messages, model_request_parameters=parameters) as stream:
            async for _ in stream:
                pass
        answer = ToolReturnPart("shell", f"{number}\n{OUTPUT}", CALL.id)
        messages.extend([stream.get(), ModelRequest(parts=[answer], instructions=SYSTEM)])

    return ask


async def floor(server: WireServer, stack: AsyncExitStack) -> Ask:
    import httpx2

    client = await stack.enter_async_context(httpx2.AsyncClient())
    messages = beginning()

    async def ask(number: int) -> None:
        body = {"model": "bench", "stream": True, "tools": chat_tools(), "messages": messages}
        content = json.dumps(body, ensure_ascii=False).encode()
        async with client.stream("POST", f"{server.url}/v1/chat/completions", content=content) as response:
            async for _ in response.aiter_bytes():
                pass
        messages.extend(exchange(number))

    return ask


async def measured() -> list[Way]:
    makers = {"donewhen": ours, "openai SDK": official, "pydantic_ai.direct": library, "raw httpx2": floor}
    ways: list[Way] = []
    async with AsyncExitStack() as stack:
        for name, make in makers.items():
            server = stack.enter_context(serving(Says(Answer(calls=(CALL,))), again=True))
            ways.append(Way(name, server, await make(server, stack)))
        for number in range(TURNS):
            for way in ways:
                began = time.thread_time()
                await way.ask(number)
                way.secs.append(time.thread_time() - began)
    return ways


def uncached(way: Way) -> list[int]:
    """For each request but the first, the bytes behind what it has in common with the one before."""
    bodies = [received.body for received in way.server.received]
    return [len(later) - common(earlier, later) for earlier, later in pairwise(bodies)]


def common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def main() -> None:
    ways = anyio.run(measured)
    base = median(ways[0].secs[LATE])
    for way in ways:
        early, late = median(way.secs[EARLY]) * 1000, median(way.secs[LATE]) * 1000
        sent = sum(len(received.body) for received in way.server.received)
        print(
            f"{way.name:18}  turn 10: {early:5.2f} ms, turn 100: {late:5.2f} ms of CPU, x {late / early:4.2f};"
            f"  at turn 100 {late / 1000 / base:4.1f} x donewhen;"
            f"  all {sum(way.secs):5.2f} s, {len(way.server.received)} requests, {sent / 1e6:5.1f} MB,"
            f" uncached {median(uncached(way)):.0f} B a turn"
        )
    growth = median(ways[0].secs[LATE]) / median(ways[0].secs[EARLY])
    print(f"flat: x {growth:.2f} (target {FLATTER_THAN}): {'met' if growth <= FLATTER_THAN else 'missed'}")


if __name__ == "__main__":
    main()
