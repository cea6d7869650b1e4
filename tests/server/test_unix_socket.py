"""The unix socket of the daemon by itself: what it prints when a client is cut off while data come."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from donewhen.server.rpc import unix_socket

Read = Callable[[SocketStream], Awaitable[object]]


async def reads_lines(stream: SocketStream) -> None:
    async for _ in unix_socket.lines(stream):
        pass


async def reads_itself(stream: SocketStream) -> None:
    while True:
        await stream.receive()


async def printed_at_a_cut(path: Path, read: Read) -> list[str]:
    """Cancel a reader in the turn of the event loop in which its data come. Return what asyncio would print."""
    printed: list[str] = []
    loop, reading, ended = asyncio.get_running_loop(), anyio.Event(), anyio.Event()
    loop.set_exception_handler(lambda _, context: printed.append(str(context["message"])))
    scope = anyio.CancelScope()

    async def serve(stream: SocketStream) -> None:
        with scope:
            reading.set()
            await read(stream)
        ended.set()

    async with unix_socket.listening(path, serve, os.geteuid()):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            await reading.wait()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()  # until the reader waits
            client.sendall(b"x")
            loop.call_soon(scope.cancel)
            await ended.wait()
    return printed


@pytest.mark.parametrize(("read", "is_quiet"), [(reads_lines, True), (reads_itself, False)])
def test_a_reader_that_is_cut_off_while_data_come_prints_nothing(tmp_path: Path, read: Any, is_quiet: bool) -> None:
    printed = anyio.run(printed_at_a_cut, tmp_path / "s", read)
    assert (printed == []) is is_quiet, printed
