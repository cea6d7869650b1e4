"""What failed in a run of vitest. Tests that failed with the same error share one telling of it."""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import first_words, kind_and_message, one_each, script_frames

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
            titles = [*titles, heading[1]] if begun == at else [heading[1]]
            begun = at + 1
        elif titles and RULE.fullmatch(line):
            yield from (_failure(title, printed[begun:at]) for title in titles)
            titles = []


def _failure(title: str, body: list[str]) -> Failure:
    kind, message = kind_and_message(first_words(body))
    frames = script_frames(line for line in body if not CODE.fullmatch(line))
    where = frames[-1] if frames else Frame("")
    suite = SUITE.fullmatch(title)
    return Failure(
        id=suite[1] if suite else title, kind=kind, message=message, file=where.file, line=where.line, frames=frames
    )
