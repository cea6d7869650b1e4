"""A stream of bytes as lines, each JSON or text, in bounded memory whatever an agent prints. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from donewhen.records import frozen

MOST_LINE_BYTES = 16 << 20


@frozen
class Value:
    """A line that is a JSON object or list."""

    value: Any


@frozen
class Text:
    """Any other line that is not blank; bytes that are no UTF-8 are replaced."""

    text: str
    cut: bool = False
    """Whether the line was too long, and this is its beginning."""


class Lines:
    def __init__(self, most: int = MOST_LINE_BYTES) -> None:
        self._most = most
        self._begun = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[Value | Text]:
        """The lines that this chunk completes."""
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            yield from self._complete(part)
        yield from self._begin(rest)

    def end(self) -> Iterator[Value | Text]:
        """The last line, if it had no end."""
        yield from self._complete(b"")

    def _begin(self, part: bytes) -> Iterator[Value | Text]:
        if self._skipping:
            return
        self._begun += part
        if len(self._begun) > self._most:
            yield Text(_decoded(bytes(self._begun[: 1 << 10])), cut=True)
            self._begun.clear()
            self._skipping = True

    def _complete(self, part: bytes) -> Iterator[Value | Text]:
        yield from self._begin(part)
        line, skipping = bytes(self._begun), self._skipping
        self._begun.clear()
        self._skipping = False
        if not skipping and line.strip():
            yield _read(line)


def _read(line: bytes) -> Value | Text:
    text = _decoded(line).rstrip("\r")
    if text.lstrip()[:1] in ("{", "[") and text.count("{") + text.count("[") < 1 << 20:
        try:
            return Value(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return Text(text)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace")
