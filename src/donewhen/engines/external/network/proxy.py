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
from donewhen.engines.external.network.dial import DIALER, Dialer
from donewhen.engines.external.network.hosts import HostDecision, NoHost, Rules, canonical, is_address, split_port
from donewhen.engines.external.network.listener import LIMITS, ConnectionLimits, serve_connections
from donewhen.engines.external.network.stream import ConnectionClosed, SocketStream, copy_both_ways
from donewhen.records import frozen

READ_METHODS = ("GET", "HEAD")
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


class _Rejected(Exception):
    """Ends a connection, with an answer for the agent and a reason for the log."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


async def serve_proxy(
    listener: socket.socket,
    rules: Rules,
    log: Callable[[ConnectionLog], None],
    *,
    dialer: Dialer = DIALER,
    limits: ConnectionLimits = LIMITS,
) -> None:
    """Serve until cancelled. The listener is closed at the end. What the rules do not allow is refused."""

    async def serve(inside: SocketStream) -> None:
        connection = _ProxyConnection(inside, rules, dialer, limits)
        try:
            await connection.serve()
        finally:
            log(connection.record())

    await serve_connections(listener, serve, limits)


@dataclass(slots=True)
class _ProxyConnection:
    """One connection of the agent, from its first byte to its last."""

    inside: SocketStream
    rules: Rules
    dialer: Dialer
    limits: ConnectionLimits
    _began: float = field(default_factory=monotonic, init=False)
    _request: str = field(default="", init=False)
    _target: tuple[str, int, str] = field(default=("", 0, ""), init=False)
    _result: tuple[Literal["allowed", "refused", "failed"], str] = field(default=("failed", "no request"), init=False)
    _remote: SocketStream | None = field(default=None, init=False)

    def record(self) -> ConnectionLog:
        host, port, address = self._target
        return ConnectionLog(
            request=self._request[:LONGEST_LOGGED],
            host=host,
            port=port,
            address=address,
            verdict=self._result[0],
            reason=self._result[1],
            bytes_up=self._remote.sent if self._remote else 0,
            bytes_down=self._remote.received if self._remote else 0,
            duration_ms=round((monotonic() - self._began) * 1000),
        )

    async def serve(self) -> None:
        try:
            head = await self._head()
            self._result = ("failed", "the agent closed the connection first")
            await (self._tunnel(head) if head.method == "CONNECT" else self._forward(head))
        except (http1.BadHead, NoHost) as error:
            await self._reject(_Rejected(getattr(error, "status", 400), str(error)))
        except _Rejected as rejected:
            await self._reject(rejected)
        except ConnectionClosed:
            return

    async def _reject(self, rejected: _Rejected) -> None:
        self._result = ("failed" if rejected.status >= 500 else "refused", str(rejected))
        text = f"donewhen: {rejected}\n".encode()
        fields = [("content-type", "text/plain"), ("content-length", str(len(text))), ("connection", "close")]
        head = http1.head_bytes(f"HTTP/1.1 {rejected.status} {http1.phrase(rejected.status)}", fields)
        try:
            await self.inside.send(head + text)
        except ConnectionClosed:
            return
        await self.inside.finish()

    async def _head(self) -> http1.RequestHead:
        with anyio.move_on_after(self.limits.head_secs):
            data = await self.inside.receive_until(http1.END, http1.LARGEST)
            if data is None:
                raise _Rejected(431, "request head too long")
            return http1.request(data)
        raise _Rejected(408, "no request in time")

    # -- a tunnel --

    async def _tunnel(self, head: http1.RequestHead) -> None:
        self._request = head.method
        host, port = split_port(head.target)
        if head.has_body:
            raise _Rejected(400, "CONNECT with a body")
        decision = self._decide(host, port)
        async with await self._connect(host, port, decision) as remote:
            await self.inside.send(ESTABLISHED)
            if port == TLS_PORT or not decision.private:
                await self._check_server_name(host)
            self._result = ("allowed", decision.reason)
            await copy_both_ways(self.inside, remote)

    async def _check_server_name(self, host: str) -> None:
        """Forward nothing before the agent has stated, in TLS, the host that it was allowed to reach."""
        try:
            name = await self._server_name()
        except client_hello.NotTls as error:
            raise _Rejected(403, f"only TLS may go through a tunnel to {host}: {error}") from None
        if not name and is_address(host):
            return
        try:
            is_same = canonical(name) == host
        except NoHost:
            is_same = False
        if not is_same:
            self._result = ("refused", f"TLS for a host other than {host}")
            await self.inside.send(client_hello.ACCESS_DENIED)
            await self.inside.finish()
            raise ConnectionClosed

    async def _server_name(self) -> str:
        data = b""
        with anyio.move_on_after(self.limits.head_secs):
            while (name := client_hello.server_name(data)) is None:
                piece = await self.inside.receive()
                if not piece:
                    raise client_hello.NotTls("it closed the connection first")
                data += piece
            self.inside.put_back(data)
            return name
        raise client_hello.NotTls("it sends nothing")

    # -- an unencrypted request --

    async def _forward(self, head: http1.RequestHead) -> None:
        found = ABSOLUTE.fullmatch(head.target)
        if found is None:
            raise _Rejected(400, "this is a proxy: send CONNECT HOST:PORT, or a complete http:// address")
        host, port = split_port(found[1], 80)
        path = found[2] if found[2].startswith("/") else f"/{found[2]}"
        self._request = f"{head.method} http://{found[1]}{path.partition('?')[0]}"
        if head.values("host") and split_port(head.values("host")[0], 80) != (host, port):
            raise _Rejected(400, "the Host header does not match the address")
        decision = self._decide(host, port)
        if not decision.writes and (head.method not in READ_METHODS or head.has_body):
            raise _Rejected(403, f"{host} is read-only: {head.method} is not forwarded")
        async with await self._connect(host, port, decision) as remote:
            self._result = ("allowed", decision.reason)
            await self._ask(head, found[1], path, remote)
            await self._answer(remote)

    async def _ask(self, head: http1.RequestHead, authority: str, path: str, remote: SocketStream) -> None:
        fields_passed = [(name, value) for name, value in http1.end_to_end(head.fields) if name != "host"]
        framing = [("transfer-encoding", "chunked")] if head.length is None else []
        fields = [("host", authority), *fields_passed, *framing, ("connection", "close")]
        await http1.send_continue(self.inside, head)
        try:
            await remote.send(http1.head_bytes(f"{head.method} {path} HTTP/1.1", fields))
            async for piece in http1.body(self.inside, head):
                await remote.send(http1.chunk(piece) if head.length is None else piece)
            if head.length is None:
                await remote.send(http1.LAST_CHUNK)
        except ConnectionClosed:
            return  # the host needs no more and may have answered, or the agent has disconnected

    async def _answer(self, remote: SocketStream) -> None:
        """Pass on any answer as the last one of this connection: what the agent sends after it is not forwarded."""
        status, fields = await _status_from(remote)
        while status < 200:
            status, fields = await _status_from(remote)
        framing = [(name, value) for name, value in fields if name == "transfer-encoding"]
        fields = [*http1.end_to_end(fields), *framing, ("connection", "close")]
        await self.inside.send(http1.head_bytes(f"HTTP/1.1 {status} {http1.phrase(status)}", fields))
        while data := await remote.receive():
            await self.inside.send(data)
        await self.inside.finish()

    # -- both --

    def _decide(self, host: str, port: int) -> HostDecision:
        self._target = (host, port, "")
        decision = self.rules.decide(host, port)
        if not decision.allowed:
            raise _Rejected(403, decision.reason)
        return decision

    async def _connect(self, host: str, port: int, decision: HostDecision) -> SocketStream:
        with anyio.move_on_after(self.limits.connect_secs):
            addresses = [host] if is_address(host) else await self._resolve(host, port)
            for address in addresses:
                reason = "" if decision.private else self.dialer.refusal(address)
                if reason:
                    raise _Rejected(403, f"{host} has the address {address}: {reason}")
            return await self._dial_first(addresses, host, port)
        raise _Rejected(504, f"{host} does not answer")

    async def _resolve(self, host: str, port: int) -> list[str]:
        try:
            return [str(ip_address(one)) for one in await self.dialer.resolve(host, port)]
        except (OSError, ValueError):
            raise _Rejected(502, f"{host} has no address") from None

    async def _dial_first(self, addresses: list[str], host: str, port: int) -> SocketStream:
        """Connect to the first address that answers; each one gets its share of the time."""
        why = "it has no address"
        for address in addresses:
            try:
                with anyio.fail_after(self.limits.connect_secs / len(addresses)):
                    connected = await self.dialer.dial(address, port)
            except (OSError, TimeoutError) as error:
                why = str(error) or "no answer"
                continue
            self._target = (host, port, address)
            self._remote = SocketStream(connected)
            return self._remote
        raise _Rejected(502, f"{host} cannot be reached: {why}")


async def _status_from(remote: SocketStream) -> tuple[int, http1.Fields]:
    try:
        data = await remote.receive_until(http1.END, http1.LARGEST)
        return http1.status(data or b"")
    except ConnectionClosed:
        raise _Rejected(502, "no answer") from None
    except http1.BadHead as error:
        raise _Rejected(502, f"invalid response: {error}") from None
