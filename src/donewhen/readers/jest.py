"""Jest: the report that `--json --outputFile` writes, which vitest writes too, and the summary that jest prints."""

import re
from collections.abc import Iterator, Mapping

from donewhen.readers.json import count, fields, items, parsed, words
from donewhen.readers.printed import heard, last, lines, worded
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally, that_ran, within

TESTS = re.compile(r"Tests: +(?:(\d.*), )?(\d{1,9}) total")
SUITES = re.compile(r"Test Suites: +(?:(\d.*), )?(\d{1,9})(?: of \d{1,9})? total")
NOTHING = re.compile(r"No tests found, exiting with code [01]|No tests found related to files changed.*")
FAILED = re.compile(r" {2}● (?!Console$|Test suite failed to run$)(.+)")


def read_report(content: bytes, runner: str = "jest") -> Reading | None:
    report = parsed(content)
    if report is None or "testResults" not in report:
        return None
    passed, skipped, failures = 0, 0, list[str]()
    for suite in items(report["testResults"]):
        outcomes = [fields(test) for test in items(fields(suite).get("assertionResults"))]
        failed = [words(test.get("fullName")) for test in outcomes if test.get("status") == "failed"]
        passed += sum(test.get("status") == "passed" for test in outcomes)
        skipped += sum(test.get("status") not in ("passed", "failed") for test in outcomes)
        broken = not failed and fields(suite).get("status") == "failed"
        failures += [words(fields(suite).get("name"))] if broken else failed
    tests = tally(passed=passed, failed=len(failures), skipped=skipped)
    complete = report.get("wasInterrupted") is not True and tests.collected >= count(report.get("numTotalTests"))
    return Reading(runner, tests, names(failures), complete, that_ran(_ran(report)))


def _ran(report: Mapping[str, object]) -> Iterator[str]:
    for suite in map(fields, items(report["testResults"])):
        for test in map(fields, items(suite.get("assertionResults"))):
            if test.get("status") in ("passed", "failed"):
                yield within(words(suite.get("name")), words(test.get("fullName")))


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    found = last(TESTS, printed)
    if found is None:
        return Reading("jest", Tests()) if last(NOTHING, printed) else None
    at, summary = found
    counts = worded(summary[1] or "")
    suites = last(SUITES, printed[max(at - 3, 0) : at])
    broken = worded(suites[1][1] or "").get("failed", 0) if suites else 0
    tests = tally(
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0) or broken,
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
    )
    return Reading("jest", tests, names(heard(FAILED, printed[:at])) if tests.failed else ())
