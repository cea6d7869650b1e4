"""Question server: an MCP server with one tool, by which any agent can ask a person and wait for the answer.

Implements only as much of MCP's streamable HTTP as one tool needs: every request is answered with JSON, one per
connection. There is no event stream and no session. The caller supplies who answers, and how long that may take.
"""

import json
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from donewhen import __version__
from donewhen.engines.external.json_values import mapping
from donewhen.engines.external.network import http1
from donewhen.engines.external.network.listener import LIMITS, ConnectionLimits, serve_connections
from donewhen.engines.external.network.stream import ConnectionClosed, SocketStream

Ask = Callable[[str], Awaitable[str]]
"""Asks a person a question; returns the answer, or a text that says that there was none."""

NAME = "ask_person"
LARGEST_BODY = 1 << 20
METHOD_NOT_FOUND, INVALID = -32601, -32602
TOOL = {
    "name": NAME,
    "description": (
        "Ask the person you work for, and wait for the answer. Only for what you cannot find out or decide yourself."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"prompt": {"type": "string", "description": "The question, complete in itself."}},
        "required": ["prompt"],
    },
}


async def serve_questions(listener: socket.socket, ask: Ask, *, limits: ConnectionLimits = LIMITS) -> None:
    """Serve until cancelled. One question is asked at a time; others wait for their turn."""
    turn = anyio.Lock()

    async def one_at_a_time(prompt: str) -> str:
        async with turn:
            return await ask(prompt)

    async def serve(inside: SocketStream) -> None:
        try:
            status, answer = await _answer(inside, one_at_a_time, limits)
            data = json.dumps(answer).encode() if answer is not None else b""
            fields = [("content-type", "application/json"), ("content-length", str(len(data))), ("connection", "close")]
            await inside.send(http1.head_bytes(f"HTTP/1.1 {status} {http1.phrase(status)}", fields) + data)
            await inside.finish()
        except ConnectionClosed:
            return  # the agent does not wait for the answer

    await serve_connections(listener, serve, limits)


async def _answer(inside: SocketStream, ask: Ask, limits: ConnectionLimits) -> tuple[int, Any]:
    """Return the status and the JSON with which a request is answered."""
    try:
        with anyio.fail_after(limits.head_secs):
            data = await inside.receive_until(http1.END, http1.LARGEST)
            head = http1.request(data or b"")
            if head.method != "POST":
                return 405, None
            await http1.send_continue(inside, head)
            body = b""
            async for piece in http1.body(inside, head):
                body += piece
                if len(body) > LARGEST_BODY:
                    return 413, None
        message = json.loads(body)
    except TimeoutError:
        return 408, None
    except (http1.BadHead, ValueError, RecursionError):
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
            answer |= await _call_tool(params, ask)
        case _:
            answer["error"] = {"code": METHOD_NOT_FOUND, "message": "only one tool is available here"}
    return 200, answer


async def _call_tool(params: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    prompt = mapping(params.get("arguments")).get("prompt")
    if params.get("name") != NAME or not isinstance(prompt, str) or not prompt.strip():
        return {"error": {"code": INVALID, "message": f"{NAME} needs a prompt; it is the only tool"}}
    return {"result": {"content": [{"type": "text", "text": await ask(prompt)}], "isError": False}}
