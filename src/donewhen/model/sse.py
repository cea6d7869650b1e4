"""Parser for server-sent events: chunks of bytes in, events out, wherever the chunks were cut. No I/O.

The wires interpret the events. Comments are dropped here, so that no caller can mistake a server's keep-alive for an
answer. Bytes that are not UTF-8 break the stream: a guessed text could be the text of a command.
"""

from collections.abc import Iterator
from typing import NamedTuple

LARGEST_EVENT = 16 * 1024 * 1024
"""Maximum bytes of one event. An event is a whole message, and its data is parsed as JSON."""


class BrokenStream(Exception):
    """The bytes are not a stream of events, or an event is too large."""


class ServerEvent(NamedTuple):
    name: str
    data: str


class Events:
    """Takes chunks and yields complete events. An event without an end is never yielded."""

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self._largest = largest
        self._rest = bytearray()
        self._searched = 0
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._began = False

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        self._rest += chunk
        for line in self._lines():
            if line:
                self._field(line)
            elif self._data:
                yield ServerEvent(self._name, "\n".join(self._data))
                self._name, self._data, self._size = "", [], 0
            else:
                self._name = ""
        if len(self._rest) + self._size > self._largest:
            raise BrokenStream(f"an event of more than {self._largest} bytes")

    def _lines(self) -> Iterator[str]:
        """Yield the complete lines. A final `\\r` waits for the `\\n` that may follow it."""
        rest, start = self._rest, 0
        while (end := self._line_end(max(start, self._searched))) >= 0:
            if rest[end] == 13 and end + 1 == len(rest):
                break
            yield self._decoded(bytes(rest[start:end]))
            start = end + (2 if rest.startswith(b"\r\n", end) else 1)
        del rest[:start]
        self._searched = max(0, len(rest) - 1)

    def _line_end(self, start: int) -> int:
        newline = self._rest.find(b"\n", start)
        carriage = self._rest.find(b"\r", start, newline if newline >= 0 else len(self._rest))
        return carriage if carriage >= 0 else newline

    def _decoded(self, line: bytes) -> str:
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise BrokenStream("bytes that are not UTF-8") from error
        if not self._began:
            text, self._began = text.removeprefix("\ufeff"), True
        return text

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._size += len(value)
        elif name == "event":
            self._name = value
