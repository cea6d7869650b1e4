"""A connected socket as a stream of bytes: received with a limit, sent with patience, closed half or whole.

Plain sockets and not a library's streams: what was not asked for stays in the kernel, so that somebody who sends much
and reads little fills his own buffers and not ours.
"""

import socket
from contextlib import suppress
from types import TracebackType

import anyio

AT_ONCE = 1 << 16
PARTING_SECS = 1.0
PARTING_BYTES = 1 << 20


class Ended(Exception):
    """The other side has ended the connection, or broken it, in the middle of something."""


class Stream:
    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected
        self._unread = b""
        self.received = 0
        self.sent = 0

    async def __aenter__(self) -> "Stream":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    async def receive(self) -> bytes:
        """What has come, or nothing at the end."""
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
                raise Ended from error
            self.received += len(data)
            return data

    def put_back(self, data: bytes) -> None:
        """To be received again, before anything else."""
        self._unread = data + self._unread

    async def receive_until(self, end: bytes, most: int) -> bytes | None:
        """Up to and with `end`; None when there is more than `most` before it. Raises `Ended`."""
        data = bytearray()
        while True:
            piece = await self.receive()
            if not piece:
                raise Ended
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
                raise Ended from error
            self.sent += count
            view = view[count:]

    def end_sending(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise Ended from error

    async def until_gone(self) -> None:
        """Until the other side has ended. What it sends instead is kept, and then nothing is waited for any more."""
        if not self._unread:
            try:
                data = await self.receive()
            except Ended:
                return
            if not data:
                return
            self.put_back(data)
        await anyio.sleep_forever()

    async def part(self) -> None:
        """End sending, and hear the other side out for a moment: a socket closed over unread bytes takes back the last
        ones that were sent."""
        heard = 0
        with suppress(Ended), anyio.move_on_after(PARTING_SECS):
            self.end_sending()
            while heard < PARTING_BYTES and (data := await self.receive()):
                heard += len(data)


async def join(inside: Stream, outside: Stream) -> None:
    """Carry bytes both ways until both sides have ended, or one breaks. An end is passed on by itself."""
    async with anyio.create_task_group() as tasks:

        async def carry(source: Stream, sink: Stream) -> None:
            try:
                while data := await source.receive():
                    await sink.send(data)
                sink.end_sending()
            except Ended:
                tasks.cancel_scope.cancel()

        tasks.start_soon(carry, inside, outside)
        await carry(outside, inside)
