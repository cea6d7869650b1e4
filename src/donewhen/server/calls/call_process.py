"""What runs in a call process: one method, in the directory and with the variables of the caller.

It reads one line with the call and writes lines: `say` for a person, `began` when a session can be watched and
cancelled, and at the end `result` or `error`. A session that has begun waits for a place before it works.
"""

import contextlib
import inspect
import json
import os
import signal
import socket
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from donewhen.errors import BadInput, DonewhenError, MachineryBroke
from donewhen.server.call_errors import CallRefused
from donewhen.server.methods.call_context import CallContext

if TYPE_CHECKING:
    from donewhen.session.workplace import AgentTools
from donewhen.workspace.process.launcher import kernel

SHARED_SECS = 0.05
"""Seconds between two looks for a place, while another session of this process reads the line."""


class _Line:
    """The call process's end of the line to the daemon. A daemon that is gone is not an error."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._held = bytearray()
        self._places = set[str]()
        """The sessions that may work."""
        self._is_read = False

    def request(self) -> Any:
        """Return the first message; None if the daemon is gone."""
        while b"\n" not in self._held:
            if not self._receive():
                return None
        return self._next()

    def write(self, **message: Any) -> None:
        with contextlib.suppress(OSError):
            self._line.sendall(json.dumps(message).encode() + b"\n")

    async def wait_for_place(self, session: str) -> bool:
        """Wait until a session may work. Return False if the daemon is gone. Several may wait at the same time."""
        import anyio

        while session not in self._places:
            if self._is_read:  # by another session that waits
                await anyio.sleep(SHARED_SECS)
                continue
            self._is_read = True
            try:
                await anyio.wait_readable(self._line)
                if not self._receive():
                    return False
            finally:
                self._is_read = False
            while b"\n" in self._held:
                self._places.add(self._next()["place"])
        self._places.discard(session)
        return True

    def _receive(self) -> bool:
        with contextlib.suppress(OSError):
            data = self._line.recv(1 << 16)
            self._held += data
            return bool(data)
        return False

    def _next(self) -> Any:
        text, _, rest = self._held.partition(b"\n")
        self._held = rest
        return json.loads(text)


def run(raw: socket.socket) -> int:
    """Carry out the call that the daemon sends. Return the exit code of the process."""
    line = _Line(raw)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)  # the prepared process ends with the daemon
    line.write(pid=os.getpid())
    request = line.request()
    if request is None:
        return 1
    try:
        _enter(request["directory"], request["variables"])
        _require_same_storage(request["params"].get("repo", ""), request["storage"])
        line.write(result=_result(line, request))
    except DonewhenError as error:
        line.write(error=_plain_error(error))
    except Exception as error:  # noqa: BLE001 - the daemon reports whatever breaks here as an error of this call
        words = f"{type(error).__name__}: {' '.join(str(error).split())}"
        line.write(error=_plain_error(MachineryBroke(words)))
    return 0


def _enter(directory: str, variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    try:
        os.chdir(directory)
    except OSError as error:
        raise BadInput(f"{directory}: {error.strerror}") from error


def _require_same_storage(repo: str, storage: str) -> None:
    """Raise CallRefused if the repository keeps its sessions where this daemon does not see them."""
    from donewhen.server.methods.place import place
    from donewhen.session.settings import settings
    from donewhen.session.settings.trust import TrustBook
    from donewhen.workspace.state_dir import state_root

    found = settings.load_some(place(repo), os.environ, TrustBook(state_root(os.environ)), ("storage",))
    if found.text("storage", "url") != storage:
        raise CallRefused("other_storage", "this repository keeps its sessions in another database than the daemon")


def _result(line: _Line, request: Mapping[str, Any]) -> Any:
    from donewhen.server.calls.run_loops import RUN_LOOPS
    from donewhen.server.methods.table import TABLE

    name, params = request["method"], request["params"]
    method = RUN_LOOPS if name == RUN_LOOPS.name else TABLE[name]
    context = _context(line, request["goes_on"], request["mcp"])
    function = partial(method.function, context) if method.takes_context else method.function
    if not inspect.iscoroutinefunction(method.function):
        return function(**params)
    import anyio

    return anyio.run(partial(function, **params))


def _context(line: _Line, goes_on: bool, mcp: str) -> CallContext:
    """Return the receivers of a call. A session `goes_on` without the process that began it, or is cancelled.

    `mcp` is the address of the daemon's MCP server for the agents of a session; empty if there is none.
    """
    import anyio

    from donewhen.session.person.watch import SessionWatcher

    def say(text: str) -> None:
        line.write(say=text)

    async def before_work(session: str) -> None:
        if goes_on:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, 0)
        line.write(began=session)
        if not await line.wait_for_place(session):  # the daemon is gone
            if goes_on:
                os._exit(1)  # its successor resumes the session
            await anyio.sleep_forever()  # until the signal that comes with the end of the daemon

    def after_work(session: str) -> None:
        line.write(stopped=session)

    watch = SessionWatcher(
        on_record=_ignore,
        say=say,
        before_work=before_work,
        after_work=after_work,
        agent_tools=partial(_agent_tools, mcp),
        may_be_asked=True,
    )
    return CallContext(say=say, watch=watch)


def _agent_tools(mcp: str, session: str) -> "AgentTools | None":
    """Return the daemon's MCP server with a new token, which is limited to the session and valid while it works."""
    if not mcp:
        return None
    from donewhen.server.mcp.clients import McpClients
    from donewhen.session.workplace import AgentTools
    from donewhen.workspace.state_dir import state_root

    name = f"session-{session}"
    return AgentTools(mcp, McpClients(state_root(os.environ)).create(name, session=session, while_here=True))


def _ignore(record: object) -> None:
    del record


def _plain_error(error: DonewhenError) -> dict[str, Any]:
    from donewhen.server.error_kinds import error_data

    data = error_data(error)
    kind, exit_code = data.pop("kind"), data.pop("exit_code")
    return {"kind": kind, "message": str(error), "exit_code": exit_code, "data": data}
