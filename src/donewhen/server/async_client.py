"""The seam over the daemon's unix socket: what uses a `Service` works with a daemon in another process as with its own.

    service = await daemon_service(state)      # None if no daemon runs
    found = await service.call(caller, "session.get", {"id": "…"})
    async with service.subscribe(caller, "session.subscribe", {"id": "…", "from_seq": 1}) as subscription:
        async for notification in subscription: ...

Every call and every subscription has a connection of its own. A slow reader holds up nothing else, and a call that is
cancelled here ends in the daemon as well, because its connection is closed.
"""

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream

from donewhen.server.call_errors import CallFailed, CallRefused
from donewhen.server.client import CONNECT_SECS, result_of
from donewhen.server.service import Caller, Notification, OneByOne, Subscription, Surroundings
from donewhen.session.person.control_socket import short_address

_PIECE = 1 << 16


async def daemon_service(state: Path) -> "RemoteService | None":
    """Return the service of the daemon that runs on this state directory; None if there is none."""
    service = RemoteService(state / "daemon" / "rpc.sock")
    try:
        async with service.connected():
            return service
    except CallFailed:
        return None


class RemoteService:
    """Implements `Service`. The daemon may end and start again: each call connects anew."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def call(self, caller: Caller, method: str, params: Mapping[str, Any]) -> Any:
        _require_allowed(caller, method, params)
        async with self.connected(caller) as line:
            return await line.result_of(method, params)

    @contextlib.asynccontextmanager
    async def subscribe(self, caller: Caller, method: str, params: Mapping[str, Any]) -> AsyncGenerator[Subscription]:
        """The iteration raises CallFailed when the daemon ends. Connect again then, and go on at the next number."""
        _require_allowed(caller, method, params)
        async with self.connected(caller) as line:
            start = await line.result_of(method, params)
            yield _RemoteSubscription(line, start)

    @contextlib.asynccontextmanager
    async def connected(self, caller: Caller | None = None) -> "AsyncGenerator[_Line]":
        """Provide a connection. Raise CallFailed if no daemon listens."""
        try:
            with anyio.fail_after(CONNECT_SECS), short_address(self._path) as address:
                stream = await anyio.connect_unix(address)
        except (OSError, TimeoutError) as error:
            raise CallFailed("machinery", "no daemon is running", 4) from error
        async with stream:
            line = _Line(stream, caller.hear if caller is not None else None)
            if caller is not None and caller.surroundings is not None:
                await line.enter(caller.surroundings)
            yield line


def _require_allowed(caller: Caller, method: str, params: Mapping[str, Any]) -> None:
    """Keep a caller within its limits: for the daemon, everybody at its socket is the user."""
    from donewhen.server.methods.table import TABLE  # loaded on use: a caller with all rights needs no table

    found = TABLE.get(method)
    if found is not None and found.right not in caller.rights:
        raise CallRefused("not_allowed", f"{caller.name} may not call {method}: it needs the right {found.right.value}")
    if caller.session and params.get("id") != caller.session:
        raise CallRefused("not_allowed", f"{caller.name} may only use session {caller.session}")


class _Line:
    """One connection: a JSON text per line, each way."""

    def __init__(self, stream: SocketStream, hear: Callable[[str], None] | None) -> None:
        self._stream = stream
        self._hear = hear
        self._held = bytearray()

    async def enter(self, where: Surroundings) -> None:
        """Let the request of this connection work in a directory and with the variables of the caller."""
        params = {"directory": where.directory, "variables": dict(where.variables)}
        await self.result_of("connection.enter", params)

    async def result_of(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request. Nothing else is sent until it is there."""
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)})
        try:
            await self._stream.send(text.encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise _closed() from error
        while "id" not in (message := await self.read()):
            pass
        return result_of(message)

    async def read(self) -> dict[str, Any]:
        """Return the next message that is no line for a person."""
        while True:
            message = await self._message()
            if message.get("method") != "connection.note":
                return message
            if self._hear is not None:
                self._hear(message["params"]["text"])

    async def _message(self) -> dict[str, Any]:
        searched = 0
        while (end := self._held.find(b"\n", searched)) < 0:
            searched = len(self._held)
            try:
                self._held += await self._stream.receive(_PIECE)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise _closed() from error
        text = bytes(self._held[:end])
        del self._held[: end + 1]
        return json.loads(text)


class _RemoteSubscription(OneByOne):
    def __init__(self, line: _Line, start: dict[str, Any]) -> None:
        self._line = line
        self._name = start.pop("subscription", "")
        self.start: Mapping[str, Any] = start

    async def __aiter__(self) -> AsyncIterator[Notification]:
        while True:
            message = await self._line.read()
            params: dict[str, Any] = message.get("params") or {}
            if params.get("subscription") != self._name:
                continue
            kind = str(message.get("method", "")).rpartition(".")[2]
            if kind == "event":
                yield Notification("event", json.dumps(params["event"]))
            elif kind == "status":
                yield Notification("status", json.dumps({key: params[key] for key in params if key != "subscription"}))


def _closed() -> CallFailed:
    return CallFailed("closed", "the daemon closed the connection", 4)
