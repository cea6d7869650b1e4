"""Gateway: an agent's route to its model. It holds the key; the agent has a stand-in that grants no access.

Only requests to the model pass (`endpoints`): a key grants access to more than that. Bodies are passed on as they
arrive, both ways. The key is removed from whatever the endpoint sends back, in its literal form only; in another
encoding (such as base64) it would not be recognised. Redirects are passed on and not followed, cookies are withheld
from both sides, websockets are refused so that an agent falls back to plain requests.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from donewhen.engines.external.network import http1
from donewhen.engines.external.network.gateway_request import EndpointClient, GatewayRequest, RequestLog, refusal
from donewhen.engines.external.network.listener import LIMITS, ConnectionLimits, serve_connections
from donewhen.engines.external.network.stream import ConnectionClosed, SocketStream
from donewhen.engines.external.network.upstream import Upstream

Log = Callable[[RequestLog], None]


async def serve_gateway(
    listener: socket.socket, upstream: Upstream, log: Log, *, limits: ConnectionLimits = LIMITS
) -> None:
    """Serve until cancelled. At the end the listener and the connections to the endpoint are closed."""
    client = EndpointClient(limits.connect_secs)

    async def serve(inside: SocketStream) -> None:
        await _AgentConnection(inside, upstream, client, limits, log).serve()

    try:
        await serve_connections(listener, serve, limits)
    finally:
        await client.close()


@dataclass(slots=True)
class _AgentConnection:
    """One connection of the agent: requests one after the other."""

    inside: SocketStream
    upstream: Upstream
    client: EndpointClient
    limits: ConnectionLimits
    log: Log

    async def serve(self) -> None:
        try:
            while (head := await self._next()) is not None and await self._serve_request(head):
                pass
            await self.inside.finish()
        except ConnectionClosed:
            return

    async def _serve_request(self, head: http1.RequestHead) -> bool:
        """Serve one request; return True if another may follow."""
        request = GatewayRequest(self.inside, self.upstream, self.client, head)
        try:
            await request.serve()
        finally:
            self.log(request.record())
        return request.may_continue

    async def _next(self) -> http1.RequestHead | None:
        """Return the next request; None if there is none, or none that is valid."""
        with anyio.move_on_after(self.limits.idle_secs) as waiting:
            self.inside.put_back(await self.inside.receive())
        if waiting.cancelled_caught:
            return None
        try:
            return await self._head()
        except http1.BadHead as error:
            self.log(RequestLog(method="", path="", status=error.status, detail=str(error)))
            await self.inside.send(refusal(error.status, str(error)))
        return None

    async def _head(self) -> http1.RequestHead:
        with anyio.move_on_after(self.limits.head_secs):
            data = await self.inside.receive_until(http1.END, http1.LARGEST)
            if data is None:
                raise http1.BadHead("request head too long", 431)
            return http1.request(data)
        raise http1.BadHead("no request in time", 408)
