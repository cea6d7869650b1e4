"""The web side in a thread of its own, with a small service behind it, and raw clients for it.

with running(tmp_path) as daemon:
    daemon.ask("POST", "/rpc", body, token=daemon.token)
"""

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
from websockets.sync.client import ClientConnection, connect

from donewhen.errors import BadInput
from donewhen.server.call_errors import CallRefused
from donewhen.server.methods.method import Method, Right
from donewhen.server.numbers import DaemonNumbers
from donewhen.server.service import Caller, Notification, OneByOne, Subscription
from donewhen.server.web.access import Access, open_access
from donewhen.server.web.app import WebMount
from donewhen.server.web.options import WebOptions, listen
from donewhen.server.web.serve import serve_web

SECONDS = 30.0


def method(name: str, right: Right) -> Method:
    return Method(name=name, function=lambda: None, right=right)


METHODS = {
    one.name: one
    for one in (
        method("session.list", Right.OBSERVE),
        method("session.get", Right.OBSERVE),
        method("session.start", Right.SUBMIT),
        method("session.approve", Right.DECIDE),
        method("wait", Right.OBSERVE),
    )
}
SESSIONS = {"one": 3, "two": 2}
"""The sessions of the service and the number of their events."""
ENDLESS = "endless"
"""A further session, which has events without an end."""


class SmallService:
    """A service with two sessions that keeps a list of what it was asked to do."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.cancelled = threading.Event()
        self.waiting = threading.Event()
        self.unsubscribed = threading.Event()

    async def call(self, caller: Caller, method: str, params: Mapping[str, Any]) -> Any:
        if METHODS[method].right not in caller.rights:
            raise CallRefused("not_allowed", f"{caller.name} may not call {method}")
        if caller.session and params.get("id") != caller.session:
            raise CallRefused("not_allowed", f"{caller.name} may only use its session")
        self.done.append(f"{method} by {caller.name}")
        match method:
            case "session.list":
                return [*SESSIONS]
            case "wait":
                self.waiting.set()
                try:
                    await anyio.sleep_forever()
                finally:
                    self.cancelled.set()
            case _:
                if params.get("id") not in SESSIONS:
                    raise BadInput("there is no such session")
                return {"id": params["id"]}

    @contextlib.asynccontextmanager
    async def subscribe(self, caller: Caller, method: str, params: Mapping[str, Any]) -> AsyncGenerator[Subscription]:
        session = str(params.get("id", ""))
        if caller.session and (method != "session.subscribe" or session != caller.session):
            raise CallRefused("not_allowed", f"{caller.name} may only use its session")
        try:
            yield Events(session)
        finally:
            self.unsubscribed.set()


class Events(OneByOne):
    def __init__(self, session: str) -> None:
        self._session = session

    @property
    def start(self) -> Mapping[str, Any]:
        return {"id": self._session}

    async def batches(self) -> AsyncGenerator[Sequence[Notification]]:
        for seq in range(1, SESSIONS.get(self._session, 0) + 1):
            yield [Notification("event", json.dumps({"seq": seq}))]
        while self._session == ENDLESS:
            yield [Notification("event", json.dumps({"text": "x" * 10_000}))]
        await anyio.sleep_forever()

    async def __aiter__(self) -> AsyncIterator[Notification]:
        async with contextlib.aclosing(self.batches()) as batches:
            async for batch in batches:
                yield batch[0]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class WebDaemon:
    address: str
    state: Path
    access: Access
    service: SmallService
    said: list[str]
    secure: ssl.SSLContext | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.state / "daemon" / "token").read_text().strip()

    @property
    def decide_token(self) -> str:
        return (self.state / "daemon" / "decide_token").read_text().strip()

    @property
    def log(self) -> str:
        return (self.state / "daemon" / "access.log").read_text()

    def ask(self, verb: str, path: str, body: Any = None, *, token: str = "", **headers: str) -> Answer:
        """Make one request like a sound client. An underscore in the name of a header is a hyphen."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            given["Authorization"] = f"Bearer {token}"
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            given.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        if self.secure is not None:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=self.secure)
        with contextlib.closing(connection):
            connection.request(verb, path, data, given)
            response = connection.getresponse()
            answered = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, answered, response.read())

    def call(self, method: str, *, token: str, **params: Any) -> Any:
        """Call a method by POST and return the whole response."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.ask("POST", "/rpc", request, token=token).json

    def send_raw(self, data: bytes) -> bytes:
        """Send bytes on a new connection and return all that comes until the daemon closes it."""
        with self.connected() as line:
            line.sendall(data)
            return read_to_end(line)

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)

    def head(self, *lines: str, host: str | None = None) -> bytes:
        """Return a request with these lines, with a sound Host header unless another one is given."""
        named = [] if host == "" else [f"Host: {host or self.host}"]
        first, *others = lines
        return "\r\n".join([first, *named, *others, "", ""]).encode("latin-1")

    def websocket(self, token: str = "", path: str = "/rpc", **headers: str) -> ClientConnection:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            given["Authorization"] = f"Bearer {token}"
        return connect(f"ws://127.0.0.1:{self.port}{path}", additional_headers=given, proxy=None, open_timeout=SECONDS)


def read_to_end(line: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while data := line.recv(1 << 16):
            received += data
    return received


def status_of(response: bytes) -> int:
    """Return the status of a raw response; 0 if there is none."""
    return int(response.split()[1]) if response.startswith(b"HTTP/1.1 ") else 0


NUMBERS = DaemonNumbers(
    sessions={"working": 2, "finished": 7}, live=2, waiting=1, calls=3, subscribers=4, events_read=5000
)


@contextlib.contextmanager
def running(
    state: Path,
    options: WebOptions | None = None,
    mounts: tuple[WebMount, ...] = (),
    secure: ssl.SSLContext | None = None,
) -> Generator[WebDaemon]:
    service, said = SmallService(), list[str]()
    listener = listen(options or WebOptions(port=0))
    with anyio.from_thread.start_blocking_portal() as portal, open_access(state) as access:
        web = serve_web(service, METHODS, access, listener, said.append, mounts=mounts, numbers=lambda: NUMBERS)
        with portal.wrap_async_context_manager(web):
            yield WebDaemon(listener.address, state, access, service, said, secure)
