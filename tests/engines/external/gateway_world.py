"""A running gateway, its agent on a plain socket, and endpoints whose bytes are scripted."""

import contextlib
import json
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import anyio
import anyio.abc
from proxy_world import everything, head_of

from donewhen.engines.external.network.endpoints import AllowedEndpoint as Pattern
from donewhen.engines.external.network.endpoints import WireEndpoints
from donewhen.engines.external.network.gateway import RequestLog, serve_gateway
from donewhen.engines.external.network.listener import LIMITS, ConnectionLimits
from donewhen.engines.external.network.upstream import Upstream

PATIENCE_SECS = 60.0
KEY = "sk-real-0123456789-abcdef"
ANYTHING = WireEndpoints((Pattern(r".*", r".*", r".*"),), r".*")
"""No list of allowed requests: what the gateway would forward without one."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@dataclass
class Gate:
    port: int
    log: list[RequestLog] = field(default_factory=list[RequestLog])
    _more: anyio.Event = field(default_factory=anyio.Event)

    def note(self, request: RequestLog) -> None:
        self.log.append(request)
        self._more.set()
        self._more = anyio.Event()

    async def entry(self, number: int = 0) -> RequestLog:
        """Return an entry of the log as soon as it is there."""
        while len(self.log) <= number:
            await self._more.wait()
        return self.log[number]

    async def connect(self) -> anyio.abc.SocketStream:
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def ask(self, request: bytes) -> bytes:
        """Return everything until the connection ends; the request should ask for that."""
        async with await self.connect() as stream:
            await stream.send(request)
            return await everything(stream)

    async def get(self, target: str, *fields: str) -> bytes:
        lines = "".join(f"{field}\r\n" for field in ("Host: 127.0.0.1", "Connection: close", *fields))
        return await self.ask(f"GET {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))


@contextlib.asynccontextmanager
async def gateway_to(
    base: str,
    header: str = "authorization",
    key: str = KEY,
    limits: ConnectionLimits = LIMITS,
    wire: WireEndpoints = ANYTHING,
) -> AsyncGenerator[Gate]:
    upstream = Upstream(base, header, key, wire)
    listener = socket.create_server(("127.0.0.1", 0))
    gate = Gate(listener.getsockname()[1])
    async with anyio.create_task_group() as tasks:

        async def serve() -> None:
            await serve_gateway(listener, upstream, gate.note, limits=limits)

        tasks.start_soon(serve)
        with anyio.fail_after(PATIENCE_SECS):
            yield gate
        tasks.cancel_scope.cancel()


@dataclass
class Endpoint:
    """Answer every request of a connection in the same way, and keep what was received."""

    answer: bytes = OK
    heads: list[bytes] = field(default_factory=list[bytes])
    bodies: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0

    async def handle(self, stream: anyio.abc.ByteStream) -> None:
        self.connections += 1
        with contextlib.suppress(anyio.BrokenResourceError, anyio.EndOfStream):
            while head := await head_of(stream):
                self.heads.append(head)
                self.bodies.append(await body_of(stream, head))
                await stream.send(self.said(head))

    def said(self, head: bytes) -> bytes:
        """May differ for every request."""
        assert head
        return self.answer

    def field(self, name: str, request: int = -1) -> list[str]:
        """Return the values of a field in a received request."""
        lines = self.heads[request].decode("latin-1").split("\r\n")[1:]
        return [line.partition(": ")[2] for line in lines if line.lower().startswith(f"{name}: ")]


class Echo(Endpoint):
    """Repeat the head of every request in a header field and in the body."""

    def said(self, head: bytes) -> bytes:
        shown = head.replace(b"\r\n", b" ").strip()
        return b"HTTP/1.1 200 OK\r\nX-Echo: %b\r\nContent-Length: %d\r\n\r\n%b" % (shown, len(head), head)


async def body_of(stream: anyio.abc.ByteReceiveStream, head: bytes) -> bytes:
    """Read the body by the framing of its head; chunks as they came."""
    lines = head.lower().split(b"\r\n")
    length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
    chunked, body = b"transfer-encoding: chunked" in lines, b""
    while len(body) < length or (chunked and not body.endswith(b"0\r\n\r\n")):
        body += await stream.receive()
    return body


def message(answer: bytes) -> str:
    """Return the text of an error of the gateway itself."""
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]


def answer_body(answer: bytes) -> bytes:
    """Return the body of a complete response, with its chunks joined."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" not in head:
        return rest
    body = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        if size == b"0":
            return body
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
