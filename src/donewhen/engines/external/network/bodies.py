"""The body of an HTTP/1.1 request as it comes in, piece by piece, by the framing of its head. Never kept whole.

Chunks are read strictly, their extensions and trailers dropped: what goes on is framed anew.
"""

import re
from collections.abc import AsyncGenerator

from donewhen.engines.external.network.heads import BadHead, Head, words
from donewhen.engines.external.network.stream import Ended, Stream

LONGEST_LINE = 4096
MOST_TRAILERS = 64
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
CRLF = b"\r\n"
LAST_CHUNK = b"0\r\n\r\n"


async def body(stream: Stream, head: Head) -> AsyncGenerator[bytes]:
    """Raises `Ended` when it stops in the middle, `BadHead` when it is not framed as it says."""
    if head.length is not None:
        async for piece in _exactly(stream, head.length):
            yield piece
        return
    while size := await _chunk_size(stream):
        async for piece in _exactly(stream, size):
            yield piece
        if await _line(stream) != CRLF:
            raise BadHead("a chunk that is longer than it says")
    for _ in range(MOST_TRAILERS):
        if await _line(stream) == CRLF:
            return
    raise BadHead("too many trailers")


async def invite(stream: Stream, head: Head) -> None:
    """Tell a client that waits for it to send its body."""
    if head.minor == 1 and head.has_body and "100-continue" in words(head.fields, "expect"):
        await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def _exactly(stream: Stream, count: int) -> AsyncGenerator[bytes]:
    while count:
        data = await stream.receive()
        if not data:
            raise Ended
        if len(data) > count:
            stream.put_back(data[count:])
            data = data[:count]
        count -= len(data)
        yield data


async def _chunk_size(stream: Stream) -> int:
    found = CHUNK.fullmatch(await _line(stream))
    if found is None:
        raise BadHead("a chunk without a size")
    return int(found[1], 16)


async def _line(stream: Stream) -> bytes:
    line = await stream.receive_until(CRLF, LONGEST_LINE)
    if line is None:
        raise BadHead("a line between chunks that is too long")
    return line
