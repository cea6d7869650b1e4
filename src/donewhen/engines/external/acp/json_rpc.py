"""JSON-RPC over the lines of an agent's input and output: one request of ours at a time, any number of theirs.

This module does not know what the methods mean. Lines that are not messages are reported and skipped. An agent cannot
make it raise anything but `RpcError`, `NoReply` and `AgentExited`.

The official SDK is not used here, though the tests compare this client with it. Its import costs about a second of
processor time and 21 MB, in every session. It runs detached tasks and swallows what a listener raises, so that a limit
could not end an agent. One line of JSON that is not an object ends its reading.
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
DRAIN_SECS = 2.0
"""How long we keep reading from an agent that no longer reads from us."""
PIPE_ERRORS = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)


@frozen
class ExitInfo:
    """How the agent's process ended, as far as that is known."""

    exit_code: int | None = None
    """As a shell reports it: 128 + N for a signal."""
    last_stderr_line: str = ""
    """The last line that it wrote to stderr."""


class Pipe(Protocol):
    """Standard input and output of a running agent, as lines."""

    async def send(self, line: bytes) -> None:
        """Send one line with its newline. Raise OSError, or an anyio error, if there is no reader any more."""
        ...

    async def receive(self) -> bytes:
        """Return the next whole line. Raise `anyio.EndOfStream` after the last; a cancelled wait loses no line."""
        ...

    async def wait_ended(self) -> ExitInfo:
        """Wait for the end of the process."""
        ...


class AgentListener(Protocol):
    """Receives what an agent sends. Any exception from it ends the connection."""

    def on_raw(self, value: Any) -> None: ...

    def on_notification(self, method: str, params: Mapping[str, Any]) -> None: ...

    async def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer to the agent's request; raise `RpcError` to answer with an error."""
        ...


class RpcError(Exception):
    """A JSON-RPC error, from us to the agent or from the agent to us."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class NoReply(Exception):
    """No answer in time."""


class AgentExited(Exception):
    """The agent's output has ended, or it no longer reads, while an answer was due."""


@asynccontextmanager
async def open_connection(pipe: Pipe, listener: AgentListener) -> AsyncGenerator["RpcConnection"]:
    """Open a connection for the duration of the block. An exception of the listener leaves the block unchanged."""
    outgoing, queue = anyio.create_memory_object_stream[bytes](math.inf)
    with outgoing, queue:
        try:
            async with anyio.create_task_group() as tasks:
                connection = RpcConnection(pipe, listener, tasks, outgoing)
                tasks.start_soon(connection.send_queued, queue)
                yield connection
                tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from group


class RpcConnection:
    def __init__(
        self, pipe: Pipe, listener: AgentListener, tasks: TaskGroup, outgoing: MemoryObjectSendStream[bytes]
    ) -> None:
        self._pipe = pipe
        self._listener = listener
        self._tasks = tasks
        self._outgoing = outgoing
        self._last_id = 0
        self._unanswered: dict[int, Any] = {}
        """Ids of the agent's own requests, by order of arrival: an id may be any value."""
        self._requests = 0
        self._is_unread = False
        """True if the agent no longer reads from us."""
        self._is_sending = False
        """Stays True if a line was cut off because we are being cancelled."""
        self._answer_scope = anyio.CancelScope()

    async def ask(self, method: str, params: Mapping[str, Any], secs: float = math.inf) -> Any:
        """Send a request and return its result. Pass everything that arrives meanwhile to the listener."""
        self._last_id += 1
        self._queue({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        with anyio.move_on_after(secs):
            return await self._wait_for_answer()
        raise NoReply(f"no answer to {method} within {secs:g} s")

    async def read_until_quiet(self, quiet_secs: float) -> None:
        """Read until nothing has arrived for that long."""
        line: bytes | None = b""
        while line is not None:
            self._handle_line(line)
            line = None
            with anyio.move_on_after(quiet_secs):
                line = await self._receive()

    async def send_last(self, method: str, params: Mapping[str, Any], pending_answer: Any, secs: float) -> Any:
        """Send a last notification although we are being cancelled; return the pending answer if it comes at once."""
        lines = [b"\n" if self._is_sending else b"", _encoded({"jsonrpc": "2.0", "method": method, "params": params})]
        lines += [
            _encoded({"jsonrpc": "2.0", "id": one, "result": pending_answer}) for one in self._unanswered.values()
        ]
        with anyio.move_on_after(secs, shield=True), suppress(RpcError, AgentExited, *PIPE_ERRORS):
            await self._pipe.send(b"".join(lines))
            return await self._wait_for_answer()
        return None

    async def send_queued(self, queue: MemoryObjectReceiveStream[bytes]) -> None:
        """Send queued lines in a separate task, so that an agent that writes before it reads does not block both
        sides."""
        try:
            async for line in queue:
                self._is_sending = True
                await self._pipe.send(line)
                self._is_sending = False
        except PIPE_ERRORS:
            self._is_unread = True
            self._answer_scope.deadline = min(self._answer_scope.deadline, anyio.current_time() + DRAIN_SECS)

    def _queue(self, message: Mapping[str, Any]) -> None:
        self._outgoing.send_nowait(_encoded(message))

    async def _wait_for_answer(self) -> Any:
        deadline = anyio.current_time() + DRAIN_SECS if self._is_unread else math.inf
        with anyio.CancelScope(deadline=deadline) as self._answer_scope:
            while True:
                message = self._handle_line(await self._receive())
                if message is not None and message.get("id") == self._last_id and "method" not in message:
                    return _result(message)
        raise AgentExited

    async def _receive(self) -> bytes:
        try:
            return await self._pipe.receive()
        except (anyio.EndOfStream, *PIPE_ERRORS):
            raise AgentExited from None

    def _handle_line(self, line: bytes) -> Mapping[str, Any] | None:
        """Pass a line to the listener and return its message; None if the line is not a message."""
        if not line.strip():
            return None
        value = _parse(line)
        self._listener.on_raw(value)
        if not isinstance(value, dict):
            return None
        message = cast("dict[str, Any]", value)
        method = message.get("method")
        if isinstance(method, str) and "id" in message:
            self._requests += 1
            self._unanswered[self._requests] = message["id"]
            self._tasks.start_soon(self._reply, self._requests, method, mapping(message.get("params")))
        elif isinstance(method, str):
            self._listener.on_notification(method, mapping(message.get("params")))
        return message

    async def _reply(self, number: int, method: str, params: Mapping[str, Any]) -> None:
        try:
            reply: dict[str, Any] = {"result": await self._listener.answer(method, params)}
        except RpcError as error:
            reply = {"error": {"code": error.code, "message": str(error)}}
        self._queue({"jsonrpc": "2.0", "id": self._unanswered.pop(number), **reply})


def _encoded(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _parse(line: bytes) -> Any:
    """Return a line as JSON, else as text. Halves of surrogate pairs are replaced: UTF-8 cannot encode them."""
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
    reason = text(error.get("message")) or text(message["error"]) or "an error without a message"
    raise RpcError(code if isinstance(code, int) else INTERNAL_ERROR, reason, error.get("data"))
