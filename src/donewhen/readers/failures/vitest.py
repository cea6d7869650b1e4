"""What failed in a run of vitest. Tests that failed with the same error share one telling of it."""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import (
    MOST_FAILURES,
    differences,
    first_words,
    kind_and_message,
    one_each,
    script_frames,
)

FAILED = re.compile(r" FAIL {2}(?:\|[^|]{1,80}\| )?(\S.{0,600})")
SUITE = re.compile(r"(\S+) \[ .+ \]")
RULE = re.compile(r" ?⎯{3,}.*")
CODE = re.compile(r" +\d* ?\| ?.*")


def read(log: str) -> Told | None:
    found = list(_failures(lines(log)))
    if not found:
        return None
    return Told("vitest", "test" if any(" > " in each.id for each in found) else "collect", one_each(found))


def _failures(printed: list[str]) -> Iterator[Failure]:
    titles, begun = list[str](), 0
    for at, line in enumerate(printed):
        if heading := FAILED.fullmatch(line):
            if begun != at:
                titles.clear()
            titles.append(heading[1])
            begun = at + 1
        elif titles and RULE.fullmatch(line):
            yield from _told(titles[:MOST_FAILURES], printed[begun:at])
            titles.clear()


def _told(titles: list[str], body: list[str]) -> Iterator[Failure]:
    kind, message = kind_and_message(f"{first_words(body)} {differences(body)}")
    frames = script_frames(line for line in body if not CODE.fullmatch(line))
    where = frames[-1] if frames else Frame("")
    for title in titles:
        suite = SUITE.fullmatch(title)
        id = suite[1] if suite else title
        yield Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
