"""The gateway: an agent's way to its model. It holds the key; the agent has a stand-in that opens nothing.

Only requests to the model pass (`endpoints`): a key opens more than that. Bodies go through as they come, both ways.
The key is taken out of whatever the endpoint sends back, as it is; in another writing (base64, say) it would not be
recognised. Redirections are passed on and not followed, cookies are kept from both sides, websockets are refused so
that an agent falls back to plain requests.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from donewhen.engines.external.network import heads
from donewhen.engines.external.network.doorway import LIMITS, Limits, attend
from donewhen.engines.external.network.exchange import Exchange, Line, Request, refusal
from donewhen.engines.external.network.stream import Ended, Stream
from donewhen.engines.external.network.upstream import Upstream

Log = Callable[[Request], None]


async def serve_gateway(listener: socket.socket, upstream: Upstream, log: Log, *, limits: Limits = LIMITS) -> None:
    """Serve until cancelled. The listener is closed at the end, and the connections to the endpoint."""
    line = Line(limits.connect_secs)

    async def serve(inside: Stream) -> None:
        await _Caller(inside, upstream, line, limits, log).serve()

    try:
        await attend(listener, serve, limits)
    finally:
        await line.close()


@dataclass(slots=True)
class _Caller:
    """One connection of the agent's: requests one after the other."""

    inside: Stream
    upstream: Upstream
    line: Line
    limits: Limits
    log: Log

    async def serve(self) -> None:
        try:
            while (head := await self._next()) is not None and await self._served(head):
                pass
            await self.inside.part()
        except Ended:
            return

    async def _served(self, head: heads.Head) -> bool:
        """Whether another request may follow."""
        exchange = Exchange(self.inside, self.upstream, self.line, head)
        try:
            await exchange.serve()
        finally:
            self.log(exchange.record())
        return exchange.may_go_on

    async def _next(self) -> heads.Head | None:
        """The next request; None when there is none, or none that can be understood."""
        with anyio.move_on_after(self.limits.idle_secs) as waiting:
            self.inside.put_back(await self.inside.receive())
        if waiting.cancelled_caught:
            return None
        try:
            return await self._head()
        except heads.BadHead as error:
            self.log(Request(method="", path="", status=error.status, detail=str(error)))
            await self.inside.send(refusal(error.status, str(error)))
        return None

    async def _head(self) -> heads.Head:
        with anyio.move_on_after(self.limits.head_secs):
            data = await self.inside.receive_until(heads.END, heads.LARGEST)
            if data is None:
                raise heads.BadHead("a head that is too long", 431)
            return heads.request(data)
        raise heads.BadHead("no request within the time for it", 408)
