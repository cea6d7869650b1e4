"""Tests that failed in a run of Maven's Surefire or Failsafe. What the compiler says is read elsewhere."""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import blocks, error, first_words, java_frames, one_each

HEADING = re.compile(
    r"(?=\[|.*<<< )(?:\[ERROR\] +)?"
    r"(?:(?P<test>\w[\w$ .-]{0,200})(?:\[.{0,200}\]|\{.{0,200}\})?\((?P<class>[\w.$]{1,300})\)"
    r"|(?P<whole>[\w.$]{1,400})(?:\(.{0,200}\))?(?:\[.{0,200}\])?)"
    r" +(?:-- )?Time elapsed: .{1,40}? <<< (?:FAILURE|ERROR)!"
    r"|\[(?:INFO|ERROR|WARNING)\].*"
)
"""Surefire 3 writes the class in front of the test, older ones behind it."""


def read(log: str) -> Told | None:
    found = list(_failures(lines(log)))
    return Told("maven", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    for heading, begin, end in blocks(printed, HEADING):
        id = f"{heading['class']}.{heading['test']}" if heading["class"] else heading["whole"]
        if id:
            yield _failure(id, printed[begin:end])


def _failure(id: str, body: list[str]) -> Failure:
    said = first_words(body)
    kind, message = error(said) or ("", said)
    frames = java_frames(body)
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
