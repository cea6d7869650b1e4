"""One request over HTTP and the events of its answer, under four deadlines. Asks once: retries are not made here.

`connect` bounds the connection, `first_event` the wait for the first event, `silence` the gap between two events that
mean something (a ping does not), `total` all of it. The library is loaded with the first request.
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
from donewhen.model.limits import Deadlines
from donewhen.model.outside import Outside
from donewhen.model.setback import Setback, of_response
from donewhen.model.sse import BrokenStream, Events, ServerEvent
from donewhen.records import frozen

if TYPE_CHECKING:
    import httpx2

LARGEST_ERROR_BODY = 64 * 1024
LARGEST_ANSWER = 64 * 1024 * 1024
DRAIN_SECS = 0.2
"""How long to wait for the end of an answer that is complete, so that its connection can be used again."""


@frozen
class Request:
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


class Listener(Protocol):
    """What makes an answer out of events."""

    @property
    def done(self) -> bool:
        """Whether the answer's own end was heard; what comes after it is not listened to."""
        ...

    def hear(self, event: ServerEvent) -> bool:
        """Whether the event meant anything; a ping does not. Raises `Setback` or `BrokenStream`."""
        ...


class _Hearing:
    """The events of one answer on their way to a listener, and the watch over their gaps."""

    def __init__(self, listener: Listener, deadlines: Deadlines) -> None:
        self.listener = listener
        self.watch = anyio.CancelScope(deadline=anyio.current_time() + deadlines.first_event)
        self.began = False
        self._silence = deadlines.silence
        self._events = Events()
        self._size = 0

    def take(self, chunk: bytes) -> None:
        meant = False
        self._size += len(chunk)
        if self._size > LARGEST_ANSWER:
            raise BrokenStream(f"an answer of more than {LARGEST_ANSWER} bytes")
        for event in self._events.feed(chunk):
            meant = self.listener.hear(event) or meant
            if self.listener.done:
                break
        if meant:
            self.began = True
            self.watch.deadline = anyio.current_time() + self._silence


@dataclass(slots=True)
class Transport:
    deadlines: Deadlines
    outside: Outside
    _client: "httpx2.AsyncClient | None" = field(default=None, init=False, repr=False)
    _loop: object = field(default=None, init=False, repr=False)

    async def ask(self, request: Request, listener: Listener) -> None:
        """Let the listener hear the answer to its end, or raise `Setback`."""
        limits, hearing = self.deadlines, _Hearing(listener, self.deadlines)
        with anyio.move_on_after(limits.total) as total, hearing.watch, _setbacks(request.url):
            await self._exchange(request, hearing)
        if total.cancelled_caught:
            raise Setback(f"the answer took longer than {limits.total:g} seconds", "timeout", retry=True)
        if hearing.watch.cancelled_caught and hearing.began:
            raise Setback(f"the answer stopped for {limits.silence:g} seconds", "timeout", retry=True)
        if hearing.watch.cancelled_caught:
            raise Setback(f"no answer began within {limits.first_event:g} seconds", "timeout", retry=True)

    async def _exchange(self, request: Request, hearing: _Hearing) -> None:
        client = self._opened(request.url)
        async with client.stream("POST", request.url, headers=request.headers, content=request.body) as response:
            if response.status_code != 200:
                body = await _start_of(response)
                raise of_response(response.status_code, response.headers, body, self.outside.now())
            chunks = response.aiter_bytes()
            async for chunk in chunks:
                hearing.take(chunk)
                if hearing.listener.done:
                    break
            with anyio.move_on_after(DRAIN_SECS):
                async for _ in chunks:
                    pass

    def _opened(self, url: str) -> "httpx2.AsyncClient":
        """One client for all turns; another when the event loop is another, to which its connections do not belong."""
        loop = anyio.lowlevel.current_token()
        if self._client is None or self._loop != loop:
            import httpx2

            timeout = httpx2.Timeout(None, connect=self.deadlines.connect)
            # The certificates of this machine cost more to load than several turns; a plain address needs none.
            verify = True if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            headers = {"user-agent": f"donewhen/{__version__}", "accept-encoding": "identity"}
            self._client, self._loop = httpx2.AsyncClient(timeout=timeout, verify=verify, headers=headers), loop
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop == anyio.lowlevel.current_token():
            await client.aclose()


async def _start_of(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ERROR_BODY:
            break
    return bytes(body)


@contextmanager
def _setbacks(url: str) -> Generator[None]:
    """Whatever can go wrong between here and the server, as a setback."""
    import httpx2

    try:
        yield
    except BrokenStream as error:
        raise Setback(f"the answer is broken: {error}", "malformed", retry=True) from error
    except httpx2.ConnectTimeout as error:
        told = f"no connection to {_host(url)} within the time for it"
        raise Setback(told, "timeout", retry=True) from error
    except httpx2.ProxyError as error:
        raise Setback(f"the proxy refused: {error}", "proxy") from error
    except httpx2.ConnectError as error:
        certificate = _is_about_certificates(error)
        told = f"no connection to {_host(url)}: {error}"
        raise Setback(told, "tls" if certificate else "network", retry=not certificate) from error
    except httpx2.DecodingError as error:
        raise Setback(f"the answer is broken: {error}", "malformed", retry=True) from error
    except httpx2.TransportError as error:
        raise Setback(f"the connection broke: {error or type(error).__name__}", "network", retry=True) from error


def host_and_path(url: str) -> str:
    """An address as it may be shown: without the password and without the key that it may hold."""
    return _host(url) + urlsplit(url).path


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _is_about_certificates(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
