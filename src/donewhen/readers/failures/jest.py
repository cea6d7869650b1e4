"""What failed in a run of jest. Failures are printed twice when there are many; each counts once."""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, Frame, Told
from donewhen.readers.failures.logs import lines
from donewhen.readers.failures.traces import differences, first_words, kind_and_message, one_each, script_frames
from donewhen.readers.tally import within

FILE = re.compile(r" ?(?:FAIL|PASS) {1,2}(?:\S+ )?(\S+?)(?: \([\d.]+ ?m?s\))?")
BLOCK = re.compile(r" {2}● (\S.{0,600})")
ENDED = re.compile(r"Test Suites: .*|Summary of all failing tests")
COMPARED = re.compile(r" {4}(?:Expected|Received)[\w ]{0,40}: ")
BROKEN = "Test suite failed to run"


def read(log: str) -> Told | None:
    found = list(_failures(lines(log)))
    if not found:
        return None
    return Told("jest", "test" if any(" > " in each.id for each in found) else "collect", one_each(found))


def _failures(printed: list[str]) -> Iterator[Failure]:
    file, title, begun = "", "", 0
    for at, line in enumerate([*printed, "Test Suites: "]):
        heading = BLOCK.fullmatch(line)
        named = FILE.fullmatch(line)
        if not (heading or named or ENDED.fullmatch(line)):
            continue
        if file and title and title != "Console":
            yield _failure(file, title, printed[begun:at])
        file = named[1].removeprefix("./") if named else file
        title, begun = heading[1] if heading else "", at + 1


def _failure(file: str, title: str, body: list[str]) -> Failure:
    kind, message = kind_and_message(first_words(body))
    compared = [line.strip() for line in body[:20] if COMPARED.match(line)] if message.startswith("expect(") else []
    compared = compared or [part for part in [differences(body)] if part]
    frames = script_frames(body)
    where = frames[-1] if frames else Frame("")
    id = file if title == BROKEN else within(file, title.replace(" › ", " > "))
    return Failure(
        id=id, kind=kind, message=" ".join([message, *compared]), file=where.file, line=where.line, frames=frames
    )
