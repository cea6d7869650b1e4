"""JSON that a tool printed into a log, found among other lines. What is in it is for the reader of the tool."""

import json
import re
from collections.abc import Iterator

from donewhen.readers.failures import logs, sources
from donewhen.readers.failures.findings import without_front

MOST_TRIES = 8
"""Each try may read on to the end of the log."""


def documents(log: str, opening: re.Pattern[str]) -> Iterator[object]:
    """The values that begin with an opening, read where they stand; what is broken or cut off is passed over.

    Long lines are not cut here, for a document often is a single one.
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
    """Lines that are not cut, without what stands in front of them. Nothing else is taken out of them."""
    return sources.apart([_bare(line) for line in logs.few(logs.plain(log).split("\n"))])


def one(line: str) -> object:
    """The value of a line that is a document of its own."""
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
