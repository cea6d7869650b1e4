"""The calls of a Python program: the service of a daemon or one in this process, and errors of one kind."""

import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from types import TracebackType
from typing import Any

from donewhen import __version__
from donewhen.errors import DonewhenError
from donewhen.server.async_client import RemoteService
from donewhen.server.call_errors import CallFailed
from donewhen.server.client import socket_path
from donewhen.server.methods.method import Right
from donewhen.server.service import Caller, Service, Subscription, Surroundings
from donewhen.workspace.state_dir import state_root

Say = Callable[[str], None]


class Calls:
    """A service, used in the name of this program. Whatever goes wrong is a CallFailed."""

    def __init__(self, service: Service, caller: Caller) -> None:
        self._service = service
        self._caller = caller

    def absolute(self, repo: str) -> str:
        """Return the path of a repository as a call needs it; empty for that of the current directory."""
        assert self._caller.surroundings is not None
        return os.path.abspath(os.path.join(self._caller.surroundings.directory, repo)) if repo else ""

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        from donewhen.server.methods.table import TABLE  # loaded on use: importing the library stays cheap

        if method not in TABLE:
            raise CallFailed("method_not_found", f"there is no method {method}", 2)
        with _one_kind():
            return await self._service.call(self._caller, method, params)

    @contextlib.asynccontextmanager
    async def subscribe(self, method: str, params: Mapping[str, Any]) -> AsyncGenerator[Subscription]:
        with _one_kind():
            async with self._service.subscribe(self._caller, method, params) as subscription:
                yield subscription


class _one_kind(contextlib.AbstractContextManager[None]):  # noqa: N801 - it is used like a function
    """Turn every error of donewhen into a CallFailed, as the daemon does."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, DonewhenError) or isinstance(error, CallFailed):
            return
        from donewhen.server.error_kinds import error_data

        data = error_data(error)
        raise CallFailed(data.pop("kind"), str(error), data.pop("exit_code"), data) from error


class Connecting:
    """Connects to a daemon, or opens a service in this process until the block ends."""

    def __init__(self, daemon: bool | None, places: int, say: Say) -> None:
        self._daemon = daemon
        self._places = places
        self._say = say
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Calls:
        here = Surroundings(os.getcwd(), dict(os.environ))
        with _one_kind():
            service = await self._of_daemon(here) or await self._in_program()
        caller = Caller(name="Python", rights=frozenset(Right), surroundings=here, hear=self._say)
        return Calls(service, caller)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):  # it leaves the block as it is: the task group inside would wrap it
            await self._stack.__aexit__(None, None, None)
        else:
            await self._stack.__aexit__(kind, error, trace)

    async def _of_daemon(self, here: Surroundings) -> Service | None:
        """Return the service of the daemon; None if this program is to work without."""
        if self._daemon is False:
            return None
        remote = RemoteService(socket_path(state_root(os.environ)))
        try:
            async with remote.connected() as line:
                params = {"directory": here.directory, "variables": dict(here.variables)}
                known = await line.result_of("connection.enter", params)
        except CallFailed:
            if self._daemon:
                raise
            return None
        problem = "" if known["settings"] else "the daemon has other settings (HOME, XDG_*, storage) than this program"
        if known["version"] != __version__:
            problem = f"the daemon has version {known['version']} and this is {__version__}; restart it"
        if problem and self._daemon:
            raise CallFailed("other_daemon", problem, 4)
        if problem:
            self._say(f"note: {problem}; this program works without it")
        return None if problem else remote

    async def _in_program(self) -> Service:
        from donewhen.server.local_service import open_in_program

        return await self._stack.enter_async_context(open_in_program(self._places, self._say))
