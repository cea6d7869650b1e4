"""Reader of vitest's output: the summary and the failures. Its JSON report has jest's form and is read by `jest`.

Tests that failed with the same error share one printed error.
"""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import (
    MOST_FAILURES,
    differences,
    first_words,
    kind_and_message,
    one_each,
    script_frames,
)
from donewhen.readers.printed_lines import first_groups, last, lines, worded
from donewhen.readers.result import RunnerReport, Tests, names, tally

TESTS = re.compile(r" +Tests {2}(?:no tests|(\d.*) \((\d{1,9})\))")
FILES = re.compile(r" +Test Files {2}(.*)")
ERRORS = re.compile(r" +Errors {2}(\d{1,9}) errors?")
NOTHING = re.compile(r" *No test files found, exiting with code [01]")
FAILED = re.compile(r" FAIL {2}(\S.*)")


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = last(TESTS, printed)
    if found is None:
        return RunnerReport("vitest", Tests()) if last(NOTHING, printed) else None
    at, summary = found
    counts = worded(summary[1] or "")
    files = last(FILES, printed[max(at - 1, 0) : at])
    errors = last(ERRORS, printed[at + 1 : at + 4])
    failed = counts.get("failed", 0) or (worded(files[1][1]).get("failed", 0) if files else 0)
    tests = tally(
        passed=counts.get("passed", 0),
        failed=failed + (int(errors[1][1]) if errors else 0),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
    )
    return RunnerReport("vitest", tests, names(first_groups(FAILED, printed[:at])) if tests.failed else ())


FAILURE_HEADING = re.compile(r" FAIL {2}(?:\|[^|]{1,80}\| )?(\S.{0,600})")
SUITE = re.compile(r"(\S+) \[ .+ \]")
RULE = re.compile(r" ?⎯{3}")
CODE = re.compile(r" +\d* ?\| ?.*")
CLOSING = re.compile(r" +(?:Tests|Test Files) {2}.*")


def read_failures(log: str) -> FailureReport | None:
    found = list(_failures(log_lines(log)))
    if not found:
        return None
    return FailureReport("vitest", "test" if any(" > " in each.id for each in found) else "collect", one_each(found))


def _failures(printed: list[str]) -> Iterator[Failure]:
    titles, begun = list[str](), 0
    for at, line in enumerate(printed):
        if heading := FAILURE_HEADING.fullmatch(line):
            if begun != at:
                titles.clear()
            titles.append(heading[1])
            begun = at + 1
        elif titles and RULE.match(line):
            yield from _failures_with(titles[:MOST_FAILURES], printed[begun:at])
            titles.clear()


def _failures_with(titles: list[str], body: list[str]) -> Iterator[Failure]:
    kind, message = kind_and_message(f"{first_words(body)} {differences(body)}")
    frames = script_frames(line for line in body if not CODE.fullmatch(line))
    where = frames[-1] if frames else Frame("")
    for title in titles:
        suite = SUITE.fullmatch(title)
        id = suite[1] if suite else title
        yield Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
