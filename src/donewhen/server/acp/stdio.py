"""The editor's end: one JSON message per line on two descriptors. What is malformed gets an error, and reading goes on.

It takes the place of the SDK's own stream, which ends the connection at a message that is no object or is nested too
deeply, and which cannot read a file.
"""

import contextlib
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, TypeGuard, cast

import anyio

from donewhen.server.rpc.bounded_json import LONGEST, JsonRefused, load

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
NOTIFICATIONS = ("session/cancel",)
"""The notifications that mean something here. Others are ignored, as the protocol says."""
_PIECE = 1 << 16
_WRITTEN_AT_ONCE = 4096
"""Bytes that a pipe takes without blocking when it is ready for writing."""
Message = dict[str, Any]


class StdioTransport:
    """The SDK calls `send`, `receive` and `close`."""

    def __init__(self, read_from: int, write_to: int) -> None:
        self._read_from = read_from
        self._write_to = write_to
        self._writing = anyio.Lock()
        self._messages = self._objects()
        self._unanswered: dict[Any, str] = {}
        """The methods of the requests that were received and not answered yet, by id."""
        self._answered = anyio.Event()

    async def wait_until_answered(self, except_for: str = "") -> None:
        """Wait until all requests are answered, except for those of one method."""
        while set(self._unanswered.values()) - {except_for}:
            await self._answered.wait()

    async def send(self, message: Message) -> None:
        """Send a message. If the editor has left, do nothing: that it has left is noticed by reading."""
        try:
            await self._write(message)
        finally:
            if "method" not in message:
                self._unanswered.pop(message.get("id"), None)
                self._answered.set()
                self._answered = anyio.Event()

    async def _write(self, message: Message) -> None:
        data = memoryview(json.dumps(message, default=str, separators=(",", ":")).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):
            async with self._writing:
                while data:
                    await _ready(anyio.wait_writable, self._write_to)
                    data = data[os.write(self._write_to, data[:_WRITTEN_AT_ONCE]) :]

    async def receive(self) -> Message | None:
        """Return the next message; None if the editor has left."""
        return await anext(self._messages, None)

    async def close(self) -> None:
        """Do nothing: the descriptors end with the program."""

    async def _objects(self) -> AsyncGenerator[Message]:
        async for line in self._lines():
            try:
                message = load(line)
            except JsonRefused as error:
                await self._refuse(PARSE_ERROR, "Parse error", str(error))
                continue
            if not _is_message(message):
                await self._refuse(INVALID_REQUEST, "Invalid request", "a message is an object with a method or an id")
            elif "id" in message:
                if "method" in message:
                    self._unanswered[message["id"]] = message["method"]
                yield message
            elif message["method"] in NOTIFICATIONS:
                yield message

    async def _refuse(self, code: int, message: str, problem: str) -> None:
        error = {"code": code, "message": message, "data": {"problem": problem}}
        await self.send({"jsonrpc": "2.0", "id": None, "error": error})

    async def _lines(self) -> AsyncGenerator[bytes]:
        """Yield lines. One that is too long is replaced by its beginning, which is no JSON."""
        held, searched = bytearray(), 0
        while data := await self._piece():
            held += data
            while (end := held.find(b"\n", searched)) >= 0:
                line = bytes(held[:end])
                del held[: end + 1]
                searched = 0
                if line.strip():
                    yield line
            searched = len(held)
            if searched > LONGEST:
                del held[LONGEST + 1 :]  # `load` refuses it for its length when its end has come
                searched = len(held)
        if held.strip():
            yield bytes(held)

    async def _piece(self) -> bytes:
        try:
            await _ready(anyio.wait_readable, self._read_from)
            return os.read(self._read_from, _PIECE)
        except OSError:
            return b""


def _is_message(value: Any) -> TypeGuard[Message]:
    if not isinstance(value, dict):
        return False
    message = cast("Message", value)
    id = message.get("id")
    is_id = id is None or (isinstance(id, str | int) and not isinstance(id, bool))
    return is_id and isinstance(message.get("method", ""), str) and ("method" in message or "id" in message)


async def _ready(wait: Callable[[int], Awaitable[None]], descriptor: int) -> None:
    with contextlib.suppress(PermissionError):  # a file: it cannot be waited for and never blocks
        await wait(descriptor)


@contextlib.contextmanager
def private_stdio() -> Generator[tuple[int, int]]:
    """Provide stdin and stdout under other numbers, for this process alone.

    What any code prints goes to stderr meanwhile, and no other process holds the ends of the editor's pipes.
    """
    read_from, write_to = os.dup(0), os.dup(1)

    held = [read_from, write_to]

    def close_in_child() -> None:
        while held:  # once: a child of the child may have other files under these numbers
            os.close(held.pop())

    os.register_at_fork(after_in_child=close_in_child)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    yield read_from, write_to
