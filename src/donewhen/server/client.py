"""Light client of the daemon's unix socket, for the command line: only `json` and `socket` are loaded.

    client = connect(state)              # None if no daemon runs
    client.call("session.cancel", id="…")
"""

import contextlib
import itertools
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from donewhen.server.call_errors import CallFailed
from donewhen.workspace.state_dir import private_directory

CONNECT_SECS = 5.0


def socket_path(state: Path) -> Path:
    """Return the path of the daemon's socket."""
    return private_directory(state / "daemon") / "rpc.sock"


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
        self._reader = line.makefile("rb")
        self._ids = itertools.count(1)
        self._notifications: list[dict[str, Any]] = []

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._reader.close()
            self._line.close()

    def enter(self) -> None:
        """Let the calls of this connection work in the directory and with the variables of this program."""
        self.call("connection.enter", directory=os.getcwd(), variables=dict(os.environ))

    def call(self, method: str, **params: Any) -> Any:
        """Return the result of a call. Raise CallFailed with the kind and the exit code of an error."""
        id = next(self._ids)
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self._line.sendall(json.dumps(request).encode() + b"\n")
        while True:
            message = self._read()
            if message.get("id") == id:
                return _result(message)
            self._notifications.append(message)

    def notifications(self) -> Iterator[dict[str, Any]]:
        """Yield the notifications of this connection until the daemon closes it."""
        while True:
            if self._notifications:
                yield self._notifications.pop(0)
                continue
            try:
                yield self._read()
            except CallFailed:
                return

    def _read(self) -> dict[str, Any]:
        with contextlib.suppress(OSError):
            if data := self._reader.readline():
                return json.loads(data)
        raise CallFailed("machinery", "the daemon closed the connection", 4)


def _result(message: dict[str, Any]) -> Any:
    if "error" not in message:
        return message["result"]
    error = message["error"]
    data = dict(error.get("data") or {})
    text = error["message"] if "problem" not in data else f"{error['message']}: {data['problem']}"
    raise CallFailed(data.pop("kind", "internal"), text, data.pop("exit_code", 4), data)
