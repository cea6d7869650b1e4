"""One HTTP request and the events of its answer, under four time limits. There are no retries here.

`connect` limits the connection, `first_event` the wait for the first event, `silence` the gap between two meaningful
events (a ping is not one), and `total` the whole request. The HTTP library is loaded with the first request.
"""

import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel

from donewhen import __version__
from donewhen.model.clock import Clock
from donewhen.model.deadlines import Deadlines
from donewhen.model.request_error import RequestError, classify_response
from donewhen.model.sse import BrokenStream, Events, ServerEvent
from donewhen.records import frozen

if TYPE_CHECKING:
    import httpx2

LARGEST_ERROR_BODY = 64 * 1024
LARGEST_ANSWER = 64 * 1024 * 1024
DRAIN_SECS = 0.2
"""How long to read on after a complete answer, so that its connection can be reused."""


@frozen
class HttpRequest:
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Listener(Protocol):
    """Builds an answer from events."""

    @property
    def done(self) -> bool:
        """True once the end of the answer was received; later events are ignored."""
        ...

    def receive(self, event: ServerEvent) -> bool:
        """Process an event. Return True if it is meaningful; a ping is not. Raise `RequestError` or `BrokenStream`."""
        ...


class _AnswerReader:
    """Passes the events of one answer to a listener and enforces the limits on gaps between them."""

    def __init__(self, listener: Listener, deadlines: Deadlines) -> None:
        self.listener = listener
        self.watch = anyio.CancelScope(deadline=anyio.current_time() + deadlines.first_event)
        self.has_begun = False
        self._silence = deadlines.silence
        self._events = Events()
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        is_meaningful = False
        self._size += len(chunk)
        if self._size > LARGEST_ANSWER:
            raise BrokenStream(f"a response of more than {LARGEST_ANSWER} bytes")
        for event in self._events.feed(chunk):
            is_meaningful = self.listener.receive(event) or is_meaningful
            if self.listener.done:
                break
        if is_meaningful:
            self.has_begun = True
            self.watch.deadline = anyio.current_time() + self._silence


@dataclass(slots=True)
class Transport:
    deadlines: Deadlines
    clock: Clock
    _client: "httpx2.AsyncClient | None" = field(default=None, init=False, repr=False)
    _loop: object = field(default=None, init=False, repr=False)

    async def ask(self, request: HttpRequest, listener: Listener) -> None:
        """Send the request and pass the complete answer to the listener, or raise `RequestError`."""
        limits, reader = self.deadlines, _AnswerReader(listener, self.deadlines)
        with anyio.move_on_after(limits.total) as total, reader.watch, _as_request_errors(request.url):
            await self._exchange(request, reader)
        if total.cancelled_caught:
            raise RequestError(f"the response took longer than {limits.total:g} seconds", "timeout", retry=True)
        if reader.watch.cancelled_caught and reader.has_begun:
            raise RequestError(f"the response stopped for {limits.silence:g} seconds", "timeout", retry=True)
        if reader.watch.cancelled_caught:
            raise RequestError(f"no response started within {limits.first_event:g} seconds", "timeout", retry=True)

    async def _exchange(self, request: HttpRequest, reader: _AnswerReader) -> None:
        client = self._open_client(request.url)
        async with client.stream("POST", request.url, headers=request.headers, content=request.body) as response:
            if response.status_code != 200:
                body = await _read_start(response)
                raise classify_response(response.status_code, response.headers, body, self.clock.now())
            chunks = response.aiter_bytes()
            async for chunk in chunks:
                reader.feed(chunk)
                if reader.listener.done:
                    break
            with anyio.move_on_after(DRAIN_SECS):
                async for _ in chunks:
                    pass

    def _open_client(self, url: str) -> "httpx2.AsyncClient":
        """Return the client of all turns. A different event loop gets a new one: connections belong to one loop."""
        loop = anyio.lowlevel.current_token()
        if self._client is None or self._loop != loop:
            import httpx2

            timeout = httpx2.Timeout(None, connect=self.deadlines.connect)
            # Loading the certificates of this machine takes longer than several turns; plain http needs none.
            verify = True if url.lower().startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            headers = {"user-agent": f"donewhen/{__version__}", "accept-encoding": "identity"}
            self._client, self._loop = httpx2.AsyncClient(timeout=timeout, verify=verify, headers=headers), loop
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop == anyio.lowlevel.current_token():
            await client.aclose()


async def _read_start(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ERROR_BODY:
            break
    return bytes(body)


@contextmanager
def _as_request_errors(url: str) -> Generator[None]:
    """Convert every network error into a `RequestError`."""
    import httpx2

    try:
        yield
    except BrokenStream as error:
        raise RequestError(f"the response is broken: {error}", "malformed", retry=True) from error
    except httpx2.ConnectTimeout as error:
        message = f"no connection to {_host(url)} in time"
        raise RequestError(message, "timeout", retry=True) from error
    except httpx2.ProxyError as error:
        raise RequestError(f"the proxy rejected it: {error}", "proxy") from error
    except httpx2.ConnectError as error:
        certificate = _is_about_certificates(error)
        message = f"no connection to {_host(url)}: {error}"
        raise RequestError(message, "tls" if certificate else "network", retry=not certificate) from error
    except httpx2.DecodingError as error:
        raise RequestError(f"the response is broken: {error}", "malformed", retry=True) from error
    except httpx2.TransportError as error:
        raise RequestError(f"the connection broke: {error or type(error).__name__}", "network", retry=True) from error


def host_and_path(url: str) -> str:
    """Return an address that is safe to show: without the password and the key that it may contain."""
    return _host(url) + urlsplit(url).path


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _is_about_certificates(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
