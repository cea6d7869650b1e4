"""What failed in a run of `dotnet test`, as its usual logger tells it."""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.dotnet import FAILED
from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import blocks, innermost_first, kind_and_message, one_each, whole_message

MESSAGE = re.compile(r" {2}Error Message:")
STACK = re.compile(r" {2}Stack Trace:")
PLACE = re.compile(r" +at ([^(]{1,400})\([^)]{0,400}\)(?: in (.{1,400}):line (\d{1,9}))?")
PARAMETERS = re.compile(r"\(.*")
THROWN = re.compile(r"(?:System\.\w+|[\w.]+Exception) : .*")


def read(log: str) -> Told | None:
    found = list(_failures(lines(log)))
    return Told("dotnet test", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    for heading, begin, end in blocks(printed, FAILED):
        if begin < end and MESSAGE.fullmatch(printed[begin]):
            yield _failure(PARAMETERS.sub("", heading[1]), printed[begin + 1 : min(end, begin + 400)])


def _failure(id: str, body: Sequence[str]) -> Failure:
    stack = next((at for at, line in enumerate(body) if STACK.fullmatch(line)), len(body))
    said = whole_message(body[:stack])
    kind, message = kind_and_message(said.replace(" : ", ": ", 1) if THROWN.fullmatch(said) else said)
    places = (PLACE.fullmatch(line) for line in body[stack + 1 :])
    frames = innermost_first(Frame(at[2], int(at[3]), at[1]) for at in places if at and at[2])
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
