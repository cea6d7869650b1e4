"""Control socket of a session that runs in another process: one socket per session, one line of JSON each way.

Only the owner of the session writes to its log; other processes send their requests here. A process that does not
answer is handled by `cancel`, which may kill it.
"""

import contextlib
import json
import os
import socket
import stat
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream

from donewhen.errors import BadInput, DonewhenError
from donewhen.workspace.state_dir import private_directory

LONGEST = 1 << 20
Handler = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@contextlib.contextmanager
def short_address(path: Path) -> Generator[str]:
    """Provide a name of a socket that fits into a socket address, however deep its directory is."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def socket_path(state: Path, session: str) -> Path:
    return private_directory(state / "control") / f"{session}.sock"


@contextlib.asynccontextmanager
async def serve(path: Path, handle: Handler) -> AsyncGenerator[None]:
    """Serve requests while the block runs. Remove the socket afterwards."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()  # left by a process that died

    async def answer(stream: SocketStream) -> None:
        await _answer(stream, handle)

    with short_address(path) as address:
        listener = await anyio.create_unix_listener(address, mode=stat.S_IRUSR | stat.S_IWUSR)
    try:
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, answer, tasks)
            yield
            tasks.cancel_scope.cancel()
    finally:
        path.unlink(missing_ok=True)


async def _answer(stream: SocketStream, handle: Handler) -> None:
    """Answer one request. No input can stop the session.

    A change that the log cannot take is not made, and the caller gets the reason.
    """
    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        async with stream:
            request = _request(await _line(stream))
            try:
                answer: Mapping[str, Any] = {"ok": False} if request is None else handle(request)
            except DonewhenError as error:
                answer = {"ok": False, "bad_input" if isinstance(error, BadInput) else "problem": str(error)}
            await stream.send(json.dumps(dict(answer)).encode() + b"\n")


def _request(line: bytes) -> Mapping[str, Any] | None:
    """Return the request; None for anything but one JSON object."""
    with contextlib.suppress(ValueError, RecursionError):
        request = json.loads(line)
        return request if isinstance(request, dict) else None  # pyright: ignore[reportUnknownVariableType] - any JSON
    return None


async def _line(stream: SocketStream) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < LONGEST:
        data += await stream.receive()
    return data


def ask(path: Path, request: Mapping[str, Any], timeout_secs: float) -> Mapping[str, Any] | None:
    """Return the owner's answer; None if there is no answer in time."""
    with contextlib.suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as line:
        line.settimeout(timeout_secs)
        with short_address(path) as address:
            line.connect(address)
        line.sendall(json.dumps(dict(request)).encode() + b"\n")
        with line.makefile("rb") as answer:
            return json.loads(answer.readline(LONGEST))
    return None
