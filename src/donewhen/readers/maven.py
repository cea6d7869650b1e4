"""Reader of Maven's output: totals of surefire and failsafe, one per run, summed over the modules, and the failures.

The XML reports that both leave in the tree are read by `junit`. Compiler errors are read by `compilers.javac`.
"""

import re
from collections.abc import Iterator

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import blocks, error, first_words, java_frames, one_each
from donewhen.readers.printed_lines import first_groups, lines
from donewhen.readers.result import RunnerReport, Tests, names, tally

BEGUN = re.compile(r"\[INFO\] --- (?:maven-)?(?:surefire|failsafe)(?:-plugin)?:.*:(?:test|integration-test) ")
TOTAL = re.compile(r"(?:\[[A-Z]+\] ?)?Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})")
ENDED = re.compile(r"\[(?:INFO|ERROR)\] BUILD (?:SUCCESS|FAILURE)")
NOTHING = re.compile(r"\[INFO\] (?:No tests to run\.|Tests are skipped\.)")
CRASHED = re.compile(r"\[ERROR\] .*(?:The forked VM terminated without|There was a timeout or other error in the fork)")
FAILED = re.compile(r"\[ERROR\] {2,4}(\w[\w$]*\.\w+(?::\d| »).*)")


def read_text(content: bytes) -> RunnerReport | None:
    runs, ended, crashed = list[Tests | None](), False, False
    printed = lines(content)
    for line in printed:
        if BEGUN.match(line):
            runs.append(None)
        elif total := TOTAL.fullmatch(line):
            ran, failed, errors, skipped = (int(group) for group in total.groups())
            runs[-1:] = [tally(passed=ran - failed - errors - skipped, failed=failed + errors, skipped=skipped)]
        elif NOTHING.fullmatch(line):
            runs[-1:] = [Tests()]
        elif ENDED.fullmatch(line):
            ended = True
        elif CRASHED.match(line):
            crashed = True
    if not runs:
        return None
    tests = sum((run for run in runs if run), Tests())
    failures = names(first_groups(FAILED, printed)) if tests.failed else ()
    return RunnerReport("maven", tests, failures, ended and not crashed and None not in runs)


HEADING = re.compile(
    r"(?=\[|.*<<< )(?:\[ERROR\] +)?"
    r"(?:(?P<test>\w[\w$ .-]{0,200})(?:\[.{0,200}\]|\{.{0,200}\})?\((?P<class>[\w.$]{1,300})\)"
    r"|(?P<whole>[\w.$]{1,400})(?:\(.{0,200}\))?(?:\[.{0,200}\])?)"
    r" +(?:-- )?Time elapsed: .{1,40}? <<< (?:FAILURE|ERROR)!"
    r"|\[(?:INFO|ERROR|WARNING)\].*"
)
"""Surefire 3 writes the class before the test, older versions after it."""
CLOSING = re.compile(r"(?:\[[A-Z]+\] ?)?(?:Tests run: .*|BUILD FAILURE)")


def read_failures(log: str) -> FailureReport | None:
    found = list(_failures(log_lines(log)))
    return FailureReport("maven", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    for heading, begin, end in blocks(printed, HEADING):
        id = f"{heading['class']}.{heading['test']}" if heading["class"] else heading["whole"]
        if id:
            body = printed[begin:end]
            first = first_words(body)
            kind, message = error(first) or ("", first)
            frames = java_frames(body)
            where = frames[-1] if frames else Frame("")
            yield Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
