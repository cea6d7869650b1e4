"""The real `donewhen serve` for tests, and a client of its unix socket that uses nothing of the program.

    with serving("--places", "1") as daemon, daemon.client() as client:
        started = client.ask("session.start", intent="…", repo="…")

Every process that the daemon starts is dead at the end, also after `kill -9`, and the end says which ones were left.
"""

import contextlib
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from program import PROGRAM

REAPER = Path(__file__).with_name("reaper.py")
SECONDS = 60.0
"""How long a busy machine may take for anything that is waited for."""
LOOK_SECS = 0.01
LISTENS = "the daemon listens on "
T = TypeVar("T")
Message = dict[str, Any]


def eventually(look: Callable[[], T], what: str = "") -> T:
    """Return the first true value of `look`. Fail if there is none for a long time."""
    until = time.monotonic() + SECONDS
    while not (found := look()):
        assert time.monotonic() < until, what or "it did not happen"
        select.select([], [], [], LOOK_SECS)
    return found


class RpcFailed(Exception):
    """The response was an error."""

    def __init__(self, error: Message) -> None:
        super().__init__(f"{error['message']} {error.get('data')}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Message = error.get("data") or {}

    @property
    def kind(self) -> str:
        return str(self.data.get("kind"))


class Client:
    """One connection: lines of JSON, without any code of the program."""

    def __init__(self, path: Path) -> None:
        self._line = socket.socket(socket.AF_UNIX)
        self._line.settimeout(SECONDS)
        directory = os.open(path.parent, os.O_PATH)
        try:
            self._line.connect(f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)
        self._reader = self._line.makefile("rb")
        self._ids = itertools.count(1)
        self.heard: list[Message] = []
        """Notifications that came while a response was waited for."""

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._reader.close()
        self._line.close()

    def send_bytes(self, data: bytes) -> None:
        self._line.sendall(data)

    def send(self, message: object) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def read(self) -> Any:
        """Return the next message. Raise EOFError if the daemon has closed the connection."""
        try:
            line = self._reader.readline()
        except ConnectionResetError:
            line = b""
        if not line:
            raise EOFError
        return json.loads(line)

    def response(self) -> Any:
        """Return the next message that is no notification."""
        while "method" in (message := self.read()):
            self.heard.append(message)
        return message

    def begin(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        id = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return id

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a call. Raise RpcFailed for an error."""
        id = self.begin(method, **params)
        message = self.response()
        assert message["jsonrpc"] == "2.0"
        assert message["id"] == id
        if "error" in message:
            raise RpcFailed(message["error"])
        return message["result"]

    def refused(self, method: str, **params: Any) -> RpcFailed:
        """Return the error of a call that must fail."""
        try:
            result = self.ask(method, **params)
        except RpcFailed as error:
            return error
        raise AssertionError(f"{method} was carried out: {result}")

    def notification(self) -> Message:
        """Return the next notification of a subscription."""
        while True:
            message = self.heard.pop(0) if self.heard else self.read()
            if message.get("method", "").startswith(("session.", "board.")):
                return message

    def until_status(self, holds: Callable[[Message], bool]) -> tuple[list[Message], Message]:
        """Read a subscription until a status for which `holds` is true. Return the events before it, and it."""
        events: list[Message] = []
        while True:
            message = self.notification()
            params = message["params"]
            if message["method"].endswith(".event"):
                events.append(params["event"])
            elif holds(params):
                return events, params

    def follow(self, id: str, from_seq: int = 1) -> tuple[list[Message], Message]:
        """Subscribe to a session and read until it rests: it has ended or waits, and no process works on it."""
        self.ask("session.subscribe", id=id, from_seq=from_seq)
        return self.until_status(rests)


def rests(status: Message) -> bool:
    return not status["live"] and status["state"] in ("finished", "waiting")


def has_ended(status: Message) -> bool:
    return not status["live"] and status["state"] == "finished"


class Daemon:
    """One `donewhen serve`, from its start to its end."""

    def __init__(self, log: Path, *options: str, cwd: Path, env: Mapping[str, str] | None) -> None:
        self._log = log
        command = [sys.executable, "-I", "-S", str(REAPER), str(PROGRAM), "serve", *options]
        with log.open("wb") as out:
            self._reaper = subprocess.Popen(
                command,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=out,
            )
        self.pid = int(self._answer()["pid"])
        self.code: int | None = None
        self._state = Path({**os.environ, **(env or {})}["XDG_STATE_HOME"]) / "donewhen"

    @property
    def log(self) -> str:
        """Everything that the daemon has printed."""
        return self._log.read_text("utf-8", "replace")

    @property
    def socket(self) -> Path:
        return self._state / "daemon" / "rpc.sock"

    def wait_for_line(self, words: str) -> str:
        """Return the first printed line with these words. Fail if the daemon ends without it."""

        def found() -> str:
            lines = [line for line in self.log.splitlines() if words in line]
            return lines[0] if lines else "" if _is_there(self.pid) else "ended"

        line = eventually(found, words)
        assert line != "ended" or words in self.log, (self.wait(), self.log)
        return line

    def client(self) -> Client:
        return Client(self.socket)

    def prepared(self) -> int:
        """Return the process id of the prepared process."""
        return eventually(lambda: _children(self.pid))[0]

    def call_processes(self) -> list[int]:
        """Return the process ids of the calls that run now."""
        return _children(self.prepared())

    def owner(self, session: str) -> int:
        """Return the process id of what works on a session."""
        from donewhen.session.log.open_archive import any_archive

        with any_archive() as archive:
            owner = archive.owner(session)
        assert owner is not None
        return owner.pid

    def kill(self) -> None:
        """kill -9: what it started may go on."""
        self.signal(signal.SIGKILL)
        self.wait()

    def signal(self, *signals: signal.Signals) -> None:
        for one in signals:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, one)

    def stop(self) -> int:
        """End it as a service manager does. Return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        if self.code is None:
            self.code = int(self._answer()["ended"])
        return self.code

    def left(self) -> list[tuple[int, str]]:
        """Return the living processes that it has started, itself included."""
        assert self._reaper.stdin is not None
        self._reaper.stdin.write(b"left\n")
        self._reaper.stdin.flush()
        answer: Any = self._answer()
        while "left" not in answer:
            self.code = int(answer["ended"])
            answer = self._answer()
        return [(int(pid), str(command)) for pid, command in answer["left"]]

    def nothing_left(self) -> None:
        """Fail unless every process that it has started ends."""
        eventually(lambda: not self.left(), f"still alive: {self.left()}")

    def close(self) -> None:
        """Kill what is there."""
        assert self._reaper.stdin is not None and self._reaper.stdout is not None
        self._reaper.stdin.close()
        self._reaper.wait(SECONDS)
        self._reaper.stdout.close()

    def _answer(self) -> Any:
        assert self._reaper.stdout is not None
        killer = threading.Timer(SECONDS, self._reaper.kill)
        killer.start()
        line = self._reaper.stdout.readline()
        killer.cancel()
        assert line, f"the daemon does not end:\n{self.log}"
        return json.loads(line)


@contextlib.contextmanager
def started(*options: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Generator[Daemon]:
    """Start `donewhen serve` in the home of the test, and kill it and all that it has started at the end."""
    with tempfile.TemporaryDirectory() as place:
        home = Path({**os.environ, **(env or {})}["HOME"])
        daemon = Daemon(Path(place) / "log", "--port", "0", *options, cwd=cwd or home, env=env)
        try:
            yield daemon
        finally:
            daemon.close()


@contextlib.contextmanager
def serving(*options: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Generator[Daemon]:
    """The same, from when it listens. At the end it is stopped, and nothing that it has started may be left."""
    with started(*options, cwd=cwd, env=env) as daemon:
        daemon.wait_for_line(LISTENS)
        yield daemon
        if daemon.code is None:
            daemon.signal(signal.SIGINT)
            assert daemon.wait() == 0, daemon.log
        daemon.nothing_left()
        assert "Traceback" not in daemon.log, daemon.log
        assert "Exception in callback" not in daemon.log, daemon.log


def _is_there(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"Z" not in Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1]
    return False


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
