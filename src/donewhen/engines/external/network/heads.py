"""The head of an HTTP/1.1 request, read by a strict grammar. Pure: bytes in, a head or a refusal out.

Whatever two programs could read in two ways is refused: a bare line feed, a folded line, a space before a colon, two
lengths, a length beside a transfer coding. Bodies are read elsewhere (`bodies`), by the framing found here.
"""

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus

from donewhen.records import frozen

LARGEST = 64 * 1024
END = b"\r\n\r\n"
MOST_FIELDS = 256
LONGEST_LENGTH = 15
TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
REQUEST_LINE = re.compile(rf"({TOKEN}) ([\x21-\x7e]+) HTTP/1\.([01])")
STATUS_LINE = re.compile(r"HTTP/1\.[01] ([1-5][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?")
FIELD = re.compile(rf"({TOKEN}):[ \t]*([\t\x20-\x7e\x80-\xff]*)")
HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect")
)
"""Fields that are between two neighbours only. `proxy-authenticate` and its like are matched by their beginning."""

Fields = tuple[tuple[str, str], ...]


class BadHead(ValueError):
    """A head that is refused; the message says why, `status` how it is answered."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


@frozen
class Head:
    method: str
    target: str
    minor: int
    """The 0 or 1 of HTTP/1.0 and HTTP/1.1."""
    fields: Fields
    """Names in lower case, in the order they came in."""
    length: int | None
    """Of the body; None when it comes in chunks."""

    def values(self, name: str) -> list[str]:
        return [value for field, value in self.fields if field == name]

    @property
    def has_body(self) -> bool:
        return self.length != 0

    @property
    def stays_open(self) -> bool:
        """Whether another request may follow on the same connection."""
        said = words(self.fields, "connection")
        return "close" not in said and (self.minor == 1 or "keep-alive" in said)


def request(data: bytes) -> Head:
    """A whole head, up to and with its empty line."""
    first, fields = _lines(data)
    line = REQUEST_LINE.fullmatch(first)
    if line is None:
        raise BadHead("a request line that is none")
    hosts = [value for name, value in fields if name == "host"]
    if len(hosts) > 1 or (line[3] == "1" and not hosts):
        raise BadHead("not exactly one Host")
    minor = int(line[3])
    return Head(line[1], line[2], minor, fields, _framing(fields, minor))


def status(data: bytes) -> tuple[int, Fields]:
    """The status and fields of a whole response head."""
    first, fields = _lines(data)
    line = STATUS_LINE.fullmatch(first)
    if line is None:
        raise BadHead("a status line that is none")
    return int(line[1]), fields


def end_to_end(fields: Fields) -> Iterator[tuple[str, str]]:
    """Fields that are passed on: all but those for the next hop, which `Connection` may name more of."""
    named = words(fields, "connection")
    for name, value in fields:
        if name not in HOP_BY_HOP and name not in named and not name.startswith("proxy-"):
            yield name, value


def written(first_line: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """A head of ours, made of fields that were read here."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"{first_line}\r\n{lines}\r\n".encode("latin-1")


def phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return ""


def words(fields: Fields, name: str) -> set[str]:
    """The comma-separated words of a field, in lower case."""
    return {word.strip().lower() for field, value in fields if field == name for word in value.split(",")}


def _lines(data: bytes) -> tuple[str, Fields]:
    if len(data) > LARGEST:
        raise BadHead("a head that is too long", 431)
    if not data.endswith(END):
        raise BadHead("a head without an end")
    first, *rest = data[: -len(END)].decode("latin-1").split("\r\n")
    if len(rest) > MOST_FIELDS:
        raise BadHead("too many header fields", 431)
    return first, tuple(_field(line) for line in rest)


def _field(line: str) -> tuple[str, str]:
    found = FIELD.fullmatch(line)
    if found is None:
        raise BadHead("a header field that is none")
    return found[1].lower(), found[2].rstrip(" \t")


def _framing(fields: Fields, minor: int) -> int | None:
    lengths = [value for name, value in fields if name == "content-length"]
    codings = [value for name, value in fields if name == "transfer-encoding"]
    if len(lengths) + len(codings) > 1:
        raise BadHead("more than one length")
    if codings:
        if codings[0].lower() != "chunked" or minor == 0:
            raise BadHead("a transfer coding that is not understood")
        return None
    if not lengths:
        return 0
    if not re.fullmatch(r"[0-9]+", lengths[0]) or len(lengths[0]) > LONGEST_LENGTH:
        raise BadHead("a length that is none")
    return int(lengths[0])
