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
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
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
Tell = Callable[[Mapping[str, Any]], None]
"""Receives what becomes of a call that has begun: `began` with the id of a further session, and at the end `result` or
`error`."""


@frozen
class MethodCall:
    """One call: what is to be done, and where."""

    method: str
    params: Mapping[str, Any]
    surroundings: Surroundings
    storage: str
    """The setting `storage.url` of the daemon. A repository with another one keeps its sessions elsewhere."""
    lasts: bool = False
    """True for one that runs sessions until the daemon ends, and ends with it."""


def _ignore_change() -> None:
    """Nobody wants to know."""


def ignore_fact(fact: Mapping[str, Any]) -> None:
    del fact


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
        """The process ids of the sessions that work here or wait for a place."""
        self.lasting = set[int]()
        """The process ids of calls that last as long as the daemon."""
        self.working = set[str]()
        """Those that have a place."""

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

    async def end_lasting(self) -> None:
        """Ask the processes of calls that last to end, and wait for them: they give up what they hold."""
        for pid in self.lasting:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._processes[pid], signal.SIGTERM)
        while self.lasting:
            await self._changed.wait()

    def kill_all(self) -> None:
        """Kill every call process. What it started dies with it, and its session can be resumed."""
        for handle in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)

    async def call(self, call: MethodCall, say: Say) -> Any:
        """Carry out a call and return its result. If the caller leaves, the process is killed."""
        return await self._follow(call, say, began=None)

    async def begin(self, call: MethodCall, say: Say, tell: Tell = ignore_fact) -> Any:
        """Carry out a call and return as soon as its session has begun, or with its result if none begins."""
        assert self._tasks is not None
        return await self._tasks.start(self._follow_to_end, call, say, tell)

    async def _follow_to_end(
        self, call: MethodCall, say: Say, tell: Tell, *, task_status: anyio.abc.TaskStatus[Any]
    ) -> None:
        has_begun = False

        def began(session: str) -> None:
            nonlocal has_begun
            if has_begun:
                tell({"began": session})
            else:
                has_begun = True
                task_status.started({"id": session})

        try:
            result = await self._follow(call, say, began)
        except (CallFailed, CallRefused, MachineryBroke) as error:
            if not has_begun:
                raise
            if not self._draining:  # it was stopped then
                say(f"donewhen: {error}")
            tell({"error": str(error), "exit_code": error.exit_code})
        else:
            if has_begun:
                tell({"result": result})
            else:
                task_status.started(result)

    async def _follow(self, call: MethodCall, say: Say, began: Callable[[str], None] | None) -> Any:
        if self._draining:
            raise CallRefused("stopping", "the daemon is stopping and begins nothing")
        if len(self._processes) >= MOST_PROCESSES:
            raise CallRefused("too_many", f"{MOST_PROCESSES} calls are running; try again later")
        try:
            raw = self._prepared.begin_call()
        except OSError as error:
            raise MachineryBroke("the prepared process of the daemon has ended; restart the daemon") from error
        async with _Running(raw, self, call.lasts) as running:
            return await running.follow(call, say, began)

    # -- what a running call reports --

    def process_began(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._processes[pid] = os.pidfd_open(pid)

    def process_ended(self, pid: int, sessions: Iterable[str]) -> None:
        """Forget a call process. Kill it if it is still there: nobody reads its result."""
        self.lasting.discard(pid)
        handle = self._processes.pop(pid, None)
        if handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        for session in sessions:
            self.sessions.pop(session, None)
        self._tell_change()

    def session_began(self, session: str, pid: int) -> None:
        self.sessions[session] = pid
        self.on_change()

    def session_ended(self, session: str) -> None:
        """Forget a session whose process goes on with others."""
        self.sessions.pop(session, None)
        self._tell_change()

    def _tell_change(self) -> None:
        self.on_change()
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_until_idle(self) -> None:
        """Wait until no session works here. Those that wait for a place do not count."""
        while self.working:
            await self._changed.wait()

    async def take_place(self, session: str) -> None:
        """Wait until the session may work. Nothing begins to work any more after `refuse_new`."""
        await self._places.acquire()
        if self._draining:
            await anyio.sleep_forever()
        self.working.add(session)

    def free_place(self, session: str) -> None:
        self.working.discard(session)
        self._places.release()


class _Running:
    """One call process, from its start to its end."""

    def __init__(self, raw: socket.socket, calls: CallProcesses, lasts: bool) -> None:
        raw.setblocking(False)
        self._raw = raw
        self._calls = calls
        self._lasts = lasts
        self._pid = 0
        self._sessions: dict[str, anyio.CancelScope] = {}
        """The sessions of the process that have not ended. The scopes end their waiting for a place."""
        self._with_place = set[str]()
        self._stopped = list[str]()

    async def __aenter__(self) -> "_Running":
        return self

    async def __aexit__(self, *_: object) -> None:
        for session in self._with_place:
            self._calls.free_place(session)
        self._calls.process_ended(self._pid, self._sessions)
        self._raw.close()

    async def follow(self, call: MethodCall, say: Say, began: Callable[[str], None] | None) -> Any:
        await self._send(
            {
                "method": call.method,
                "params": call.params,
                "directory": call.surroundings.directory,
                "variables": dict(call.surroundings.variables),
                "storage": call.storage,
                "goes_on": self._calls.sessions_go_on and not call.lasts,
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
        newest = ""
        async for message in self._messages():
            match message:
                case {"pid": int(pid)}:
                    self._pid = pid
                    self._calls.process_began(pid)
                    if self._lasts:
                        self._calls.lasting.add(pid)
                case {"say": str(line)}:
                    say(line)
                case {"began": str(session)}:
                    self._forget_stopped()
                    newest, self._sessions[session] = session, anyio.CancelScope()
                    self._calls.session_began(session, self._pid)
                    if began is not None:
                        began(session)
                    tasks.start_soon(self._give_place, session, self._sessions[session])
                case {"stopped": str(session)} if session in self._sessions:
                    self._stop(session)
                    if self._lasts:
                        self._forget_stopped()
                case {"result": {"reason": str(reason)}} if newest:
                    self._calls.on_end(newest, reason)
                    return message
                case {"result": _} | {"error": _}:
                    return message
                case _:
                    pass
        return {}

    async def _give_place(self, session: str, waiting: anyio.CancelScope) -> None:
        with waiting:
            await self._calls.take_place(session)
            self._with_place.add(session)
            await self._send({"place": session})

    def _stop(self, session: str) -> None:
        """Free the place of a session that works no longer. It ends with its process, whose result says how."""
        self._sessions[session].cancel()
        self._stopped.append(session)
        if session in self._with_place:
            self._with_place.discard(session)
            self._calls.free_place(session)

    def _forget_stopped(self) -> None:
        """End the sessions that have stopped: the process goes on with others."""
        while self._stopped:
            session = self._stopped.pop()
            del self._sessions[session]
            self._calls.session_ended(session)

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
