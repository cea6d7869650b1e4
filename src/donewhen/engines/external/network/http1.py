"""HTTP/1.1 heads and request bodies, read by a strict grammar.

Heads are parsed without I/O: bytes in, a head or `BadHead` out. Everything that two programs could read in two ways is
refused: a bare line feed, a folded line, a space before a colon, two lengths, a length together with a transfer coding.

A body is read as it arrives, piece by piece, by the framing of its head, and never kept whole. Chunks are read
strictly. Their extensions and trailers are dropped, because what is passed on is framed again.
"""

import re
from collections.abc import AsyncGenerator, Iterable, Iterator
from http import HTTPStatus

from donewhen.engines.external.network.stream import ConnectionClosed, SocketStream
from donewhen.records import frozen

LARGEST = 64 * 1024
END = b"\r\n\r\n"
MOST_FIELDS = 256
LONGEST_LENGTH = 15
TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
REQUEST_LINE = re.compile(rf"({TOKEN}) ([\x21-\x7e]+) HTTP/1\.([01])")
STATUS_LINE = re.compile(r"HTTP/1\.[01] ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
FIELD = re.compile(rf"({TOKEN}):[ \t]*+([\t\x20-\x7e\x80-\xff]*)")
HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect")
)
"""Fields for the next hop only. `proxy-authenticate` and similar fields are matched by their prefix."""

Fields = tuple[tuple[str, str], ...]


class BadHead(ValueError):
    """A refused head or body; the message states why, `status` is the status of the answer."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


@frozen
class RequestHead:
    method: str
    target: str
    minor: int
    """The 0 or 1 of HTTP/1.0 and HTTP/1.1."""
    fields: Fields
    """Names in lower case, in the order of arrival."""
    length: int | None
    """Length of the body; None if it arrives in chunks."""

    def values(self, name: str) -> list[str]:
        return [value for field, value in self.fields if field == name]

    @property
    def has_body(self) -> bool:
        return self.length != 0

    @property
    def stays_open(self) -> bool:
        """True if another request may follow on the same connection."""
        options = words(self.fields, "connection")
        return "close" not in options and (self.minor == 1 or "keep-alive" in options)


def request(data: bytes) -> RequestHead:
    """Parse a whole head, up to and including its empty line."""
    first, fields = _parse_head(data)
    line = REQUEST_LINE.fullmatch(first)
    if line is None:
        raise BadHead("invalid request line")
    hosts = [value for name, value in fields if name == "host"]
    if len(hosts) > 1 or (line[3] == "1" and not hosts):
        raise BadHead("not exactly one Host header")
    minor = int(line[3])
    return RequestHead(line[1], line[2], minor, fields, _framing(fields, minor))


def status(data: bytes) -> tuple[int, Fields]:
    """Return the status and fields of a whole response head."""
    first, fields = _parse_head(data)
    line = STATUS_LINE.fullmatch(first)
    if line is None:
        raise BadHead("invalid status line")
    return int(line[1]), fields


def end_to_end(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield the fields to pass on: all but those for the next hop, which include those that `Connection` names."""
    connection_words = words(fields, "connection")
    for name, value in fields:
        if name not in HOP_BY_HOP and name not in connection_words and not name.startswith("proxy-"):
            yield name, value


def head_bytes(first_line: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """Build a head of ours from fields that were read here."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"{first_line}\r\n{lines}\r\n".encode("latin-1")


def phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return ""


def words(fields: Fields, name: str) -> set[str]:
    """Return the comma-separated words of a field, in lower case."""
    return {word.strip().lower() for field, value in fields if field == name for word in value.split(",")}


def _parse_head(data: bytes) -> tuple[str, Fields]:
    if len(data) > LARGEST:
        raise BadHead("head too long", 431)
    if not data.endswith(END):
        raise BadHead("head without an end")
    first, *rest = data[: -len(END)].decode("latin-1").split("\r\n")
    if len(rest) > MOST_FIELDS:
        raise BadHead("too many header fields", 431)
    return first, tuple(_field(line) for line in rest)


def _field(line: str) -> tuple[str, str]:
    found = FIELD.fullmatch(line)
    if found is None:
        raise BadHead("invalid header field")
    return found[1].lower(), found[2].rstrip(" \t")


def _framing(fields: Fields, minor: int) -> int | None:
    lengths = [value for name, value in fields if name == "content-length"]
    codings = [value for name, value in fields if name == "transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        raise BadHead("more than one content length")
    if codings:
        if codings[0].lower() != "chunked" or minor == 0:
            raise BadHead("unknown transfer coding")
        return None
    if not lengths:
        return 0
    if not re.fullmatch(r"[0-9]+", lengths[0]) or len(lengths[0]) > LONGEST_LENGTH:
        raise BadHead("invalid content length")
    return int(lengths[0])


LONGEST_LINE = 4096
MOST_TRAILERS = 64
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
CRLF = b"\r\n"
LAST_CHUNK = b"0\r\n\r\n"


async def body(stream: SocketStream, head: RequestHead) -> AsyncGenerator[bytes]:
    """Yield the body. Raise `ConnectionClosed` if it stops in the middle, `BadHead` if its framing is wrong."""
    if head.length is not None:
        async for piece in _read_exactly(stream, head.length):
            yield piece
        return
    while size := await _chunk_size(stream):
        async for piece in _read_exactly(stream, size):
            yield piece
        if await _read_line(stream) != CRLF:
            raise BadHead("chunk longer than its size")
    for _ in range(MOST_TRAILERS):
        if await _read_line(stream) == CRLF:
            return
    raise BadHead("too many trailers")


async def send_continue(stream: SocketStream, head: RequestHead) -> None:
    """Ask a client that waits for `100 Continue` to send its body."""
    if head.minor == 1 and head.has_body and "100-continue" in words(head.fields, "expect"):
        await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _read_exactly(stream: SocketStream, count: int) -> AsyncGenerator[bytes]:
    while count:
        data = await stream.receive()
        if not data:
            raise ConnectionClosed
        if len(data) > count:
            stream.put_back(data[count:])
            data = data[:count]
        count -= len(data)
        yield data


async def _chunk_size(stream: SocketStream) -> int:
    found = CHUNK.fullmatch(await _read_line(stream))
    if found is None:
        raise BadHead("chunk without a size")
    return int(found[1], 16)


async def _read_line(stream: SocketStream) -> bytes:
    line = await stream.receive_until(CRLF, LONGEST_LINE)
    if line is None:
        raise BadHead("line between chunks too long")
    return line
