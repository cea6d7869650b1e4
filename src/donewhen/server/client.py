"""Light client of the daemon's unix socket, for the command line: only `json` and `socket` are loaded.

client = connect(state)              # None if no daemon runs
client.call("session.cancel", id="…")
"""

import contextlib
import itertools
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput
from donewhen.server.call_errors import CallFailed
from donewhen.workspace.state_dir import private_directory

CONNECT_SECS = 5.0


def socket_path(state: Path) -> Path:
    """Return the path of the daemon's socket."""
    return private_directory(state / "daemon") / "rpc.sock"


def remove_stale(path: Path) -> None:
    """Remove the socket of a daemon that died. The caller holds the lock of the daemon."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{path} is in the way and cannot be removed: {error.strerror}") from error


def connect(state: Path) -> "DaemonClient | None":
    """Return a client of the daemon that runs on this state directory; None if there is none."""
    path = state / "daemon" / "rpc.sock"
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(CONNECT_SECS)
    try:
        directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            line.connect(f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)
    except OSError:
        line.close()
        return None
    line.settimeout(None)
    return DaemonClient(line)


class DaemonClient:
    """One connection. Calls are made one after the other; notifications that come meanwhile are kept."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._held = bytearray()
        self._ids = itertools.count(1)
        self._notifications: list[dict[str, Any]] = []
        self.hear: Callable[[str], None] = _ignore
        """Receives lines for a person about the calls of this connection."""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._line.close()

    def fileno(self) -> int:
        return self._line.fileno()

    def enter(self) -> Any:
        """Let the calls of this connection work in the directory and with the variables of this program."""
        return self.call("connection.enter", directory=os.getcwd(), variables=dict(os.environ))

    def call(self, method: str, **params: Any) -> Any:
        """Return the result of a call. Raise CallFailed with the kind and the exit code of an error."""
        id = next(self._ids)
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        try:
            self._line.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise _closed() from error
        while True:
            message = self._read()
            if message.get("id") == id:
                return result_of(message)
            self._keep(message)

    def notifications(self) -> Iterator[dict[str, Any]]:
        """Yield the notifications of this connection. Raise CallFailed when the daemon closes it."""
        while True:
            while self._notifications:
                yield self._notifications.pop(0)
            self._keep(self._read())

    def received(self) -> Iterator[dict[str, Any]]:
        """Yield the notifications that have been received completely, and wait for no other."""
        while True:
            while b"\n" in self._held:
                self._keep(self._read())
            if not self._notifications:
                return
            yield self._notifications.pop(0)

    def receive(self) -> None:
        """Receive what is readable now. Raise CallFailed if the daemon has closed the connection."""
        try:
            data = self._line.recv(1 << 16)
        except OSError as error:
            raise _closed() from error
        if not data:
            raise _closed()
        self._held += data

    def _keep(self, message: dict[str, Any]) -> None:
        if message.get("method") == "connection.note":
            self.hear(message["params"]["text"])
        elif "method" in message:
            self._notifications.append(message)

    def _read(self) -> dict[str, Any]:
        start = 0
        while (end := self._held.find(b"\n", start)) < 0:
            start = len(self._held)
            self.receive()
        line = bytes(self._held[:end])
        del self._held[: end + 1]
        return json.loads(line)


def _ignore(line: str) -> None:
    del line


def _closed() -> CallFailed:
    return CallFailed("closed", "the daemon closed the connection", 4)


def result_of(message: dict[str, Any]) -> Any:
    if "error" not in message:
        return message["result"]
    error = message["error"]
    data = dict(error.get("data") or {})
    text = error["message"] if "problem" not in data else f"{error['message']}: {data['problem']}"
    raise CallFailed(data.pop("kind", "internal"), text, data.pop("exit_code", 4), data)
