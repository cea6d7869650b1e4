"""TLS ClientHello reader: which host a TLS connection says it is for. Pure: bytes in, a name or a refusal out.

Only the ClientHello is read, from as many records as it needs. A hello that is encrypted as a whole (ECH) shows only
the name of its outer envelope. That the same server also answers for other names is not visible here.
"""

LARGEST = 64 * 1024
HANDSHAKE, CLIENT_HELLO = 22, 1
SERVER_NAME, HOST_NAME = 0, 0
LARGEST_RECORD = 16384
MOST_RECORDS = 64
ACCESS_DENIED = bytes.fromhex("15030300020231")
"""A fatal alert, so that a program reports why its connection was refused."""


class NotTls(ValueError):
    """The data is not the beginning of a TLS connection."""


class _Short(Exception):
    """A field is longer than its container."""


class _Fields:
    """Reader of consecutive length-prefixed fields."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise _Short
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def block(self, size: int) -> "_Fields":
        return _Fields(self.take(self.number(size)))


def server_name(data: bytes) -> str | None:
    """Return the name in the hello, empty if it has none; None while more bytes are needed. Raise `NotTls`."""
    hello = _client_hello(data)
    if hello is None:
        return None
    try:
        return _name_in(_Fields(hello))
    except _Short:
        raise NotTls("invalid ClientHello") from None


def _client_hello(data: bytes) -> bytes | None:
    """Return the body of the ClientHello from its records; None until it is complete."""
    message, at = bytearray(), 0
    for _ in range(MOST_RECORDS):
        header = data[at : at + 5]
        if (header[:1] and header[0] != HANDSHAKE) or (header[1:2] and header[1] != 3):
            raise NotTls("not TLS")
        if len(header) < 5:
            return None
        length = int.from_bytes(header[3:5])
        if not 0 < length <= LARGEST_RECORD:
            raise NotTls("invalid TLS record")
        message += data[at + 5 : at + 5 + length]
        if message[0:1] and message[0] != CLIENT_HELLO:
            raise NotTls("TLS does not start with a ClientHello")
        if len(message) >= 4 and int.from_bytes(message[1:4]) > LARGEST:
            raise NotTls("ClientHello too long")
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4]):
            return bytes(message[4 : 4 + int.from_bytes(message[1:4])])
        at += 5 + length
    raise NotTls("ClientHello in too many pieces")


def _name_in(hello: _Fields) -> str:
    hello.take(2 + 32)
    hello.block(1)
    hello.block(2)
    hello.block(1)
    if not hello.left:
        return ""
    extensions, found = hello.block(2), list[_Fields]()
    while extensions.left:
        kind = extensions.number(2)
        body = extensions.block(2)
        if kind == SERVER_NAME:
            found.append(body)
    if not found:
        return ""
    if len(found) > 1:
        raise NotTls("ClientHello with two server names")
    return _single_name(found[0].block(2))


def _single_name(names: _Fields) -> str:
    kind, name = names.number(1), names.block(2)
    if kind != HOST_NAME or names.left or not name.left:
        raise NotTls("ClientHello with an invalid server name")
    return name.take(name.left).decode("latin-1")
