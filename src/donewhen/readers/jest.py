"""Reader of jest: the report of `--json --outputFile`, which vitest writes too, the printed summary, and the failures.

Failures are printed twice if there are many; each counts once.
"""

import re
from collections.abc import Iterator, Mapping

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import differences, first_words, kind_and_message, one_each, script_frames
from donewhen.readers.json import count, fields, items, parsed, words
from donewhen.readers.printed_lines import first_groups, last, lines, worded
from donewhen.readers.result import RunnerReport, Tests, names, tally, that_ran, within

TESTS = re.compile(r"Tests: +(?:(\d.*), )?(\d{1,9}) total")
SUITES = re.compile(r"Test Suites: +(?:(\d.*), )?(\d{1,9})(?: of \d{1,9})? total")
NOTHING = re.compile(r"No tests found, exiting with code [01]|No tests found related to files changed.*")
FAILED = re.compile(r" {2}● (?!Console$|Test suite failed to run$)(.+)")


def read_report(content: bytes, runner: str = "jest") -> RunnerReport | None:
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
    return RunnerReport(runner, tests, names(failures), complete, *_names(report))


def _names(report: Mapping[str, object]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tests that ran and those that were skipped."""
    ran, skipped = list[str](), list[str]()
    for suite in map(fields, items(report["testResults"])):
        for test in map(fields, items(suite.get("assertionResults"))):
            kept = ran if test.get("status") in ("passed", "failed") else skipped
            kept.append(within(words(suite.get("name")), words(test.get("fullName"))))
    return that_ran(ran), that_ran(skipped)


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = last(TESTS, printed)
    if found is None:
        return RunnerReport("jest", Tests()) if last(NOTHING, printed) else None
    at, summary = found
    counts = worded(summary[1] or "")
    suites = last(SUITES, printed[max(at - 3, 0) : at])
    broken = worded(suites[1][1] or "").get("failed", 0) if suites else 0
    tests = tally(
        passed=counts.get("passed", 0),
        failed=counts.get("failed", 0) or broken,
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
    )
    return RunnerReport("jest", tests, names(first_groups(FAILED, printed[:at])) if tests.failed else ())


FILE = re.compile(r" ?(?:FAIL|PASS) {1,2}(?:\S+ )?(\S+?)(?: \([\d.]+ ?m?s\))?")
BLOCK = re.compile(r" {2}● (\S.{0,600})")
ENDED = re.compile(r"Test Suites: .*|Summary of all failing tests")
COMPARED = re.compile(r" {4}(?:Expected|Received)[\w ]{0,40}: ")
BROKEN = "Test suite failed to run"
CLOSING = re.compile(r"(?:Tests|Test Suites): .*")


def read_failures(log: str) -> FailureReport | None:
    found = list(_failures(log_lines(log)))
    if not found:
        return None
    return FailureReport("jest", "test" if any(" > " in each.id for each in found) else "collect", one_each(found))


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
