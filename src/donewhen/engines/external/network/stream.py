"""Byte stream over a connected socket: bounded receiving, sending that waits, half or full closing.

Uses plain sockets instead of a library's streams: data that was not asked for stays in the kernel, so that a peer that
sends much and reads little fills its own buffers, not ours.
"""

import socket
from contextlib import suppress
from types import TracebackType

import anyio

AT_ONCE = 1 << 16
FINISH_SECS = 1.0
FINISH_BYTES = 1 << 20


class ConnectionClosed(Exception):
    """The other side has closed or broken the connection in the middle of something."""


class SocketStream:
    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._unread = b""
        self.received = 0
        self.sent = 0

    async def __aenter__(self) -> "SocketStream":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def receive(self) -> bytes:
        """Return what has arrived; empty at the end."""
        if self._unread:
            data, self._unread = self._unread, b""
            return data
        while True:
            await anyio.wait_readable(self._socket)
            try:
                data = self._socket.recv(AT_ONCE)
            except BlockingIOError:
                continue
            except OSError as error:
                raise ConnectionClosed from error
            self.received += len(data)
            return data

    def put_back(self, data: bytes) -> None:
        """Put data back, to be received again before anything else."""
        self._unread = data + self._unread

    async def receive_until(self, end: bytes, most: int) -> bytes | None:
        """Return data up to and including `end`; None if that is longer than `most`. Raise `ConnectionClosed` if it
        ends before."""
        data = bytearray()
        while True:
            piece = await self.receive()
            if not piece:
                raise ConnectionClosed
            searched = max(0, len(data) - len(end) + 1)
            data += piece
            at = data.find(end, searched)
            if at >= 0:
                at += len(end)
                self.put_back(bytes(data[at:]))
                return bytes(data[:at]) if at <= most else None
            if len(data) > most:
                return None

    async def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                count = self._socket.send(view)
            except BlockingIOError:
                await anyio.wait_writable(self._socket)
                continue
            except OSError as error:
                raise ConnectionClosed from error
            self.sent += count
            view = view[count:]

    def end_sending(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise ConnectionClosed from error

    async def wait_closed(self) -> None:
        """Wait until the other side has closed. If it sends something instead, keep that and wait until cancelled."""
        if not self._unread:
            try:
                data = await self.receive()
            except ConnectionClosed:
                return
            if not data:
                return
            self.put_back(data)
        await anyio.sleep_forever()

    async def finish(self) -> None:
        """End sending, then read for a moment what the other side still sends: closing a socket over unread bytes
        discards the last ones that were sent."""
        received_bytes = 0
        with suppress(ConnectionClosed), anyio.move_on_after(FINISH_SECS):
            self.end_sending()
            while received_bytes < FINISH_BYTES and (data := await self.receive()):
                received_bytes += len(data)


async def copy_both_ways(inside: SocketStream, outside: SocketStream) -> None:
    """Copy bytes both ways until both sides have ended, or one breaks. The end of one direction is passed on
    separately."""
    async with anyio.create_task_group() as tasks:

        async def copy(source: SocketStream, sink: SocketStream) -> None:
            try:
                while data := await source.receive():
                    await sink.send(data)
                sink.end_sending()
            except ConnectionClosed:
                tasks.cancel_scope.cancel()

        tasks.start_soon(copy, inside, outside)
        await copy(outside, inside)
