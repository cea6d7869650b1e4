"""Gateway request: passes one request of the agent to the endpoint and streams the answer back.

Nothing is kept whole, and no request is sent twice. If the agent disconnects, its request is cancelled.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from donewhen.engines.external.network import http1
from donewhen.engines.external.network.redaction import Redactor
from donewhen.engines.external.network.stream import ConnectionClosed, SocketStream
from donewhen.engines.external.network.upstream import Upstream
from donewhen.records import frozen

if TYPE_CHECKING:
    import httpx2

LONGEST_LOGGED = 400
KEEPALIVE_SECS = 60.0
CLOSING_SECS = 1.0
WITHHELD = frozenset(("set-cookie", "set-cookie2", "alt-svc", "content-length"))
CODINGS = frozenset(("gzip", "deflate", "identity"))
WITHOUT_BODY = (204, 304)


@frozen(kw_only=True)
class RequestLog:
    """Result of one request, recorded when it is over."""

    method: str
    path: str
    """Without its query."""
    status: int
    """Status of the answer: 401, 403 and 429 are about the key and what it may use. 0: the agent did not wait for the
    answer."""
    bytes_up: int = 0
    bytes_down: int = 0
    """Both counts are of the bodies only."""
    duration_ms: int = 0
    detail: str = ""
    """Why the gateway itself answered, or cut the answer; empty if the endpoint gave all of it."""


class Broken(Exception):
    """The endpoint could not be asked, or its answer could not be passed on."""


class EndpointClient:
    """HTTP client of the endpoint, loaded and opened with the first request. Connections are reused after a POST."""

    def __init__(self, connect_secs: float) -> None:
        self._connect_secs = connect_secs
        self._client: httpx2.AsyncClient | None = None

    async def ask(
        self, method: str, url: str, fields: list[tuple[str, str]], body: AsyncGenerator[bytes] | None
    ) -> "httpx2.Response":
        """Send a request and return the answer, its body still unread."""
        import httpx2

        try:
            # Built by hand, so that the client adds no cookie, name or preference of its own.
            raw_fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
            request = httpx2.Request(method, url, headers=raw_fields, content=body)
            return await self._opened(url).send(request, stream=True, follow_redirects=False)
        except (httpx2.TransportError, httpx2.InvalidURL, OSError) as error:
            raise Broken(f"the model's endpoint cannot be reached: {error or type(error).__name__}") from error

    def _opened(self, url: str) -> "httpx2.AsyncClient":
        import ssl

        import httpx2

        if self._client is None:
            # This machine's certificates are expensive to load, and a plain http address needs none. All requests of a
            # gateway go to one endpoint, so the first one decides.
            verify = True if url.lower().startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            timeout = httpx2.Timeout(None, connect=self._connect_secs)
            limits = httpx2.Limits(keepalive_expiry=KEEPALIVE_SECS)
            self._client = httpx2.AsyncClient(timeout=timeout, limits=limits, verify=verify)
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            with anyio.move_on_after(CLOSING_SECS, shield=True):
                await self._client.aclose()


async def _pieces(response: "httpx2.Response", is_plain: bool) -> AsyncIterator[bytes]:
    import httpx2

    try:
        async for piece in response.aiter_raw() if is_plain else response.aiter_bytes():
            yield piece
    except httpx2.RequestError as error:
        raise Broken(f"the response broke off: {error or type(error).__name__}") from error


@dataclass(slots=True)
class GatewayRequest:
    inside: SocketStream
    upstream: Upstream
    client: EndpointClient
    head: http1.RequestHead
    may_continue: bool = field(default=False, init=False)
    """True if the agent's connection can carry another request."""
    _began: float = field(default_factory=monotonic, init=False)
    _is_read: bool = field(default=False, init=False)
    """True if the whole request was read."""
    _status: int = field(default=0, init=False)
    _up: int = field(default=0, init=False)
    _down: int = field(default=0, init=False)
    _detail: str = field(default="", init=False)

    def record(self) -> RequestLog:
        return RequestLog(
            method=self.head.method,
            path=self.head.target.partition("?")[0][:LONGEST_LOGGED],
            status=self._status,
            bytes_up=self._up,
            bytes_down=self._down,
            duration_ms=round((monotonic() - self._began) * 1000),
            detail=self._detail,
        )

    async def serve(self) -> None:
        async with anyio.create_task_group() as tasks:
            try:
                await self._forward(tasks)
            except http1.BadHead as error:
                await self._refuse(error.status, str(error))
            except Broken as error:
                await self._refuse(502, str(error))
            except ConnectionClosed:
                self._detail = "the agent closed the connection"
            tasks.cancel_scope.cancel()

    async def _refuse(self, status: int, reason: str) -> None:
        """Refuse with an answer, unless one has begun: then it can only be broken off."""
        self._detail = Redactor(self.upstream.key).whole(reason)
        if self._status:
            return
        self._status = status
        with suppress(ConnectionClosed):
            answer = refusal(status, self._detail)
            await self.inside.send(answer.partition(http1.END)[0] + http1.END if self.head.method == "HEAD" else answer)

    async def _forward(self, tasks: anyio.abc.TaskGroup) -> None:
        if self.head.method == "TRACE":
            raise http1.BadHead("TRACE is not forwarded", 405)
        if "websocket" in http1.words(self.head.fields, "upgrade"):
            raise http1.BadHead("websockets are not forwarded; use plain requests", 426)
        url = self.upstream.url(self.head.method, self.head.target)
        if self.head.has_body and self.head.method != "POST":
            # A server that ignores the body would read it as the next request of the connection.
            raise http1.BadHead(f"{self.head.method} with a body is not forwarded")
        fields = self.upstream.fields(self.head)
        await http1.send_continue(self.inside, self.head)
        if not self.head.has_body:
            self._watch_disconnect(tasks)
        body = self._body(tasks) if self.head.has_body else None
        response = await self.client.ask(self.head.method, url, fields, body)
        try:
            await self._answer(response)
        finally:
            with anyio.move_on_after(CLOSING_SECS, shield=True):
                await response.aclose()

    async def _body(self, tasks: anyio.abc.TaskGroup) -> AsyncGenerator[bytes]:
        async with aclosing(http1.body(self.inside, self.head)) as pieces:
            async for piece in pieces:
                self._up += len(piece)
                yield piece
        self._watch_disconnect(tasks)

    def _watch_disconnect(self, tasks: anyio.abc.TaskGroup) -> None:
        """Watch for a disconnect: from now on the agent has nothing else to send."""
        self._is_read = True
        tasks.start_soon(self._cancel_when_closed, tasks.cancel_scope)

    async def _cancel_when_closed(self, scope: anyio.CancelScope) -> None:
        await self.inside.wait_closed()
        self._detail = "the agent closed the connection"
        scope.cancel()

    async def _answer(self, response: "httpx2.Response") -> None:
        secret = Redactor(self.upstream.key)
        codings = {coding.strip().lower() for coding in response.headers.get("content-encoding", "").split(",")} - {""}
        if codings - CODINGS or response.status_code < 200:
            raise Broken("unexpected response: a different encoding or protocol")
        is_plain = not codings - {"identity"}
        framing = self._framing(response, is_plain)
        may_continue = self._is_read and self.head.stays_open and framing is not None
        fields = [*_answer_fields(response, secret, is_plain), *(framing or [])]
        first = f"HTTP/1.1 {response.status_code} {http1.phrase(response.status_code)}"
        self._status = response.status_code
        await self.inside.send(
            http1.head_bytes(first, [*fields, ("connection", "keep-alive" if may_continue else "close")])
        )
        if self._has_body(response):
            await self._stream(_pieces(response, is_plain), secret, chunked=framing == CHUNKED)
        self.may_continue = may_continue

    def _has_body(self, response: "httpx2.Response") -> bool:
        return self.head.method != "HEAD" and response.status_code not in WITHOUT_BODY

    def _framing(self, response: "httpx2.Response", is_plain: bool) -> list[tuple[str, str]] | None:
        """Return the fields by which the agent finds the end of the answer; None: only by the end of the connection."""
        length = response.headers.get("content-length")
        if length is not None and is_plain and response.status_code not in WITHOUT_BODY:
            return [("content-length", length)]
        if not self._has_body(response):
            return []
        return CHUNKED if self.head.minor == 1 else None

    async def _stream(self, pieces: AsyncIterator[bytes], secret: Redactor, chunked: bool) -> None:
        async for piece in pieces:
            await self._send(secret.feed(piece), chunked)
        await self._send(secret.end(), chunked)
        if chunked:
            await self.inside.send(http1.LAST_CHUNK)

    async def _send(self, data: bytes, chunked: bool) -> None:
        if data:  # an empty chunk would be the last one
            self._down += len(data)
            await self.inside.send(http1.chunk(data) if chunked else data)


CHUNKED = [("transfer-encoding", "chunked")]


def refusal(status: int, reason: str) -> bytes:
    """Build an error answer in the format that agents expect from a model, so that they show its message."""
    text = json.dumps({"error": {"type": "donewhen_gateway", "message": f"donewhen: {reason}"}}).encode()
    fields = [("content-type", "application/json"), ("content-length", str(len(text))), ("connection", "close")]
    if status == 426:
        fields.append(("upgrade", "HTTP/1.1"))
    return http1.head_bytes(f"HTTP/1.1 {status} {http1.phrase(status)}", fields) + text


def _answer_fields(response: "httpx2.Response", secret: Redactor, is_plain: bool) -> list[tuple[str, str]]:
    """Return the fields of the answer that the agent gets: without cookies, without the key."""
    read = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw)
    dropped = WITHHELD if is_plain else WITHHELD | {"content-encoding"}
    return [(secret.whole(name), secret.whole(value)) for name, value in http1.end_to_end(read) if name not in dropped]
