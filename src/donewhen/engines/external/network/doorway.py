"""Who is let in at a door: connections accepted one by one, so many at a time, each served by itself.

The listening socket belongs to another network; this side only accepts from it, and closes it when it is done, so that
a door that nobody serves any more refuses. An error that nobody expected ends the door, not just one connection.
"""

import socket
from collections.abc import Awaitable, Callable

import anyio

from donewhen.engines.external.network.stream import Stream
from donewhen.records import frozen

Serve = Callable[[Stream], Awaitable[None]]
RETRY_SECS = 0.05


@frozen(kw_only=True)
class Limits:
    """What one agent may use up at a door. Seconds are for the whole of what they bound."""

    connections: int = 128
    head_secs: float = 20.0
    connect_secs: float = 15.0
    idle_secs: float = 600.0
    """How long a connection may stay open before its next request."""


LIMITS = Limits()


async def attend(listener: socket.socket, serve: Serve, limits: Limits) -> None:
    """Serve until cancelled. More than the allowed number of connections wait in the kernel."""
    places = anyio.Semaphore(limits.connections)

    async def one(connected: socket.socket) -> None:
        try:
            async with Stream(connected) as stream:
                await serve(stream)
        finally:
            places.release()

    with listener:
        listener.setblocking(False)
        async with anyio.create_task_group() as tasks:
            while True:
                await places.acquire()
                tasks.start_soon(one, await _accepted(listener))


async def _accepted(listener: socket.socket) -> socket.socket:
    while True:
        await anyio.wait_readable(listener)
        try:
            return listener.accept()[0]
        except BlockingIOError:
            continue
        except OSError:
            await anyio.sleep(RETRY_SECS)  # whoever it was has gone again, or there are no descriptors left for now
