"""The core of the daemon without its sockets: calls, sessions and their events, for a program that runs no daemon.

code = run_with_service(work, say)       # work(service, is_daemon) gets the daemon's service, or one in this process

async with open_service(prepared, places, say) as core: ...
async with open_in_program(places, say) as service: ...     # also in a program with threads or a running event loop
"""

import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable

import anyio
import anyio.to_thread

from donewhen.errors import DonewhenError
from donewhen.records import frozen
from donewhen.server.async_client import RemoteService
from donewhen.server.calls.calls import CallProcesses
from donewhen.server.calls.prepared_process import PreparedProcess
from donewhen.server.client import connect, socket_path
from donewhen.server.daemon_service import DaemonService, SessionStore
from donewhen.server.feed.feed import Feed
from donewhen.server.methods.method import Right
from donewhen.server.service import Caller, Service
from donewhen.session.log.open_archive import archive_of, local_settings
from donewhen.workspace.state_dir import state_root

PLACES = 4
LEAVING_SECS = 10.0
"""How long a program that leaves waits for the sessions that it cancels."""
Say = Callable[[str], None]
Work = Callable[[Service, bool], Awaitable[int]]


@frozen
class Core:
    """What carries out calls in this process."""

    service: DaemonService
    calls: CallProcesses
    store: SessionStore


@contextlib.asynccontextmanager
async def open_service(
    prepared: PreparedProcess, places: int, say: Say, sessions_go_on: bool = True
) -> AsyncGenerator[Core]:
    """Provide the core while the block runs. At most `places` sessions work at the same time.

    With `sessions_go_on`, sessions survive the end of this process; otherwise they are cancelled then.
    """
    from donewhen.server.methods.subscriptions import SUBSCRIPTIONS
    from donewhen.server.methods.table import TABLE
    from donewhen.server.parameters import validators

    settings = local_settings()
    with contextlib.closing(archive_of(settings, say)) as archive:
        store, calls = (
            SessionStore(archive, settings.text("storage", "url")),
            CallProcesses(prepared, places, sessions_go_on),
        )
        feed = Feed(archive, calls.sessions.__contains__)
        calls.on_change, calls.on_end = feed.poke, feed.has_stopped
        async with anyio.create_task_group() as tasks, calls.open():
            service = DaemonService(TABLE, validators({**TABLE, **SUBSCRIPTIONS}), calls, feed, store, say)
            feed.look()
            tasks.start_soon(feed.run)
            yield Core(service, calls, store)
            tasks.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def open_in_program(places: int, say: Say) -> AsyncGenerator[Service]:
    """Provide the service in a program that may have threads, and an event loop that runs already.

    The prepared process is a new interpreter and no copy of the program. At the end of the block the sessions that
    still work are cancelled.
    """
    prepared = await anyio.to_thread.run_sync(PreparedProcess.start)
    try:
        async with open_service(prepared, places, say, sessions_go_on=False) as core:
            try:
                yield core.service
            finally:
                with anyio.move_on_after(LEAVING_SECS, shield=True):
                    await _cancel_all(core)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(prepared.close)


async def _cancel_all(core: Core) -> None:
    caller = Caller(name="the program", rights=frozenset(Right))
    core.calls.refuse_new()
    for session in [*core.calls.sessions]:
        with contextlib.suppress(DonewhenError):  # its process is killed at the end in any case
            await core.service.call(caller, "session.cancel", {"id": session})


def run_with_service(work: Work, say: Say) -> int:
    """Run `work` with the service of the daemon that runs, or with one of this process, and return its result.

    It must be called before any thread or event loop is there. Without a daemon, sessions are cancelled at the end.
    """
    state = state_root(os.environ)
    client = connect(state)
    if client is not None:
        client.close()
        return anyio.run(work, RemoteService(socket_path(state)), True)
    prepared = PreparedProcess.fork()
    try:
        return anyio.run(_work_here, work, prepared, say)
    finally:
        prepared.close()


async def _work_here(work: Work, prepared: PreparedProcess, say: Say) -> int:
    async with open_service(prepared, PLACES, say, sessions_go_on=False) as core:
        return await work(core.service, False)
