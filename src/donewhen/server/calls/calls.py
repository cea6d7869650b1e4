"""The calls that the daemon has handed to call processes: their results, their sessions, and how many work at once.

async with CallProcesses(prepared, places=4).open() as calls:
    result = await calls.call("contract.check", params, surroundings, say)
    began = await calls.begin("session.start", params, surroundings, say)     # the session's id; the work goes on
"""

import contextlib
import json
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup

from donewhen.errors import MachineryBroke
from donewhen.records import frozen
from donewhen.server.call_errors import CallFailed, CallRefused
from donewhen.server.calls.prepared_process import PreparedProcess
from donewhen.server.service import Surroundings

MOST_PROCESSES = 512
_LINE = 1 << 16
Say = Callable[[str], None]


@frozen
class Call:
    """One call: what is to be done, and where."""

    method: str
    params: Mapping[str, Any]
    surroundings: Surroundings
    storage: str
    """The setting `storage.url` of the daemon. A repository with another one keeps its sessions elsewhere."""


def _ignore_change() -> None:
    """Nobody wants to know."""


def _ignore_end(session: str, reason: str) -> None:
    del session, reason


class CallProcesses:
    def __init__(self, prepared: PreparedProcess, places: int, sessions_go_on: bool = True) -> None:
        """At most `places` sessions work at the same time.

        With `sessions_go_on`, a session that has begun survives the end of this process; otherwise it is cancelled.
        """
        self._prepared = prepared
        self.sessions_go_on = sessions_go_on
        self.mcp_address = ""
        """The address of MCP for the agents of sessions; empty: they get none."""
        self._places = anyio.Semaphore(places)
        self.on_change: Callable[[], None] = _ignore_change
        """Is called when a session begins or stops."""
        self.on_end: Callable[[str, str], None] = _ignore_end
        """Is called with a session and why it stopped, when its process has said so and before it counts as ended."""
        self._tasks: TaskGroup | None = None
        self._processes: dict[int, int] = {}
        """Handles of the running call processes (pidfd) by their process id."""
        self._draining = False
        self._changed = anyio.Event()
        self.sessions: dict[str, int] = {}
        """The process ids of the sessions that work here."""

    @contextlib.asynccontextmanager
    async def open(self) -> "AsyncGenerator[CallProcesses]":
        async with anyio.create_task_group() as self._tasks:
            yield self
            self._tasks.cancel_scope.cancel()

    @property
    def running(self) -> int:
        """The number of calls that run."""
        return len(self._processes)

    def refuse_new(self) -> None:
        """Begin no further call."""
        self._draining = True

    def kill_all(self) -> None:
        """Kill every call process. What it started dies with it, and its session can be resumed."""
        for handle in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)

    async def call(self, call: Call, say: Say) -> Any:
        """Carry out a call and return its result. If the caller leaves, the process is killed."""
        return await self._follow(call, say, began=None)

    async def begin(self, call: Call, say: Say) -> Any:
        """Carry out a call and return as soon as its session has begun, or with its result if none begins."""
        assert self._tasks is not None
        return await self._tasks.start(self._follow_to_end, call, say)

    async def _follow_to_end(self, call: Call, say: Say, *, task_status: anyio.abc.TaskStatus[Any]) -> None:
        has_begun = False

        def began(session: str) -> None:
            nonlocal has_begun
            has_begun = True
            task_status.started({"id": session})

        try:
            result = await self._follow(call, say, began)
        except (CallFailed, CallRefused, MachineryBroke) as error:
            if not has_begun:
                raise
            say(f"donewhen: {error}")
        else:
            if not has_begun:
                task_status.started(result)

    async def _follow(self, call: Call, say: Say, began: Callable[[str], None] | None) -> Any:
        if self._draining:
            raise CallRefused("stopping", "the daemon is stopping and begins nothing")
        if len(self._processes) >= MOST_PROCESSES:
            raise CallRefused("too_many", f"{MOST_PROCESSES} calls are running; try again later")
        try:
            raw = self._prepared.begin_call()
        except OSError as error:
            raise MachineryBroke("the prepared process of the daemon has ended; restart the daemon") from error
        async with _Running(raw, self) as running:
            return await running.follow(call, say, began)

    # -- what a running call reports --

    def process_began(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._processes[pid] = os.pidfd_open(pid)

    def process_ended(self, pid: int, session: str) -> None:
        """Forget a call process. Kill it if it is still there: nobody reads its result."""
        handle = self._processes.pop(pid, None)
        if handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        if session:
            self.sessions.pop(session, None)
        self.on_change()
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_until_idle(self) -> None:
        """Wait until no session works here."""
        while self.sessions:
            await self._changed.wait()

    async def wait_for_place(self) -> None:
        await self._places.acquire()

    def free_place(self) -> None:
        self._places.release()

    def session_began(self, session: str, pid: int) -> None:
        self.sessions[session] = pid
        self.on_change()


class _Running:
    """One call process, from its start to its end."""

    def __init__(self, raw: socket.socket, calls: CallProcesses) -> None:
        raw.setblocking(False)
        self._raw = raw
        self._calls = calls
        self._pid = 0
        self._session = ""
        self._has_place = False

    async def __aenter__(self) -> "_Running":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._calls.process_ended(self._pid, self._session)
        if self._has_place:
            self._calls.free_place()
        self._raw.close()

    async def follow(self, call: Call, say: Say, began: Callable[[str], None] | None) -> Any:
        await self._send(
            {
                "method": call.method,
                "params": call.params,
                "directory": call.surroundings.directory,
                "variables": dict(call.surroundings.variables),
                "storage": call.storage,
                "goes_on": self._calls.sessions_go_on,
                "mcp": self._calls.mcp_address,
            }
        )
        final: Mapping[str, Any] = {}
        async with anyio.create_task_group() as tasks:
            final = await self._final_message(tasks, say, began)
            tasks.cancel_scope.cancel()
        match final:
            case {"error": {"kind": str(kind), "message": str(text), "exit_code": int(code), "data": data}}:
                raise CallFailed(kind, text, code, data)
            case {"result": _}:
                return final["result"]
            case _:
                raise MachineryBroke(f"the process of {call.method} ended without a result")

    async def _final_message(
        self, tasks: TaskGroup, say: Say, began: Callable[[str], None] | None
    ) -> Mapping[str, Any]:
        """Return the last message of the process; an empty one if it ended without."""
        async for message in self._messages():
            match message:
                case {"pid": int(pid)}:
                    self._pid = pid
                    self._calls.process_began(pid)
                case {"say": str(line)}:
                    say(line)
                case {"began": str(session)}:
                    self._session = session
                    self._calls.session_began(session, self._pid)
                    if began is not None:
                        began(session)
                    tasks.start_soon(self._give_place)
                case {"result": {"reason": str(reason)}} if self._session:
                    self._calls.on_end(self._session, reason)
                    return message
                case {"result": _} | {"error": _}:
                    return message
                case _:
                    pass
        return {}

    async def _give_place(self) -> None:
        await self._calls.wait_for_place()
        self._has_place = True
        await self._send({"place": True})

    async def _send(self, message: Mapping[str, Any]) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while data:
                try:
                    data = data[self._raw.send(data) :]
                except BlockingIOError:
                    await anyio.wait_writable(self._raw)

    async def _messages(self) -> AsyncGenerator[dict[str, Any]]:
        held = bytearray()
        while True:
            try:
                data = self._raw.recv(_LINE)
            except BlockingIOError:
                await anyio.wait_readable(self._raw)
                continue
            except ConnectionResetError:
                return
            if not data:
                return
            held += data
            while (end := held.find(b"\n")) >= 0:
                line = bytes(held[:end])
                del held[: end + 1]
                yield json.loads(line)
