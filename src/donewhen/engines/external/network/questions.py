"""The door to a person: an MCP server with one tool, by which any agent can ask and wait for the answer.

Just as much of MCP's streamable HTTP as one tool needs: every request is answered with JSON, one per connection; there
is no stream of events and no session. Who answers, and how long that may take, is handed in.
"""

import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from donewhen import __version__
from donewhen.engines.external.json_values import mapping
from donewhen.engines.external.network import bodies, heads
from donewhen.engines.external.network.doorway import LIMITS, Limits, attend
from donewhen.engines.external.network.stream import Ended, Stream

Ask = Callable[[str], Awaitable[str]]
"""Puts a question to a person; the answer, or words that say that nobody gave one."""

NAME = "ask_person"
LARGEST_BODY = 1 << 20
METHOD_NOT_FOUND, INVALID = -32601, -32602
TOOL = {
    "name": NAME,
    "description": "Ask the person you work for, and wait for the answer. Only for what you cannot find out or decide "
    "by yourself.",
    "inputSchema": {
        "type": "object",
        "properties": {"prompt": {"type": "string", "description": "The question, complete in itself."}},
        "required": ["prompt"],
    },
}


async def serve_questions(listener: socket.socket, ask: Ask, *, limits: Limits = LIMITS) -> None:
    """Serve until cancelled. One question waits at a time; others wait for their turn."""
    turn = anyio.Lock()

    async def one_at_a_time(prompt: str) -> str:
        async with turn:
            return await ask(prompt)

    async def serve(inside: Stream) -> None:
        try:
            status, answer = await _answered(inside, one_at_a_time, limits)
            data = json.dumps(answer).encode() if answer is not None else b""
            fields = [("content-type", "application/json"), ("content-length", str(len(data))), ("connection", "close")]
            await inside.send(heads.written(f"HTTP/1.1 {status} {heads.phrase(status)}", fields) + data)
            await inside.part()
        except Ended:
            return  # an agent that does not wait for the answer

    await attend(listener, serve, limits)


async def _answered(inside: Stream, ask: Ask, limits: Limits) -> tuple[int, Any]:
    """The status and the JSON that a request is answered with."""
    try:
        with anyio.fail_after(limits.head_secs):
            data = await inside.receive_until(heads.END, heads.LARGEST)
            head = heads.request(data or b"")
            if head.method != "POST":
                return 405, None
            await bodies.invite(inside, head)
            body = b""
            async for piece in bodies.body(inside, head):
                body += piece
                if len(body) > LARGEST_BODY:
                    return 413, None
        message = json.loads(body)
    except TimeoutError:
        return 408, None
    except (heads.BadHead, ValueError, RecursionError):
        return 400, None
    return await _reply(mapping(message), ask) if isinstance(message, dict) else (400, None)


async def _reply(message: Mapping[str, Any], ask: Ask) -> tuple[int, Any]:
    if "id" not in message:
        return 202, None
    params = mapping(message.get("params"))
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    match message.get("method"):
        case "initialize":
            info = {"name": "donewhen", "version": __version__}
            version = params.get("protocolVersion", "2025-06-18")
            answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "ping":
            answer["result"] = {}
        case "tools/list":
            answer["result"] = {"tools": [TOOL]}
        case "tools/call":
            answer |= await _called(params, ask)
        case _:
            answer["error"] = {"code": METHOD_NOT_FOUND, "message": "there is one tool here, and nothing else"}
    return 200, answer


async def _called(params: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    prompt = mapping(params.get("arguments")).get("prompt")
    if params.get("name") != NAME or not isinstance(prompt, str) or not prompt.strip():
        return {"error": {"code": INVALID, "message": f"{NAME} takes a prompt, and is the only tool"}}
    return {"result": {"content": [{"type": "text", "text": await ask(prompt)}], "isError": False}}
