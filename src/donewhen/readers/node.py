"""Reader of node's own test runner: counts and failures, as TAP or as `spec`. Its XML report is read by `junit`.

A suite that failed only because of its tests is left out. The error of a file that could not be run is in the lines
before it.
"""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
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
from donewhen.readers.printed_lines import first_groups, last, lines
from donewhen.readers.result import RunnerReport, names, tally, that_ran, within

COUNT = re.compile(r"(?:ℹ|#) (tests|suites|pass|fail|cancelled|skipped|todo) (\d{1,9})")
ENDED = re.compile(r"(?:ℹ|#) duration_ms [\d.]+")
IN_ORDER = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo")
NOT_OK = re.compile(r" *not ok \d{1,9} - ((?:(?! # (?:TODO|SKIP)).)*)")
CROSSED = re.compile(r"✖ (.+) \([\d.]+ms\)")
RESULT = re.compile(r" *(?:not )?ok \d{1,9} - ((?:(?! # (?:TODO|SKIP)).)+)")
MARKED = re.compile(r" *[✔✖] (.+) \([\d.]+ms\)")
IS_FILE = re.compile(r"/\S+\.[cm]?[jt]s")
EMPTY_FILE = re.compile(r"ok \d{1,9} - (/\S+\.[cm]?[jt]s)|✔ (/\S+\.[cm]?[jt]s) \([\d.]+ms\)")


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = _last_block(printed)
    if found is None:
        return None
    at, counts = found
    tests = tally(
        passed=counts["pass"] - sum(1 for line in printed[:at] if EMPTY_FILE.fullmatch(line)),
        failed=counts["fail"] + counts["cancelled"],
        skipped=counts["skipped"] + counts["todo"],
    )
    failures = first_groups(NOT_OK, printed[:at]) + first_groups(CROSSED, printed) if tests.failed else []
    ran = [
        name
        for name in first_groups(RESULT, printed[:at]) + first_groups(MARKED, printed[:at])
        if not IS_FILE.fullmatch(name)
    ]
    return RunnerReport("node:test", tests, names(failures), ran=that_ran(ran))


def _last_block(printed: list[str]) -> tuple[int, dict[str, int]] | None:
    """Find the last block of counts: the seven counts together, in a fixed order, followed by the duration."""
    size = len(IN_ORDER)
    for end in range(len(printed) - 1, size - 1, -1):
        if not ENDED.fullmatch(printed[end]):
            continue
        block = [COUNT.fullmatch(line) for line in printed[end - size : end]]
        if tuple(line[1] if line else "" for line in block) == IN_ORDER:
            return end - size, {line[1]: int(line[2]) for line in block if line}
    return None


SUBTEST = re.compile(r"( *)# Subtest: (.{1,600})")
FIELD = re.compile(r" +(error|name|failureType|location|code): (.*)")
LIST = re.compile(r"✖ failing tests:")
TEST_AT = re.compile(r"test at (?:file://)?(\S{1,400}?):\d{1,9}:\d{1,9}")
FAILED_TITLE = re.compile(r"✖ (.+) \([\d.]+ms\)")
IS_SOURCE_FILE = re.compile(r"\S+\.[cm]?[jt]sx?")
LONGEST = 200
CLOSING = re.compile(r"(?:ℹ|#) duration_ms [\d.]+")


def read_failures(log: str) -> FailureReport | None:
    printed = log_lines(log)
    if not any(COUNT.fullmatch(line) for line in printed) and "TAP version 13" not in printed:
        return None
    listed = last(LIST, printed)
    found = list(bounded(_spec(printed[listed[0] + 1 :], printed[: listed[0]]) if listed else _tap(printed)))
    if not found:
        return None
    return FailureReport("node:test", "test" if any(" > " in each.id for each in found) else "collect", one_each(found))


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
    details = {field[1]: field[2].strip("'\"") for line in reversed(body) if (field := FIELD.fullmatch(line))}
    if details.get("failureType") == "subtestsFailed":
        return
    if len(title) == 1 and IS_SOURCE_FILE.fullmatch(title[0]):
        yield _of_file(title[0], printed[max(at - LONGEST, 0) : at])
        return
    text = details.get("error", "")
    text = whole_message(body[_after("error", body) :]) if text.startswith(("|", ">")) else text
    frames = script_frames(f"at {line.strip()}" for line in body[_after("stack", body) :])
    kind = details.get("name", "") or details.get("code", "")
    file = portable(re.sub(r":\d+:\d+$", "", details.get("location", "")))
    yield _failure(within(file, " > ".join(title)), kind, text, frames)


def _after(field: str, body: list[str]) -> int:
    return next((at + 1 for at, line in enumerate(body) if line.lstrip().startswith(f"{field}: ")), len(body))


def _of_file(file: str, before: list[str]) -> Failure:
    """Return the last error that was printed before a file was reported as failed."""
    found = ((at, text) for at in range(len(before) - 1, -1, -1) if (text := error(before[at].lstrip("# "))))
    at, (kind, message) = next((each for each in found if each[1][0].endswith(("Error", "Exception"))), (0, ("", "")))
    return _failure(portable(file), kind, message, script_frames(before[at : at + LONGEST]))


def _spec(printed: list[str], before: list[str]) -> Iterator[Failure]:
    for heading, begin, end in blocks(printed, TEST_AT):
        crossed = FAILED_TITLE.fullmatch(printed[begin]) if begin < end else None
        if crossed is None:
            continue
        if IS_SOURCE_FILE.fullmatch(crossed[1]):
            yield _of_file(crossed[1], before[-LONGEST:])
            continue
        body = printed[begin + 1 : end]
        kind, message = kind_and_message(whole_message(body))
        yield _failure(within(portable(heading[1]), crossed[1]), kind, message, script_frames(body))


def _failure(id: str, kind: str, message: str, frames: tuple[Frame, ...]) -> Failure:
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
