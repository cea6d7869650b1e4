"""The summary that vitest prints. Its report in JSON has jest's form and is read there."""

import re

from donewhen.readers.printed import heard, last, lines, worded
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally

TESTS = re.compile(r" +Tests {2}(?:no tests|(\d.*) \((\d{1,9})\))")
FILES = re.compile(r" +Test Files {2}(.*)")
ERRORS = re.compile(r" +Errors {2}(\d{1,9}) errors?")
NOTHING = re.compile(r" *No test files found, exiting with code [01]")
FAILED = re.compile(r" FAIL {2}(\S.*)")


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    found = last(TESTS, printed)
    if found is None:
        return Reading("vitest", Tests()) if last(NOTHING, printed) else None
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
    return Reading("vitest", tests, names(heard(FAILED, printed[:at])) if tests.failed else ())
