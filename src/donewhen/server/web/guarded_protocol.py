"""The connections of the web side: how many there may be, and how long a client may take, with or without a token.

uvicorn reads HTTP and WebSocket. It has no limit on the time that a head or a body takes, and none on connections that
send nothing. These subclasses add both.
"""

import asyncio
import ipaddress
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from donewhen.server.rpc.rate import Rate
from donewhen.server.web.access_log import AccessLog
from donewhen.server.web.options import WebOptions
from donewhen.server.web.peer_user import Address, UserCheck

FOREIGN_USER = (
    b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 36\r\n\r\n"
    b"this daemon belongs to another user\n"
)
LINES_PER_SECOND, LINES_BURST = 1.0, 20.0


class ConnectionGate:
    """Counts the connections of one server, and looks at whose they are."""

    def __init__(self, options: WebOptions, log: AccessLog) -> None:
        self.limits = options.limits
        self.has_deadlines = options.defences.deadlines
        self._has_limits = options.defences.connections
        self._waiting: dict[GuardedHttp, None] = {}
        self._users = UserCheck() if options.defences.user else None
        self._log = log
        self._lines = Rate(LINES_PER_SECOND, LINES_BURST)

    def is_foreign(self, peer: Address | None, own: tuple[str, int | None] | None) -> bool:
        """Return True for a connection to a loopback address that is not of this user."""
        if self._users is None or peer is None or own is None or own[1] is None:
            return False
        if not ipaddress.ip_address(own[0]).is_loopback:
            return False  # other machines may connect
        try:
            is_foreign = self._users.is_foreign(peer, (own[0], own[1]))
        except OSError:
            is_foreign = True
        if is_foreign and self._lines.take():
            self._log.write(peer[0], "refused: a connection of another user, or one that its process has left")
        return is_foreign

    def arrived(self, connection: "GuardedHttp", connections: int) -> None:
        """Let a connection wait for its head. Close the one that has waited longest if there are too many."""
        self._waiting[connection] = None
        if self._has_limits and (connections > self.limits.connections or len(self._waiting) > self.limits.waiting):
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.transport.abort()

    def head_is_complete(self, connection: "GuardedHttp") -> None:
        self._waiting.pop(connection, None)


class GuardedHttp(H11Protocol):
    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any], gate: ConnectionGate
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._gate = gate
        self._timer: asyncio.TimerHandle | None = None
        self._waits_for = ""
        self._is_foreign = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - uvicorn narrows it too
        super().connection_made(transport)
        self._is_foreign = self._gate.is_foreign(self.client, self.server)
        if self._is_foreign:
            transport.write(FOREIGN_USER)
            if transport.can_write_eof():
                transport.write_eof()  # closing at once would take the answer back if the client is still sending
            else:
                transport.close()
        self.app_state = {**self.app_state, "abort": transport.abort}
        self._wait_for("head", self._gate.limits.head_secs)
        self._gate.arrived(self, len(self.connections))

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_and_body_are_complete()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_foreign:
            return
        super().data_received(data)
        if self.transport.get_protocol() is not self:
            return  # it is a WebSocket now
        if self.conn.their_state is h11.IDLE:
            self._wait_for("head", self._gate.limits.head_secs)
        elif self.conn.their_state is h11.SEND_BODY:
            self._gate.head_is_complete(self)
            self._wait_for("body", self._gate.limits.body_secs)
        else:
            self._head_and_body_are_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._head_and_body_are_complete()
        super().handle_websocket_upgrade(event)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._timer = self.loop.call_later(self._gate.limits.unread_secs, self.transport.abort)

    def _wait_for(self, what: str, secs: float) -> None:
        if self._waits_for == what or self.transport.is_closing() or not self._gate.has_deadlines:
            return
        self._stop_timer()
        self._waits_for = what
        self._timer = self.loop.call_later(secs, self.transport.abort)

    def _head_and_body_are_complete(self) -> None:
        self._gate.head_is_complete(self)
        self._stop_timer()

    def _stop_timer(self) -> None:
        self._waits_for = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class GuardedWebSocket(WebSocketsSansIOProtocol):
    """Lets the application cut off a client that reads nothing: closing would wait for it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.app_state = {**self.app_state, "abort": self.transport.abort}
