"""The unix socket of the daemon: one JSON text per line, for programs of the same user.

The socket is in a directory that only its owner can enter, has the mode 0600, and the user of every peer is checked.
"""

import contextlib
import socket
import stat
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream

from donewhen.server.rpc.bounded_json import LONGEST, JsonRefused
from donewhen.server.rpc.connection import ClientTooSlow
from donewhen.session.person.control_socket import short_address

_CREDENTIALS = struct.Struct("3i")
_PIECE = 1 << 16
MOST_CONNECTIONS = 1000
Serve = Callable[[SocketStream], Awaitable[None]]
"""Serves one client until it leaves."""


@contextlib.asynccontextmanager
async def listening(path: Path, serve: Serve, user: int) -> AsyncGenerator[None]:
    """Serve clients of this user while the block runs. Remove the socket afterwards."""
    path.unlink(missing_ok=True)  # left by a program that died
    connected = anyio.CapacityLimiter(MOST_CONNECTIONS)

    async def client(stream: SocketStream) -> None:
        async with stream:
            if peer_user(stream.extra(SocketAttribute.raw_socket)) != user or connected.available_tokens < 1:
                return
            async with connected:
                try:
                    await serve(stream)
                except* (anyio.BrokenResourceError, anyio.ClosedResourceError, ClientTooSlow):
                    pass  # it has left, or is cut off; a task group raises this in an exception group

    with short_address(path) as address:
        listener = await anyio.create_unix_listener(address, mode=stat.S_IRUSR | stat.S_IWUSR, backlog=512)
    try:
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, client, tasks)
            yield
            tasks.cancel_scope.cancel()
    finally:
        path.unlink(missing_ok=True)


def peer_user(stream: socket.socket) -> int:
    """Return the user id of the process at the other end."""
    data = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(data)[1])


async def lines(stream: SocketStream) -> AsyncGenerator[bytes]:
    """Yield the lines of a client until it leaves. Raise JsonRefused at a line that is longer than a message may be."""
    held = bytearray()
    while data := await _received(stream):
        held += data
        while (end := held.find(b"\n")) >= 0:
            line = bytes(held[:end])
            del held[: end + 1]
            if line.strip():
                yield line
        if len(held) > LONGEST:
            raise JsonRefused(f"the message is longer than {LONGEST} bytes")


async def _received(stream: SocketStream) -> bytes:
    """Return what has come; nothing if the client has left.

    The stream itself is not asked: if its reader is cancelled at the moment at which data come, it makes asyncio print
    "Exception in callback Future.set_result(None)".
    """
    raw = stream.extra(SocketAttribute.raw_socket)
    while True:
        try:
            return raw.recv(_PIECE)
        except BlockingIOError:
            await anyio.wait_readable(raw)
        except OSError:
            return b""


async def send(stream: SocketStream, data: bytes) -> None:
    """Send all of it, without the stream for the same reason. Raise BrokenResourceError if the client has left."""
    raw, left = stream.extra(SocketAttribute.raw_socket), memoryview(data)
    while left:
        try:
            left = left[raw.send(left) :]
        except BlockingIOError:
            await anyio.wait_writable(raw)
        except OSError as error:
            raise anyio.BrokenResourceError from error
