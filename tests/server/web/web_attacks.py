"""The attacks of catalogue C on HTTP, WebSocket and tokens. Each returns True if it has the effect that is unwanted.

An attack knows what an attacker knows: the port, and the cookie of a person where a browser would send it along.
"""

import contextlib
import gzip
import http.server
import json
import socket
import struct
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from web_daemon import SECONDS, WebDaemon, status_of
from websockets.exceptions import ConnectionClosed, InvalidStatus

from donewhen.server.rpc.bounded_json import LONGEST
from donewhen.server.web.app import WebMount
from donewhen.server.web.defences import WebDefences
from donewhen.server.web.options import WebLimits

ATTACKED = WebLimits(
    head_secs=0.2, body_secs=0.2, idle_secs=0.2, ping_secs=0.05, pong_secs=0.2, waiting=20, connections=40
)
"""Limits that a test can wait for."""
STILL_OPEN_SECS = 1.0
"""A connection that is not closed in this time has no deadline."""
IDLE = 60

Try = Callable[[WebDaemon], bool]


@dataclass(frozen=True)
class Attack:
    row: str
    """The number in the catalogue."""
    name: str
    succeeds: Try
    without: WebDefences
    """The defences with which it succeeds."""
    each: tuple[WebDefences, ...] = ()
    """Further sets of defences that stop it, where several do."""

    def __str__(self) -> str:
        return f"{self.row} {self.name}"


# -- what stands on the daemon for these attacks --


async def board(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("THE BOARD")(scope, receive, send)


async def naive_files(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve files as careless programs do: the path of the request is appended to a directory."""
    path = Path(f"/usr/share/{scope['path'].removeprefix('/files/')}")
    found = path.is_file()
    await PlainTextResponse(path.read_bytes() if found else "none", 200 if found else 404)(scope, receive, send)


MOUNTS = (WebMount(path="/", app=board, public=True), WebMount(path="/files", app=naive_files, public=True))


def message(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


APPROVE = message("session.approve", id="one")


def has_approved(daemon: WebDaemon) -> bool:
    return any(line.startswith("session.approve") for line in daemon.service.done)


def cookie_of(daemon: WebDaemon) -> str:
    """Return the cookie of a person who has logged in with the browser that is attacked."""
    value = daemon.access.log_in(daemon.access.login_code())
    return f"donewhen_{daemon.port}={value}"


def posted(daemon: WebDaemon, *headers: str, body: bytes = APPROVE, host: str | None = None) -> int:
    """Send a POST to /rpc with these headers. Return the status of the answer."""
    lines = ("POST /rpc HTTP/1.1", f"Content-Length: {len(body)}", "Connection: close", *headers)
    return status_of(daemon.send_raw(daemon.head(*lines, host=host) + body))


JSON = "Content-Type: application/json"


# -- names of the host --


def shows_board(*lines: str, host: str | None) -> Try:
    def attack(daemon: WebDaemon) -> bool:
        named = host.replace("PORT", str(daemon.port)) if host is not None else None
        given = [line.replace("PORT", str(daemon.port)) for line in lines]
        return b"THE BOARD" in daemon.send_raw(daemon.head("GET / HTTP/1.1", "Connection: close", *given, host=named))

    return attack


def rebinding_with_own_origin(daemon: WebDaemon) -> bool:
    host = f"evil.example:{daemon.port}"
    posted(daemon, JSON, f"Origin: http://{host}", f"Cookie: {cookie_of(daemon)}", host=host)
    return has_approved(daemon)


def absolute_form(daemon: WebDaemon) -> bool:
    return status_of(daemon.send_raw(daemon.head("GET http://evil.example/ HTTP/1.1", "Connection: close"))) == 404


ODD_HOSTS = (
    "0.0.0.0:PORT",
    "[::ffff:127.0.0.1]:PORT",
    "[::ffff:7f00:1]:PORT",
    "127.1:PORT",
    "2130706433:PORT",
    "0x7f000001:PORT",
    "127.0.0.1.:PORT",
    "localhost.:PORT",
    "LOCALHOST:PORT",
    "127.0.0.1",
    "127.0.0.1:PORT:80",
    "127.0.0.1:0PORT",
    "127.0.0.1:PORT, evil.example",
    "evil.example#127.0.0.1:PORT",
    "127.0.0.1:PORT@evil.example",
)


# -- pages of other origins --


def from_origin(origin: str, *, fetch_site: str = "") -> Try:
    def attack(daemon: WebDaemon) -> bool:
        stated = origin.replace("NEXT", str(daemon.port + 1)).replace("PORT", str(daemon.port))
        headers = [JSON, f"Origin: {stated}", f"Cookie: {cookie_of(daemon)}"]
        posted(daemon, *headers, *([f"Sec-Fetch-Site: {fetch_site}"] if fetch_site else []))
        return has_approved(daemon)

    return attack


FOREIGN_ORIGINS = (
    "null",
    "file://",
    "chrome-extension://abcdefghijklmnop",
    "http://127.0.0.1:NEXT",
    "http://127.0.0.1",
    "https://127.0.0.1:PORT",
    "http://localhost:PORT",
    "http://evil.example",
    "http://127.0.0.1:PORT.evil.example",
    "HTTP://127.0.0.1:PORT",
)


def two_origins(daemon: WebDaemon) -> bool:
    own = f"Origin: {daemon.address}"
    posted(daemon, JSON, own, "Origin: http://evil.example", f"Cookie: {cookie_of(daemon)}")
    return has_approved(daemon)


def form_with_json(kind: str | None) -> Try:
    def attack(daemon: WebDaemon) -> bool:
        headers = [f"Content-Type: {kind}"] if kind is not None else []
        posted(daemon, *headers, "Origin: http://evil.example", f"Cookie: {cookie_of(daemon)}")
        return has_approved(daemon)

    return attack


FORM_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    None,
    "text/plain; application/json",
    "application/json-patch+json",
    "application/json; charset=utf-7",
)


def websocket_of_another_page(daemon: WebDaemon) -> bool:
    try:
        with daemon.websocket(Origin="http://evil.example", Cookie=cookie_of(daemon)) as line:
            line.send(APPROVE.decode())
            line.recv(SECONDS)
    except InvalidStatus:
        return False
    return has_approved(daemon)


def websocket_with_token_in_address(daemon: WebDaemon) -> bool:
    try:
        with daemon.websocket(daemon.decide_token, path=f"/rpc?a=b&to%6ben={daemon.decide_token}") as line:
            line.send(APPROVE.decode())
            line.recv(SECONDS)
    except InvalidStatus:
        return False
    return has_approved(daemon)


# -- tokens --


def with_authorization(value: Callable[[WebDaemon], str | None]) -> Try:
    def attack(daemon: WebDaemon) -> bool:
        header = value(daemon)
        posted(daemon, JSON, *([f"Authorization: {header}"] if header is not None else []))
        return has_approved(daemon)

    return attack


def two_tokens(daemon: WebDaemon) -> bool:
    posted(daemon, JSON, f"Authorization: Bearer {daemon.token}", f"Authorization: Bearer {daemon.decide_token}")
    return has_approved(daemon)


NONE_SIGNED = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJvd25lciIsImF1ZCI6ImRvbmV3aGVuIn0."
"""A signed token that says that it has no signature."""
TOKENS: dict[str, Callable[[WebDaemon], str | None]] = {
    "no token": lambda _: None,
    "a wrong token": lambda daemon: f"Bearer {'x' * len(daemon.token)}",
    "an empty token": lambda _: "Bearer ",
    "a token with a space before it": lambda daemon: f"Bearer  {daemon.decide_token}",
    "a token with words after it": lambda daemon: f"Bearer {daemon.decide_token} x",
    "half a token": lambda daemon: f"Bearer {daemon.decide_token[:20]}",
    "a token for Basic": lambda daemon: f"Basic {daemon.decide_token}",
    "the name of the file": lambda daemon: f"Bearer {daemon.state}/daemon/decide_token",
    "a code as a token": lambda daemon: f"Bearer {daemon.access.login_code()}",
}


def decide_in_batch_of_submitter(daemon: WebDaemon) -> bool:
    batch = b"[" + message("session.list") + b"," + APPROVE + b"]"
    posted(daemon, JSON, f"Authorization: Bearer {daemon.token}", body=batch)
    return has_approved(daemon)


def events_of_another_session(daemon: WebDaemon) -> bool:
    token = daemon.access.issue_agent_token("one")
    with daemon.websocket(token) as line:
        line.send(message("session.subscribe", id="two").decode())
        first = json.loads(line.recv(SECONDS))
        return "result" in first and "event" in json.loads(line.recv(SECONDS))["params"]


def tell_sessions_apart(daemon: WebDaemon) -> bool:
    """Compare what an agent is answered about a session of others and about one that does not exist."""
    token = daemon.access.issue_agent_token("one")
    answers = [daemon.call("session.get", token=token, id=id) for id in ("two", "no-such-session")]
    return answers[0] != answers[1]


# -- sizes --


def body_without_end(daemon: WebDaemon) -> bool:
    """Send chunks until the daemon closes. Return True if it took twice as much as it should."""
    lines = (JSON, f"Authorization: Bearer {daemon.token}", "Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with daemon.connected() as line, contextlib.suppress(ConnectionError):
        line.sendall(daemon.head("POST /rpc HTTP/1.1", *lines))
        for _ in range(2 * LONGEST // 0x10000):
            line.sendall(chunk)
        line.sendall(b"0\r\n\r\n")
        return status_of(line.recv(1 << 16)) == 200
    return False


def body_of_a_gigabyte(daemon: WebDaemon) -> bool:
    """Announce it. Return True if the daemon waits for it."""
    lines = ("POST /rpc HTTP/1.1", JSON, f"Authorization: Bearer {daemon.token}", f"Content-Length: {1 << 30}")
    return waits_for_more(daemon, daemon.head(*lines, "Expect: 100-continue"))


def compressed_body(daemon: WebDaemon) -> bool:
    body = gzip.compress(b" " * (64 << 20))
    token = f"Authorization: Bearer {daemon.token}"
    return posted(daemon, JSON, token, "Content-Encoding: gzip", body=body) == 200


def token_of_a_megabyte(daemon: WebDaemon) -> bool:
    with contextlib.suppress(ConnectionError):
        return posted(daemon, JSON, f"Authorization: Bearer {'x' * (1 << 20)}") == 200
    return False


def long_websocket_message(daemon: WebDaemon) -> bool:
    """Send a text that is too long, and see whether it is parsed."""
    with daemon.websocket(daemon.token) as line, contextlib.suppress(ConnectionClosed):
        line.send(" " * (LONGEST + 1))
        return "error" in json.loads(line.recv(SECONDS))
    return False


# -- slow clients --


def stays_open(line: socket.socket) -> bool:
    """Return False as soon as the daemon closes the connection."""
    line.settimeout(STILL_OPEN_SECS)
    try:
        while line.recv(1 << 16):
            pass
    except TimeoutError:
        return True
    except ConnectionError:
        pass
    return False


def waits_for_more(daemon: WebDaemon, data: bytes) -> bool:
    with daemon.connected() as line:
        line.sendall(data)
        return stays_open(line)


def nothing_at_all(daemon: WebDaemon) -> bool:
    return waits_for_more(daemon, b"")


def slow_head(daemon: WebDaemon) -> bool:
    return waits_for_more(daemon, b"POST /rpc HTTP/1.1\r\nHost: ")


def slow_second_head(daemon: WebDaemon) -> bool:
    return waits_for_more(daemon, daemon.head("GET / HTTP/1.1") + b"GET / HT")


def slow_body(daemon: WebDaemon) -> bool:
    lines = (JSON, f"Authorization: Bearer {daemon.token}", "Content-Length: 100")
    return waits_for_more(daemon, daemon.head("POST /rpc HTTP/1.1", *lines) + b"[")


def upgrade(daemon: WebDaemon, line: socket.socket) -> None:
    """Make a WebSocket of a connection."""
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    lines = ("GET /rpc HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", key)
    line.sendall(daemon.head(*lines, f"Authorization: Bearer {daemon.token}"))
    assert b" 101 " in line.recv(1 << 16)


def frame(length: int, sent: bytes) -> bytes:
    """Return a text frame of a length, of which perhaps only a part is sent."""
    return b"\x81\xff" + struct.pack("!Q", length) + b"\0\0\0\0" + sent


def slow_frame(daemon: WebDaemon) -> bool:
    with daemon.connected() as line:
        upgrade(daemon, line)
        line.sendall(frame(1000, b"{"))
        return stays_open(line)


def many_idle_connections(daemon: WebDaemon) -> bool:
    """Open many connections. Return True if all of them stay open although others are served."""
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(daemon.connected()) for _ in range(IDLE)]
        assert daemon.ask("GET", "/").status == 200
        return not any(map(is_closed, lines))


def is_closed(line: socket.socket) -> bool:
    line.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        try:
            return line.recv(1) == b""
        except ConnectionError:
            return True
    return False


# -- paths and framing --


def file_outside(path: str) -> Try:
    def attack(daemon: WebDaemon) -> bool:
        return b"root:" in daemon.send_raw(daemon.head(f"GET {path} HTTP/1.1", "Connection: close"))

    return attack


def length_stated_twice(daemon: WebDaemon) -> bool:
    """A front server may take the length, and the daemon the chunks: what follows becomes another request."""
    token = f"Authorization: Bearer {daemon.decide_token}"
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(APPROVE), APPROVE)
    head = daemon.head("POST /rpc HTTP/1.1", JSON, token, "Content-Length: 5", "Transfer-Encoding: chunked")
    daemon.send_raw(head + chunked)
    return has_approved(daemon)


OFF = WebDefences
OWN_ORIGIN = "http://127.0.0.1:PORT"
OUTSIDE = (
    "/files/../../etc/passwd",
    "/files/%2e%2e/%2e%2e/etc/passwd",
    "/files/..%2f..%2fetc%2fpasswd",
    "/files//../../etc/passwd",
)
BOTH_FORM, BOTH_SIZE = OFF(content_type=False, origin=False), OFF(size=False, deadlines=False)
ATTACKS = (
    Attack("C1", "DNS rebinding reads a page", shows_board(host="evil.example:PORT"), OFF(host=False)),
    Attack("C2", "DNS rebinding with an Origin that equals Host", rebinding_with_own_origin, OFF(host=False)),
    *(Attack("C3", f"POST of {one}", from_origin(one), OFF(origin=False)) for one in FOREIGN_ORIGINS),
    Attack("C3", "two origins", two_origins, OFF(origin=False)),
    Attack("C3", "cross-site request", from_origin(OWN_ORIGIN, fetch_site="cross-site"), OFF(origin=False)),
    Attack("C3", "same-site request", from_origin(OWN_ORIGIN, fetch_site="same-site"), OFF(origin=False)),
    *(
        Attack(
            "C4", f"form of type {one}", form_with_json(one), BOTH_FORM, (OFF(origin=False), OFF(content_type=False))
        )
        for one in FORM_TYPES
    ),
    Attack("C6", "WebSocket of another page, with the cookie", websocket_of_another_page, OFF(origin=False)),
    Attack("C6", "WebSocket with a token in the address", websocket_with_token_in_address, OFF(form=False)),
    *(Attack("C7", f"Host: {one}", shows_board(host=one), OFF(host=False)) for one in ODD_HOSTS),
    Attack("C7", "request line with another host", absolute_form, OFF(form=False)),
    *(Attack("C8", name, with_authorization(value), OFF(access=False)) for name, value in TOKENS.items()),
    Attack("C8", "two tokens", two_tokens, OFF(access=False)),
    Attack("C8", "long token", token_of_a_megabyte, OFF(access=False, size=False), (OFF(access=False),)),
    Attack("C9", "signed token", with_authorization(lambda _: f"Bearer {NONE_SIGNED}"), OFF(access=False)),
    *(Attack("C16", path, file_outside(path), OFF(form=False)) for path in OUTSIDE),
    Attack("C17", "a body of a gigabyte is announced", body_of_a_gigabyte, BOTH_SIZE),
    Attack("C17", "chunks without an end", body_without_end, BOTH_SIZE, (OFF(deadlines=False),)),
    Attack("C17", "a compressed body", compressed_body, OFF(form=False)),
    Attack("C17", "a long WebSocket message", long_websocket_message, OFF(size=False)),
    Attack("C18", "a connection that sends nothing", nothing_at_all, OFF(deadlines=False)),
    Attack("C18", "a head that does not end", slow_head, OFF(deadlines=False)),
    Attack("C18", "a second head that does not end", slow_second_head, OFF(deadlines=False)),
    Attack("C18", "a body that does not end", slow_body, OFF(deadlines=False)),
    Attack("C18", "a WebSocket message that does not end", slow_frame, OFF(deadlines=False)),
    Attack("C18", "many idle connections", many_idle_connections, OFF(connections=False, deadlines=False)),
    Attack("C20", "a decision in a batch of a submitter", decide_in_batch_of_submitter, OFF(access=False)),
    Attack("C29", "the length of the body is stated twice", length_stated_twice, OFF(form=False)),
    Attack("C30", "an agent follows another session", events_of_another_session, OFF(access=False)),
    Attack("C32", "an agent learns which sessions exist", tell_sessions_apart, OFF(access=False)),
)


# -- a careless server, as the control of what the parser itself refuses --


@contextlib.contextmanager
def careless_server() -> Generator[tuple[int, list[bytes]]]:
    """Run the server of the standard library. Yield its port and the bodies that it has taken."""
    taken: list[bytes] = []

    class Careless(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
            self.answer()

        def do_OPTIONS(self) -> None:
            self.answer()

        def answer(self) -> None:
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Careless) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1], taken
        finally:
            server.shutdown()
            thread.join()


def malformed_requests(host: str, token: str) -> Iterator[tuple[str, bytes]]:
    """Yield requests that two parsers read differently."""
    lines = ["POST /rpc HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token}", JSON, "Connection: close"]
    length = f"Content-Length: {len(APPROVE)}"

    def request(*more: str, end: str = "\r\n") -> bytes:
        return end.join([*lines, *more, "", ""]).encode() + APPROVE

    yield "two Host headers", request(length, "Host: evil.example")
    yield "two lengths", request(length, f"Content-Length: {len(APPROVE) + 5}")
    yield "a length with a sign", request(f"Content-Length: +{len(APPROVE)}")
    yield "a length with an underscore", request(f"Content-Length: {len(APPROVE) // 10}_{len(APPROVE) % 10}")
    yield "a space before the colon", request(length, "X-Other : 1")
    yield "a NUL in a header", request(length, "X-Other: a\0b")
    yield "an unknown coding", request(length, "Transfer-Encoding: xchunked")
