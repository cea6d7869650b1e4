"""What failed in a run of node's own test runner, as TAP or as `spec` tells it.

A suite fails with its tests and is left out then; a file that could not be run has its error in the lines before it.
"""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.places import portable
from donewhen.readers.failures.traces import (
    blocks,
    bounded,
    error,
    kind_and_message,
    one_each,
    script_frames,
    whole_message,
)
from donewhen.readers.node import COUNT, NOT_OK
from donewhen.readers.printed import last
from donewhen.readers.tally import within

SUBTEST = re.compile(r"( *)# Subtest: (.{1,600})")
FIELD = re.compile(r" +(error|name|failureType|location|code): (.*)")
LIST = re.compile(r"✖ failing tests:")
TEST_AT = re.compile(r"test at (?:file://)?(\S{1,400}?):\d{1,9}:\d{1,9}")
CROSSED = re.compile(r"✖ (.+) \([\d.]+ms\)")
IS_FILE = re.compile(r"\S+\.[cm]?[jt]sx?")
LONGEST = 200


def read(log: str) -> Told | None:
    printed = lines(log)
    if not any(COUNT.fullmatch(line) for line in printed) and "TAP version 13" not in printed:
        return None
    listed = last(LIST, printed)
    found = list(bounded(_spec(printed[listed[0] + 1 :], printed[: listed[0]]) if listed else _tap(printed)))
    if not found:
        return None
    return Told("node:test", "test" if any(" > " in each.id for each in found) else "collect", one_each(found))


def _tap(printed: list[str]) -> Iterator[Failure]:
    names = dict[int, str]()
    for at, line in enumerate(printed):
        if begun := SUBTEST.fullmatch(line):
            names = {depth: name for depth, name in names.items() if depth < len(begun[1])} | {len(begun[1]): begun[2]}
        elif failed := NOT_OK.fullmatch(line):
            around = [name for depth, name in sorted(names.items()) if depth < len(line) - len(line.lstrip())]
            yield from _result([*around, failed[1]], printed, at)


def _result(title: list[str], printed: list[str], at: int) -> Iterator[Failure]:
    end = next((n for n in range(at + 1, min(at + LONGEST, len(printed))) if printed[n].strip() == "..."), at + 1)
    body = printed[at + 1 : end]
    told = {field[1]: field[2].strip("'\"") for line in reversed(body) if (field := FIELD.fullmatch(line))}
    if told.get("failureType") == "subtestsFailed":
        return
    if len(title) == 1 and IS_FILE.fullmatch(title[0]):
        yield _of_file(title[0], printed[max(at - LONGEST, 0) : at])
        return
    said = told.get("error", "")
    said = whole_message(body[_after("error", body) :]) if said.startswith(("|", ">")) else said
    frames = script_frames(f"at {line.strip()}" for line in body[_after("stack", body) :])
    kind = told.get("name", "") or told.get("code", "")
    file = portable(re.sub(r":\d+:\d+$", "", told.get("location", "")))
    yield _failure(within(file, " > ".join(title)), kind, said, frames)


def _after(field: str, body: list[str]) -> int:
    return next((at + 1 for at, line in enumerate(body) if line.lstrip().startswith(f"{field}: ")), len(body))


def _of_file(file: str, before: list[str]) -> Failure:
    """The last error that was printed before a file was said to have failed."""
    found = ((at, said) for at in range(len(before) - 1, -1, -1) if (said := error(before[at].lstrip("# "))))
    at, (kind, message) = next((each for each in found if each[1][0].endswith(("Error", "Exception"))), (0, ("", "")))
    return _failure(portable(file), kind, message, script_frames(before[at : at + LONGEST]))


def _spec(printed: list[str], before: list[str]) -> Iterator[Failure]:
    for heading, begin, end in blocks(printed, TEST_AT):
        crossed = CROSSED.fullmatch(printed[begin]) if begin < end else None
        if crossed is None:
            continue
        if IS_FILE.fullmatch(crossed[1]):
            yield _of_file(crossed[1], before[-LONGEST:])
            continue
        body = printed[begin + 1 : end]
        kind, message = kind_and_message(whole_message(body))
        yield _failure(within(portable(heading[1]), crossed[1]), kind, message, script_frames(body))


def _failure(id: str, kind: str, message: str, frames: tuple[Frame, ...]) -> Failure:
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
