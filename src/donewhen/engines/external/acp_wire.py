"""JSON-RPC over the lines of an agent's input and output: one request of ours at a time, any number of theirs.

It knows nothing of what the methods mean. Lines that are no message are told and passed over; an agent cannot make it
raise anything but `Refused`, `Silent` and `Ended`.

The official SDK is not used here, though the tests hold this client against it. Its import costs about a second of
processor time and 21 MB, which every session would pay; it runs loose tasks and swallows what a listener raises, so
that a limit could not end an agent; and one line of JSON that is no object ends its reading.
"""

import json
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol, cast

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from donewhen.engines.external.json_values import mapping, text
from donewhen.records import frozen

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
LAST_WORDS_SECS = 2.0
"""How long an agent that no longer listens is still heard."""
BROKEN = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)


@frozen
class Ending:
    """How the agent's process ended, where that is known."""

    exit_code: int | None = None
    """As a shell would give it: 128 + N for a signal."""
    last_words: str = ""
    """What it wrote to stderr at last."""


class Pipe(Protocol):
    """The standard input and output of an agent that runs, as lines."""

    async def send(self, line: bytes) -> None:
        """One line with its newline. Raises OSError, or what anyio raises, when nobody reads it any more."""
        ...

    async def receive(self) -> bytes:
        """The next line, whole. Raises `anyio.EndOfStream` after the last; a wait that is cancelled loses no line."""
        ...

    async def ended(self) -> Ending:
        """Waits for the end of the process."""
        ...


class Ears(Protocol):
    """Who listens to an agent; whatever it raises ends the exchange."""

    def raw(self, value: Any) -> None: ...

    def notice(self, method: str, params: Mapping[str, Any]) -> None: ...

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """What the agent's request is answered with; raises `Refused` to answer with an error."""
        ...


class Refused(Exception):
    """An error as JSON-RPC has it, ours to the agent or the agent's to us."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Silent(Exception):
    """No answer in time."""


class Ended(Exception):
    """The agent's output has ended, or it no longer listens, while an answer was due."""


@asynccontextmanager
async def connected(pipe: Pipe, ears: Ears) -> AsyncGenerator["Wire"]:
    """A wire for as long as the block lasts. What listeners raise comes out of it as it was raised."""
    outgoing, queue = anyio.create_memory_object_stream[bytes](math.inf)
    with outgoing, queue:
        try:
            async with anyio.create_task_group() as tasks:
                wire = Wire(pipe, ears, tasks, outgoing)
                tasks.start_soon(wire.deliver, queue)
                yield wire
                tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from group


class Wire:
    def __init__(self, pipe: Pipe, ears: Ears, tasks: TaskGroup, outgoing: MemoryObjectSendStream[bytes]) -> None:
        self._pipe = pipe
        self._ears = ears
        self._tasks = tasks
        self._outgoing = outgoing
        self._last_id = 0
        self._unanswered: dict[int, Any] = {}
        """The ids of the agent's own requests, by the order they came in: an id may be anything."""
        self._requests = 0
        self._deaf = False
        self._is_sending = False
        """Still true when a line was cut off because we are being cancelled."""
        self._waiting = anyio.CancelScope()

    async def ask(self, method: str, params: Mapping[str, Any], secs: float = math.inf) -> Any:
        """The result of a request; what comes in meanwhile goes to the listener."""
        self._last_id += 1
        self._post({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        with anyio.move_on_after(secs):
            return await self._until_answered()
        raise Silent(f"no answer to {method} within {secs:g} s")

    async def hear_out(self, quiet_secs: float) -> None:
        """Listens until nothing has come for that long."""
        line: bytes | None = b""
        while line is not None:
            self._understood(line)
            line = None
            with anyio.move_on_after(quiet_secs):
                line = await self._received()

    async def take_leave(self, method: str, params: Mapping[str, Any], open_answer: Any, secs: float) -> Any:
        """A last notification, although we are being cancelled; the answer that is still due, if it comes at once."""
        lines = [b"\n" if self._is_sending else b"", _line({"jsonrpc": "2.0", "method": method, "params": params})]
        lines += [_line({"jsonrpc": "2.0", "id": one, "result": open_answer}) for one in self._unanswered.values()]
        with anyio.move_on_after(secs, shield=True), suppress(Refused, Ended, *BROKEN):
            await self._pipe.send(b"".join(lines))
            return await self._until_answered()
        return None

    async def deliver(self, queue: MemoryObjectReceiveStream[bytes]) -> None:
        """Apart from those who post, so that an agent that writes before it reads does not block both sides."""
        try:
            async for line in queue:
                self._is_sending = True
                await self._pipe.send(line)
                self._is_sending = False
        except BROKEN:
            self._deaf = True
            self._waiting.deadline = min(self._waiting.deadline, anyio.current_time() + LAST_WORDS_SECS)

    def _post(self, message: Mapping[str, Any]) -> None:
        self._outgoing.send_nowait(_line(message))

    async def _until_answered(self) -> Any:
        deadline = anyio.current_time() + LAST_WORDS_SECS if self._deaf else math.inf
        with anyio.CancelScope(deadline=deadline) as self._waiting:
            while True:
                message = self._understood(await self._received())
                if message is not None and message.get("id") == self._last_id and "method" not in message:
                    return _result(message)
        raise Ended

    async def _received(self) -> bytes:
        try:
            return await self._pipe.receive()
        except (anyio.EndOfStream, *BROKEN):
            raise Ended from None

    def _understood(self, line: bytes) -> Mapping[str, Any] | None:
        """The message of a line, once its part for the listener is done."""
        if not line.strip():
            return None
        value = _parsed(line)
        self._ears.raw(value)
        if not isinstance(value, dict):
            return None
        message = cast("dict[str, Any]", value)
        method = message.get("method")
        if isinstance(method, str) and "id" in message:
            self._requests += 1
            self._unanswered[self._requests] = message["id"]
            self._tasks.start_soon(self._reply, self._requests, method, mapping(message.get("params")))
        elif isinstance(method, str):
            self._ears.notice(method, mapping(message.get("params")))
        return message

    async def _reply(self, number: int, method: str, params: Mapping[str, Any]) -> None:
        try:
            said: dict[str, Any] = {"result": await self._ears.answer(method, params)}
        except Refused as refused:
            said = {"error": {"code": refused.code, "message": str(refused)}}
        self._post({"jsonrpc": "2.0", "id": self._unanswered.pop(number), **said})


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    """A line as JSON, else as text. Halves of surrogate pairs are replaced: no log could hold them."""
    try:
        value = json.loads(line)
        if b"\\u" in line:
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        return value
    except (ValueError, RecursionError):
        return line.decode("utf-8", "replace").rstrip("\r\n")


def _result(message: Mapping[str, Any]) -> Any:
    if message.get("error") is None:
        return message.get("result")
    error = mapping(message["error"])
    code = error.get("code")
    said = text(error.get("message")) or text(message["error"]) or "an error without a message"
    raise Refused(code if isinstance(code, int) else INTERNAL_ERROR, said, error.get("data"))
