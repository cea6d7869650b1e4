"""JSON documents that a tool printed into a log among other lines. The tool's reader interprets them."""

import json
import re
from collections.abc import Iterator

from donewhen.readers.failures import logs, sources
from donewhen.readers.failures.findings import without_front

MOST_TRIES = 8
"""Each try may read to the end of the log."""


def documents(log: str, opening: re.Pattern[str]) -> Iterator[object]:
    """Yield the JSON values that begin with `opening`. Skip invalid or truncated ones.

    Long lines are not cut here, because a document is often a single line.
    """
    text = "\n".join(whole_lines(log))
    at = 0
    for _ in range(MOST_TRIES):
        if not (found := opening.search(text, at)):
            return
        value, at = _decoded(text, found.start(), found.end())
        if value is not None:
            yield value


def whole_lines(log: str) -> list[str]:
    """Return lines without their prefixes. They are not cut, and nothing else is removed."""
    return sources.apart([_bare(line) for line in logs.few(logs.plain(log).split("\n"))])


def one(line: str) -> object:
    """Return the value of a line that is a whole document; None if it is invalid."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _decoded(text: str, start: int, otherwise: int) -> tuple[object, int]:
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, otherwise
    return value, end


def _bare(line: str) -> str:
    stamp = logs.STAMP.match(line)
    return without_front(line[stamp.end() :] if stamp else line)
