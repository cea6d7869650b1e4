"""Runs the web side inside the task group of the daemon.

with open_access(state) as access:
    async with serve_web(service, TABLE, access, WebOptions(port=0), say) as address: ...
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from typing import Any

import anyio
import uvicorn

from donewhen.server.numbers import DaemonNumbers
from donewhen.server.rpc.bounded_json import LONGEST
from donewhen.server.service import Service
from donewhen.server.web.access import CODE_SECS, Access
from donewhen.server.web.access_log import AccessLog
from donewhen.server.web.app import WebApp, WebMount, WebParts
from donewhen.server.web.guarded_protocol import ConnectionGate, GuardedHttp, GuardedWebSocket
from donewhen.server.web.options import BACKLOG, WebListener, WebOptions

STOPPING_SECS = 2
UNLIMITED = 1 << 40
Say = Callable[[str], None]


@contextlib.asynccontextmanager
async def serve_web(
    service: Service,
    methods: Mapping[str, Any],
    access: Access,
    listener: WebListener,
    say: Say,
    *,
    mounts: Sequence[WebMount] = (),
    numbers: Callable[[], DaemonNumbers] | None = None,
) -> AsyncGenerator[None]:
    """Serve while the block runs. Say the address and a code for the browser. Close the listener at the end.

    `methods` are the known names, each with its `right`.
    """
    options = listener.options
    with listener.socket, contextlib.closing(AccessLog(access.directory / "access.log")) as log, _quiet_uvicorn(log):
        parts = WebParts(service=service, methods=methods, access=access, log=log, mounts=mounts, numbers=numbers)
        app = WebApp(parts, listener)
        server = _Server(_config(app, options), ConnectionGate(options, log))
        async with anyio.create_task_group() as tasks:
            await tasks.start(server.run_until_stopped, listener)
            minutes = f"{CODE_SECS / 60:g} minutes"
            say(f"{listener.address}/ - code for the browser: {access.login_code()} (once, within {minutes})")
            try:
                yield
            finally:
                server.should_exit = True


def _config(app: WebApp, options: WebOptions) -> uvicorn.Config:
    limits, defences = options.limits, options.defences
    config = uvicorn.Config(
        app,
        http="h11",
        ws=GuardedWebSocket,
        ws_max_size=LONGEST if defences.size else UNLIMITED,
        ws_ping_interval=limits.ping_secs if defences.deadlines else None,
        ws_ping_timeout=limits.pong_secs,
        ws_per_message_deflate=False,
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=limits.head_bytes if defences.size else UNLIMITED,
        timeout_graceful_shutdown=STOPPING_SECS,
        ssl_certfile=options.tls_certificate,
        ssl_keyfile=options.tls_key,
    )
    config.timeout_keep_alive = limits.idle_secs if defences.deadlines else UNLIMITED  # pyright: ignore[reportAttributeAccessIssue] - its type allows no fractions
    return config


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, with guarded connections."""

    def __init__(self, config: uvicorn.Config, gate: ConnectionGate) -> None:
        super().__init__(config)
        self._gate = gate
        self._is_ready = anyio.Event()

    async def run_until_stopped(self, listener: WebListener, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async def report() -> None:
            await self._is_ready.wait()
            task_status.started()

        with anyio.CancelScope(shield=True):  # it stops by `should_exit`, and then closes its connections
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(report)
                await self.serve([listener.socket])

    async def startup(self, sockets: Any = None) -> None:
        def connection() -> GuardedHttp:
            return GuardedHttp(self.config, self.server_state, {}, self._gate)

        secure = self.config.ssl
        handshake_secs = self._gate.limits.head_secs if secure is not None else None
        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(
                connection, sock=one, ssl=secure, backlog=BACKLOG, ssl_handshake_timeout=handshake_secs
            )
            for one in sockets
        ]
        self.started = True
        self._is_ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _ErrorLines(logging.Handler):
    """Writes that something broke to the access log: the kind of error and no detail."""

    def __init__(self, log: AccessLog) -> None:
        super().__init__(logging.ERROR)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else "an error"
        self._log.write("error", kind)


@contextlib.contextmanager
def _quiet_uvicorn(log: AccessLog) -> Generator[None]:
    """Keep the messages of uvicorn and websockets off the terminal: they contain what clients send."""
    logger, handler = logging.getLogger("uvicorn.error"), _ErrorLines(log)
    was_propagated, level = logger.propagate, logger.level
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = was_propagated
        logger.setLevel(level)
