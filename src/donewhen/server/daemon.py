"""The daemon: one process per user and state directory that lets people and programs start, follow and decide.

    code = serve(ServeOptions(...), say, show)

It takes over what a crash left, runs the loops of the repositories that a person trusts, and stops when it is asked to:
it waits a moment for what works, then stops it in a way that the next daemon resumes.
"""

import asyncio
import contextlib
import datetime
import fcntl
import os
import signal
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import anyio
from anyio.abc import SocketStream, TaskGroup

from donewhen.errors import BadInput, DonewhenError
from donewhen.records import frozen
from donewhen.server.calls.calls import CallProcesses
from donewhen.server.calls.prepared_process import PreparedProcess
from donewhen.server.client import remove_stale, socket_path
from donewhen.server.daemon_service import DaemonService
from donewhen.server.local_service import open_service
from donewhen.server.loops_of_user import run_loops_of_user
from donewhen.server.methods.method import Right
from donewhen.server.service import Caller, Surroundings
from donewhen.server.web.options import WebListener, WebOptions, listen
from donewhen.session.log.notes import OwnerChanged
from donewhen.session.log.state import replay_log
from donewhen.session.settings.trust import TrustBook
from donewhen.session.verbs.offline import decision_to_carry_out
from donewhen.storage.archive import Archive
from donewhen.storage.record import SessionRow
from donewhen.workspace.state_dir import state_root

RESUMED_DAYS = 1
"""An interrupted session is resumed at the start only if it worked so recently."""
MOST_RESTARTS = 3
"""Processes in a row that may die before anything is done, and then a session is left to a person."""
BEGINNINGS = (
    "state_changed",
    "engine_selected",
    "model_selected",
    "iteration_started",
    "check_started",
    "tool_call",
    "planning_started",
    "subtask_started",
    "evaluation_started",
    "hint_recalled",
)
"""Events that a process writes before it does anything. One that dies then has made no progress."""
DRAIN_SECS = 10.0
END_SECS = 5.0
"""How long the processes of loops may take to give up their rounds."""
ALL_RIGHTS = frozenset(Right)
Say = Callable[[str], None]


@frozen(kw_only=True)
class ServeOptions:
    web: WebOptions
    board: bool = True
    places: int = 4
    """Sessions that work at the same time."""
    drain_secs: float = DRAIN_SECS


def serve(options: ServeOptions, say: Say, show: Say) -> int:
    """Serve until SIGTERM or SIGINT. Return the exit code. `show` gets the address, `say` what happens."""
    state = state_root(os.environ)
    with _only_daemon(state):
        remove_stale(socket_path(state))
        prepared = PreparedProcess.fork()
        try:
            listener = listen(options.web)  # after the fork: a process of a session must not keep the port
            return anyio.run(_serve, options, state, prepared, listener, say, show)
        finally:
            prepared.close()


@contextlib.contextmanager
def _only_daemon(state: Path) -> Generator[None]:
    """Hold the lock of the daemon. Raise BadInput if another one has it."""
    place = socket_path(state).with_name("lock")
    try:
        lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BadInput(f"{place} cannot be opened: {error.strerror}") from error
    try:
        try:
            # A lock of this process alone: forked processes, which outlive a daemon that is killed, do not hold it.
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            pid = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            raise BadInput(f"a daemon is running already: process {pid or '?'}") from None
        os.truncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)


async def _serve(
    options: ServeOptions, state: Path, prepared: PreparedProcess, listener: WebListener, say: Say, show: Say
) -> int:
    from donewhen.server.mcp.endpoint import McpEndpoint
    from donewhen.server.methods.table import TABLE
    from donewhen.server.rpc.unix_socket import listening
    from donewhen.server.web.access import open_access
    from donewhen.server.web.app import WebMount
    from donewhen.server.web.serve import serve_web

    async with open_service(prepared, options.places, say) as core, anyio.create_task_group() as tasks:
        path = socket_path(state)

        async def client(stream: SocketStream) -> None:
            await _serve_socket(core.service, stream)

        with open_access(state) as access:
            endpoint = McpEndpoint(core.service, tasks, state, say)
            mounts = [WebMount(path="/mcp", app=endpoint, identify=endpoint.identify)]
            core.calls.mcp_address = f"{listener.address}/mcp"
            numbers = core.service.numbers
            web = serve_web(core.service, TABLE, access, listener, show, mounts=mounts, numbers=numbers)
            async with listening(path, client, os.geteuid()), web:
                with _signals() as stop:
                    say(f"the daemon listens on {path}")
                    await _take_over(core.service, core.store.archive, say)
                    tasks.start_soon(run_loops_of_user, core.calls, TrustBook(state), core.store.url, say)
                    await stop.wait()
                    await _drain(core.calls, stop, options.drain_secs, say)
        tasks.cancel_scope.cancel()
    return 0


async def _serve_socket(service: DaemonService, stream: SocketStream) -> None:
    """Serve one client of the unix socket. Its first message may say where it works."""
    from donewhen.server.methods.table import TABLE
    from donewhen.server.rpc import unix_socket
    from donewhen.server.rpc.bounded_json import JsonRefused
    from donewhen.server.rpc.connection import RpcClientConnection
    from donewhen.server.rpc.dispatch import PARSE_ERROR, error_text

    async def send(messages: Sequence[str]) -> None:
        await unix_socket.send(stream, "\n".join((*messages, "")).encode())

    async with anyio.create_task_group() as tasks:
        caller = Caller(name="the socket", rights=ALL_RIGHTS)
        connection = RpcClientConnection(service, caller, TABLE, send, tasks, may_enter=True)
        try:
            async with contextlib.aclosing(unix_socket.lines(stream)) as received:
                async for line in received:
                    await connection.receive(line)
        except JsonRefused as error:
            await send([error_text(PARSE_ERROR, "Parse error", str(error))])
        tasks.cancel_scope.cancel()


class _StopRequest:
    """The signals that ask the daemon to stop: the first one gently, the second one at once."""

    def __init__(self) -> None:
        self._received = 0
        self._changed = anyio.Event()

    @property
    def is_urgent(self) -> bool:
        return self._received > 1

    def add(self, received: signal.Signals) -> None:
        self._received += 2 if received is signal.SIGINT else 1  # Ctrl-C: a person waits
        self._changed.set()
        self._changed = anyio.Event()

    async def wait(self) -> None:
        while not self._received:
            await self._changed.wait()

    async def wait_until_urgent(self) -> None:
        while not self.is_urgent:
            await self._changed.wait()


@contextlib.contextmanager
def _signals() -> Generator[_StopRequest]:
    """Receive signals while the block runs. Later ones are ignored: the process is about to end."""
    stop, loop = _StopRequest(), asyncio.get_running_loop()

    def receive(number: int, frame: object) -> None:
        del frame
        loop.call_soon_threadsafe(stop.add, signal.Signals(number))

    try:
        for one in (signal.SIGTERM, signal.SIGINT):
            # The receivers of anyio and asyncio leave a moment at their end in which a signal kills the process.
            signal.signal(one, receive)
        yield stop
    finally:
        for one in (signal.SIGTERM, signal.SIGINT):
            signal.signal(one, signal.SIG_IGN)


async def _take_over(service: DaemonService, archive: Archive, say: Say) -> None:
    """Resume the sessions that a crash interrupted, and those whose decision was not carried out."""
    for row in reversed(archive.sessions()):
        if row.state == "finished" or _is_owned(archive, row.id):
            continue
        why_not = _why_not_resumed(archive, row)
        if why_not:
            say(f"session {row.id} was interrupted; {why_not}; continue with: donewhen resume {row.id}")
        elif why_not is not None:
            continue
        else:
            try:
                await service.resume(row.id, Surroundings(row.repo, dict(os.environ)))
                say(f"session {row.id} goes on: it was interrupted")
            except DonewhenError as error:
                say(f"session {row.id} cannot go on: {error}")


def _is_owned(archive: Archive, session: str) -> bool:
    owner = archive.owner(session)
    return owner is not None and owner.is_alive()


def _why_not_resumed(archive: Archive, row: SessionRow) -> str | None:
    """Return None for a session to resume; empty for one that only waits or that its loop resumes; else the reason."""
    state = replay_log(archive.records(row.id))
    if not state.start_note or state.discarded or state.start_note.get("loop"):
        return ""
    if row.state == "waiting" and not decision_to_carry_out(state):
        return ""
    last = datetime.datetime.fromisoformat(row.last_at)
    if datetime.datetime.now(datetime.UTC) - last > datetime.timedelta(days=RESUMED_DAYS):
        return f"its last event is older than {RESUMED_DAYS} day"
    restarts = 0
    for record in archive.records(row.id):
        is_progress = record.seq is not None and record.kind not in BEGINNINGS
        restarts = 0 if is_progress else restarts + (record.kind == OwnerChanged.KIND)
    return f"{restarts} processes in a row died before anything was done" if restarts >= MOST_RESTARTS else None


async def _drain(calls: CallProcesses, stop: _StopRequest, secs: float, say: Say) -> None:
    """Begin nothing new, wait a moment for what works, and stop the rest so that it can be resumed."""
    calls.refuse_new()
    if calls.sessions and not stop.is_urgent:
        say(f"stopping: waiting up to {secs:g} s for {len(calls.sessions)} sessions")
        with anyio.move_on_after(secs):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_when_urgent, stop, tasks)
                await calls.wait_until_idle()
                tasks.cancel_scope.cancel()
    left = sorted(calls.sessions)
    with anyio.move_on_after(END_SECS):
        await calls.end_lasting()
    calls.kill_all()
    going_on = f"; the next daemon goes on with: {', '.join(left)}" if left else ""
    say(f"stopped{going_on}")


async def _cancel_when_urgent(stop: _StopRequest, tasks: TaskGroup) -> None:
    await stop.wait_until_urgent()
    tasks.cancel_scope.cancel()
