"""The server of the script: HTTP/1.1 on a loopback port, one act per request, everything received is kept.

It does not know the meaning of a reply; a fault breaks the reply at the level of bytes and sockets.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .answers import Answer, Wire, frames, wire_of
from .whole import aside, offers_tools, streams, whole

PING_GAP_SECS = 0.01
COMMENT = b": still here\n\n"
ANTHROPIC_PING = b'event: ping\ndata: {"type": "ping"}\n\n'


@dataclass(frozen=True)
class Says:
    """The complete reply, optionally with a gap between its events."""

    answer: Answer
    gap_secs: float = 0.0


@dataclass(frozen=True)
class Refuses:
    status: int
    body: bytes = b'{"error": {"message": "no"}}'
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Sends:
    """Any bytes as the body of a stream that ends properly; made for the requested wire."""

    body: bytes | Callable[[Wire], bytes]


@dataclass(frozen=True)
class Cuts:
    """The first events of a reply; then the connection is cut (or, orderly, the stream ends)."""

    answer: Answer
    events: int
    orderly: bool = False


@dataclass(frozen=True)
class Stalls:
    """The first events of a reply, and half of the next; then nothing, with the connection open."""

    answer: Answer
    events: int


@dataclass(frozen=True)
class Silent:
    """Not even a status."""


@dataclass(frozen=True)
class Pings:
    """The first events of a reply, then keep-alive events without end."""

    answer: Answer
    events: int = 0


@dataclass(frozen=True)
class Received:
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    """The source port: the same for requests over one connection."""


@dataclass(frozen=True)
class Decides:
    """Computed from the request; called in the thread of that request, so it may wait for others."""

    act: "Callable[[Received], Act]"


Act = Says | Refuses | Sends | Cuts | Stalls | Silent | Pings | Decides


@dataclass
class WireServer:
    """What was received, and the remaining acts. With `again` the last act repeats."""

    acts: list[Act]
    again: bool = False
    besides: Act | None = None
    """The reply to a request that offers no tools (titles, summaries); None: they are part of the script."""
    received: list[Received] = field(init=False, default_factory=list[Received])
    asides: list[Received] = field(init=False, default_factory=list[Received])
    """Requests outside the script: other paths, and those that `besides` answers."""
    closing: threading.Event = field(init=False, default_factory=threading.Event)
    port: int = field(init=False, default=0)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def next_act(self, received: Received) -> Act:
        with self._lock:
            if self.besides is not None and not offers_tools(received.body):
                self.asides.append(received)
                return self.besides
            self.received.append(received)
            if not self.acts:
                return Refuses(400, b'{"error": {"message": "the script of the server has no more acts"}}')
            return self.acts[0] if self.again and len(self.acts) == 1 else self.acts.pop(0)


@contextlib.contextmanager
def serving(
    *acts: Act, again: bool = False, besides: Act | None = None, port: int = 0, tls: ssl.SSLContext | None = None
) -> Generator[WireServer]:
    """A server for the duration of the block."""
    script = WireServer(list(acts), again, besides)
    server = _Server(("127.0.0.1", port), _Handler)
    server.script = script
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    script.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        script.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    script: WireServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A disconnecting client is part of most scripts."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - this handler is only used by that server

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the tests look at what was received."""

    def do_HEAD(self) -> None:
        self.server.script.asides.append(self._received())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._aside(self._received())

    def do_POST(self) -> None:
        received, wire = self._received(), wire_of(self.path)
        if wire is None:
            self._aside(received)
            return
        act = self.server.script.next_act(received)
        while isinstance(act, Decides):
            act = act.act(received)
        if isinstance(act, Refuses):
            self._refuse(act)
        elif isinstance(act, Silent):
            self._end_when_closing()
        elif isinstance(act, Says) and not streams(self.path, received.body):
            self._refuse(Refuses(200, whole(wire, act.answer)))
        else:
            self._stream(act, wire)

    def _received(self) -> Received:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Received(self.path, headers, body, self.client_address[1])

    def _aside(self, received: Received) -> None:
        self.server.script.asides.append(received)
        known = aside(received.path)
        self._refuse(Refuses(404, b'{"error": {"message": "no such path"}}') if known is None else Refuses(200, known))

    def _refuse(self, act: Refuses) -> None:
        self.send_response(act.status)
        for name, value in {"Content-Type": "application/json", **act.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(act.body)))
        self.end_headers()
        self.wfile.write(act.body)

    def _stream(self, act: Says | Sends | Cuts | Stalls | Pings, wire: Wire) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunks(self._pieces(act, wire))
        if isinstance(act, Cuts) and not act.orderly:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif isinstance(act, Stalls):
            self._end_when_closing()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _pieces(self, act: Says | Sends | Cuts | Stalls | Pings, wire: Wire) -> Iterator[bytes]:
        match act:
            case Says(answer, gap):
                for frame in frames(wire, replace(answer, number=len(self.server.script.received))):
                    yield frame
                    if gap:
                        self.server.script.closing.wait(gap)
            case Sends(body):
                yield body(wire) if callable(body) else body
            case Cuts(answer, events):
                yield from frames(wire, answer)[:events]
            case Stalls(answer, events):
                every = frames(wire, answer)
                yield from every[:events]
                yield every[events][: len(every[events]) // 2]
            case Pings(answer, events):
                yield from frames(wire, answer)[:events]
                while not self.server.script.closing.wait(PING_GAP_SECS):
                    yield ANTHROPIC_PING if wire == "anthropic" else COMMENT

    def _chunks(self, pieces: Iterable[bytes]) -> None:
        for piece in filter(None, pieces):  # an empty chunk would be the last one
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

    def _end_when_closing(self) -> None:
        self.close_connection = True
        self.server.script.closing.wait()
