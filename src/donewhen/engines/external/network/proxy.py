"""Proxy: the only route from an agent's private network to hosts by name. HTTP/1.1, by CONNECT or unencrypted.

A tunnel carries TLS for exactly the host that was asked for; only an endpoint that the rules name exactly may carry
something else, and not on port 443. An unencrypted request goes to exactly the host of its URL, one per connection, and
only reads, unless the rules allow writes. The content of TLS is not visible here. So an allowed host can be written to,
and can itself serve other names over a connection made for one (encrypted client hello, a `Host` field inside). SOCKS
is not supported.
"""

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from typing import Literal

import anyio

from donewhen.engines.external.network import client_hello, http1
from donewhen.engines.external.network.dial import OUTSIDE, Dialer
from donewhen.engines.external.network.hosts import HostDecision, NoHost, Rules, canonical, is_address, split_port
from donewhen.engines.external.network.listener import LIMITS, ConnectionLimits, attend
from donewhen.engines.external.network.stream import ConnectionClosed, SocketStream, join
from donewhen.records import frozen

READING = ("GET", "HEAD")
TLS_PORT = 443
ABSOLUTE = re.compile(r"http://([^/?#]*)((?:/[^#]*|\?[^#]*)?)", re.IGNORECASE)
LONGEST_LOGGED = 400
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@frozen(kw_only=True)
class ConnectionLog:
    """Result of one connection, recorded when it is over."""

    request: str
    """`CONNECT`, or the method and URL of an unencrypted request, without its query."""
    host: str
    port: int
    address: str
    """The address that was dialled; empty if none was."""
    verdict: Literal["allowed", "refused", "failed"]
    """`failed`: it would have been allowed, but the host could not be reached, or there was no request."""
    reason: str
    bytes_up: int
    bytes_down: int
    duration_ms: int


class _Turned(Exception):
    """Ends a connection, with an answer for the agent and a reason for the log."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def serve_proxy(
    listener: socket.socket,
    rules: Rules,
    log: Callable[[ConnectionLog], None],
    *,
    outside: Dialer = OUTSIDE,
    limits: ConnectionLimits = LIMITS,
) -> None:
    """Serve until cancelled. The listener is closed at the end. What the rules do not allow is refused."""

    async def serve(inside: SocketStream) -> None:
        visit = _Visit(inside, rules, outside, limits)
        try:
            await visit.serve()
        finally:
            log(visit.record())

    await attend(listener, serve, limits)


@dataclass(slots=True)
class _Visit:
    """One connection of the agent, from its first byte to its last."""

    inside: SocketStream
    rules: Rules
    outside: Dialer
    limits: ConnectionLimits
    _began: float = field(default_factory=monotonic, init=False)
    _request: str = field(default="", init=False)
    _where: tuple[str, int, str] = field(default=("", 0, ""), init=False)
    _ended: tuple[Literal["allowed", "refused", "failed"], str] = field(default=("failed", "no request"), init=False)
    _beyond: SocketStream | None = field(default=None, init=False)

    def record(self) -> ConnectionLog:
        host, port, address = self._where
        return ConnectionLog(
            request=self._request[:LONGEST_LOGGED],
            host=host,
            port=port,
            address=address,
            verdict=self._ended[0],
            reason=self._ended[1],
            bytes_up=self._beyond.sent if self._beyond else 0,
            bytes_down=self._beyond.received if self._beyond else 0,
            duration_ms=round((monotonic() - self._began) * 1000),
        )

    async def serve(self) -> None:
        try:
            head = await self._head()
            self._ended = ("failed", "the agent closed the connection first")
            await (self._tunnel(head) if head.method == "CONNECT" else self._forward(head))
        except (http1.BadHead, NoHost) as error:
            await self._turn_away(_Turned(getattr(error, "status", 400), str(error)))
        except _Turned as turned:
            await self._turn_away(turned)
        except ConnectionClosed:
            return

    async def _turn_away(self, turned: _Turned) -> None:
        self._ended = ("failed" if turned.status >= 500 else "refused", str(turned))
        text = f"donewhen: {turned}\n".encode()
        fields = [("content-type", "text/plain"), ("content-length", str(len(text))), ("connection", "close")]
        head = http1.written(f"HTTP/1.1 {turned.status} {http1.phrase(turned.status)}", fields)
        try:
            await self.inside.send(head + text)
        except ConnectionClosed:
            return
        await self.inside.part()

    async def _head(self) -> http1.RequestHead:
        with anyio.move_on_after(self.limits.head_secs):
            data = await self.inside.receive_until(http1.END, http1.LARGEST)
            if data is None:
                raise _Turned(431, "request head too long")
            return http1.request(data)
        raise _Turned(408, "no request in time")

    # -- a tunnel --

    async def _tunnel(self, head: http1.RequestHead) -> None:
        self._request = head.method
        host, port = split_port(head.target)
        if head.has_body:
            raise _Turned(400, "CONNECT with a body")
        verdict = self._judged(host, port)
        async with await self._reached(host, port, verdict) as beyond:
            await self.inside.send(ESTABLISHED)
            if port == TLS_PORT or not verdict.private:
                await self._same_name(host)
            self._ended = ("allowed", verdict.reason)
            await join(self.inside, beyond)

    async def _same_name(self, host: str) -> None:
        """Forward nothing before the agent has stated, in TLS, the host that it was allowed to reach."""
        try:
            name = await self._server_name()
        except client_hello.NotTls as error:
            raise _Turned(403, f"only TLS may go through a tunnel to {host}: {error}") from None
        if not name and is_address(host):
            return
        try:
            same = canonical(name) == host
        except NoHost:
            same = False
        if not same:
            self._ended = ("refused", f"TLS for a host other than {host}")
            await self.inside.send(client_hello.ACCESS_DENIED)
            await self.inside.part()
            raise ConnectionClosed

    async def _server_name(self) -> str:
        said = b""
        with anyio.move_on_after(self.limits.head_secs):
            while (name := client_hello.server_name(said)) is None:
                piece = await self.inside.receive()
                if not piece:
                    raise client_hello.NotTls("it closed the connection first")
                said += piece
            self.inside.put_back(said)
            return name
        raise client_hello.NotTls("it sends nothing")

    # -- an unencrypted request --

    async def _forward(self, head: http1.RequestHead) -> None:
        found = ABSOLUTE.fullmatch(head.target)
        if found is None:
            raise _Turned(400, "this is a proxy: send CONNECT HOST:PORT, or a complete http:// address")
        host, port = split_port(found[1], 80)
        path = found[2] if found[2].startswith("/") else f"/{found[2]}"
        self._request = f"{head.method} http://{found[1]}{path.partition('?')[0]}"
        if head.values("host") and split_port(head.values("host")[0], 80) != (host, port):
            raise _Turned(400, "the Host header does not match the address")
        verdict = self._judged(host, port)
        if not verdict.writes and (head.method not in READING or head.has_body):
            raise _Turned(403, f"{host} is read-only: {head.method} is not forwarded")
        async with await self._reached(host, port, verdict) as beyond:
            self._ended = ("allowed", verdict.reason)
            await self._ask(head, found[1], path, beyond)
            await self._answer(beyond)

    async def _ask(self, head: http1.RequestHead, authority: str, path: str, beyond: SocketStream) -> None:
        passed = [(name, value) for name, value in http1.end_to_end(head.fields) if name != "host"]
        framing = [("transfer-encoding", "chunked")] if head.length is None else []
        fields = [("host", authority), *passed, *framing, ("connection", "close")]
        await http1.invite(self.inside, head)
        try:
            await beyond.send(http1.written(f"{head.method} {path} HTTP/1.1", fields))
            async for piece in http1.body(self.inside, head):
                await beyond.send(http1.chunk(piece) if head.length is None else piece)
            if head.length is None:
                await beyond.send(http1.LAST_CHUNK)
        except ConnectionClosed:
            return  # closed by a host that needs no more and may have answered, or by the agent, which is gone

    async def _answer(self, beyond: SocketStream) -> None:
        """Pass on any answer as the last one of this connection: what the agent sends after it is not forwarded."""
        status, fields = await _status_from(beyond)
        while status < 200:
            status, fields = await _status_from(beyond)
        framing = [(name, value) for name, value in fields if name == "transfer-encoding"]
        fields = [*http1.end_to_end(fields), *framing, ("connection", "close")]
        await self.inside.send(http1.written(f"HTTP/1.1 {status} {http1.phrase(status)}", fields))
        while data := await beyond.receive():
            await self.inside.send(data)
        await self.inside.part()

    # -- both --

    def _judged(self, host: str, port: int) -> HostDecision:
        self._where = (host, port, "")
        verdict = self.rules.verdict(host, port)
        if not verdict.allowed:
            raise _Turned(403, verdict.reason)
        return verdict

    async def _reached(self, host: str, port: int, verdict: HostDecision) -> SocketStream:
        with anyio.move_on_after(self.limits.connect_secs):
            addresses = [host] if is_address(host) else await self._resolved(host, port)
            for address in addresses:
                reason = "" if verdict.private else self.outside.refusal(address)
                if reason:
                    raise _Turned(403, f"{host} has the address {address}: {reason}")
            return await self._dialled(addresses, host, port)
        raise _Turned(504, f"{host} does not answer")

    async def _resolved(self, host: str, port: int) -> list[str]:
        try:
            return [str(ip_address(one)) for one in await self.outside.resolve(host, port)]
        except (OSError, ValueError):
            raise _Turned(502, f"{host} has no address") from None

    async def _dialled(self, addresses: list[str], host: str, port: int) -> SocketStream:
        """Connect to the first address that answers; each one gets its share of the time."""
        why = "it has no address"
        for address in addresses:
            try:
                with anyio.fail_after(self.limits.connect_secs / len(addresses)):
                    made = await self.outside.dial(address, port)
            except (OSError, TimeoutError) as error:
                why = str(error) or "no answer"
                continue
            self._where = (host, port, address)
            self._beyond = SocketStream(made)
            return self._beyond
        raise _Turned(502, f"{host} cannot be reached: {why}")


async def _status_from(beyond: SocketStream) -> tuple[int, http1.Fields]:
    try:
        data = await beyond.receive_until(http1.END, http1.LARGEST)
        return http1.status(data or b"")
    except ConnectionClosed:
        raise _Turned(502, "no answer") from None
    except http1.BadHead as error:
        raise _Turned(502, f"invalid response: {error}") from None
