"""Tests that failed in a run of Gradle, as its console tells them. What the compiler says is read elsewhere."""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import blocks, error, first_words, java_frames, one_each

HEADING = re.compile(
    r"(?P<test>[^>\s][^>]{0,400} > \S.{0,600}) FAILED|> Task .*|\d+ tests? completed, .*"
    r"|[^>\s][^>]{0,400} > .{1,600} (?:PASSED|SKIPPED)"
)
SHORT = re.compile(r"\s+([\w.$]{1,300}) at (\w{1,200}\.\w{1,10}):(\d{1,9})")
PARAMETERS = re.compile(r"\(.*|\[.*")


def read(log: str) -> Told | None:
    found = list(_failures(lines(log)))
    return Told("gradle", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    """A test is one only with an exception under it: others print such lines too."""
    for heading, begin, end in blocks(printed, HEADING):
        if heading["test"] and begin < end and printed[begin].startswith("    "):
            yield _failure(PARAMETERS.sub("", heading["test"]).strip(), printed[begin:end])


def _failure(id: str, body: Sequence[str]) -> Failure:
    """Without the option for more, an exception is told by its name and its place alone."""
    if short := SHORT.fullmatch(body[0]):
        frame = Frame(short[2], int(short[3]))
        return Failure(id=id, kind=short[1], file=frame.file, line=frame.line, frames=(frame,))
    said = first_words(body)
    kind, message = error(said) or ("", said)
    frames = java_frames(body)
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
