"""Connection listener: accepts connections up to a limit and serves each one separately.

The listening socket belongs to another network. This side only accepts from it, and closes it at the end, so that an
inner port without a server refuses connections. An unexpected error ends the whole listener, not just one connection.
"""

import socket
from collections.abc import Awaitable, Callable

import anyio

from donewhen.engines.external.network.stream import SocketStream
from donewhen.records import frozen

Serve = Callable[[SocketStream], Awaitable[None]]
RETRY_SECS = 0.05


@frozen(kw_only=True)
class ConnectionLimits:
    """What one agent may use at an inner port. Each time limit covers the whole phase that it limits."""

    connections: int = 128
    head_secs: float = 20.0
    connect_secs: float = 15.0
    idle_secs: float = 600.0
    """How long a connection may stay open before its next request."""


LIMITS = ConnectionLimits()


async def serve_connections(listener: socket.socket, serve: Serve, limits: ConnectionLimits) -> None:
    """Serve until cancelled. Connections above the limit wait in the kernel."""
    places = anyio.Semaphore(limits.connections)

    async def one(connected: socket.socket) -> None:
        try:
            async with SocketStream(connected) as stream:
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
            await anyio.sleep(RETRY_SECS)  # the client has disconnected, or all file descriptors are in use
