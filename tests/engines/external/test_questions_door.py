"""The server through which an agent asks a person: its answers, and that no message of an agent breaks it."""

import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.external.network.listener import ConnectionLimits
from donewhen.engines.external.network.question_server import serve_questions
from tiers import examples

pytestmark = pytest.mark.anyio
NOT_LONG = ConnectionLimits(head_secs=0.3)


async def yes(prompt: str) -> str:
    return f"yes to {prompt}"


@asynccontextmanager
async def door() -> AsyncGenerator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    async with anyio.create_task_group() as tasks:

        async def serve() -> None:
            await serve_questions(listener, yes, limits=NOT_LONG)

        tasks.start_soon(serve)
        yield port
        tasks.cancel_scope.cancel()


async def sent(port: int, data: bytes) -> bytes:
    """Return everything that comes back."""

    def exchange() -> bytes:
        with socket.create_connection(("127.0.0.1", port)) as connected:
            connected.sendall(data)
            answer = b""
            while piece := connected.recv(1 << 16):
                answer += piece
            return answer

    return await anyio.to_thread.run_sync(exchange)


async def posted(port: int, message: Any) -> tuple[int, Any]:
    body = json.dumps(message).encode()
    head = f"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    status, _, rest = (await sent(port, head + body)).partition(b"\r\n\r\n")
    return int(status.split()[1]), json.loads(rest) if rest else None


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}


async def test_the_question_server_introduces_itself_and_lists_one_tool() -> None:
    async with door() as port:
        status, hello = await posted(port, request("initialize", protocolVersion="2025-03-26"))
        assert (status, hello["id"], hello["result"]["protocolVersion"]) == (200, "a", "2025-03-26")
        assert await posted(port, {"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, None)
        _, listed = await posted(port, request("tools/list"))
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["ask_person"]
        assert (await posted(port, request("ping")))[1]["result"] == {}


async def test_a_question_is_asked_and_its_answer_comes_back() -> None:
    async with door() as port:
        _, answer = await posted(port, request("tools/call", name="ask_person", arguments={"prompt": "go?"}))
        assert answer["result"] == {"content": [{"type": "text", "text": "yes to go?"}], "isError": False}


@pytest.mark.parametrize(
    "params",
    [{}, {"name": "other", "arguments": {"prompt": "x"}}, {"name": "ask_person", "arguments": {"prompt": " "}},
     {"name": "ask_person", "arguments": "x"}],
)  # fmt: skip
async def test_any_other_request_is_a_protocol_error(params: dict[str, Any]) -> None:
    async with door() as port:
        assert "error" in (await posted(port, request("tools/call", **params)))[1]
        assert (await posted(port, request("resources/list")))[1]["error"]["code"] == -32601


async def test_the_question_server_offers_no_event_stream() -> None:
    async with door() as port:
        assert (await sent(port, b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n")).startswith(b"HTTP/1.1 405 ")


@settings(max_examples=examples(40))
@given(st.binary(max_size=200))
def test_any_input_is_answered_or_closed_and_the_server_keeps_running(junk: bytes) -> None:
    async def try_it() -> None:
        async with door() as port:
            for head in (b"", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(junk)):
                answer = await sent(port, head + junk + b"\r\n\r\n")
                assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
            assert (await posted(port, request("ping")))[0] == 200

    anyio.run(try_it)
