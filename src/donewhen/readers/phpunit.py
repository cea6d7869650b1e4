"""Reader of PHPUnit's output: the counts at its end and the failures of its numbered list.

Its XML report is read by `junit`. A test that is incomplete or risky (it asserted nothing) proves no more than a
skipped one, and counts as skipped.
"""

import re
from collections.abc import Iterator, Sequence

from donewhen.readers.failures.failure import Failure, FailureReport, Frame
from donewhen.readers.failures.logs import lines as log_lines
from donewhen.readers.failures.traces import blocks, error, first_words, innermost_first, one_each
from donewhen.readers.printed_lines import first_groups, last, lines
from donewhen.readers.result import RunnerReport, Tests, names, tally

SUMMARY = re.compile(
    r"OK \((?P<ok>\d{1,9}) tests?, \d{1,9} assertions?\)"
    r"|Tests: (?P<all>\d{1,9}), Assertions: \d{1,9}(?P<others>(?:, [A-Za-z ]+: \d{1,9})*)\."
    r"|(?P<none>No tests executed!)"
)
OTHER = re.compile(r", ([A-Za-z ]+): (\d{1,9})")
FAILED = re.compile(r"\d{1,9}\) ([\w\\]+::.*)")


def read_text(content: bytes) -> RunnerReport | None:
    printed = lines(content)
    found = last(SUMMARY, printed)
    if found is None:
        return None
    at, summary = found
    tests = _counted(summary)
    return RunnerReport("phpunit", tests, names(first_groups(FAILED, printed[:at])) if tests.failed else ())


def _counted(summary: re.Match[str]) -> Tests:
    if summary["all"] is None:
        return tally(passed=int(summary["ok"] or 0))
    others = {kind: int(number) for kind, number in OTHER.findall(summary["others"])}
    failed = others.get("Failures", 0) + others.get("Errors", 0)
    skipped = sum(others.get(kind, 0) for kind in ("Skipped", "Incomplete", "Risky"))
    return tally(passed=int(summary["all"]) - failed - skipped, failed=failed, skipped=skipped)


HEADING = re.compile(
    r"There (?:was|were) \d{1,9} (?P<list>\w.*):|\d{1,9}\) (?P<test>[\w\\]+::\w+)(?: with data set .*| #\d.*)?"
)
END = re.compile(r"--|FAILURES!|ERRORS!")
PLACE = re.compile(r"(/[^:]{1,400}|[\w./-]{1,400}\.php):(\d{1,9})")
CLOSING = re.compile(r"Tests: \d{1,9}, .*")


def read_failures(log: str) -> FailureReport | None:
    printed = log_lines(log)
    found = list(_failures(printed)) if last(SUMMARY, printed) else []
    return FailureReport("phpunit", "test", one_each(found)) if found else None


def _failures(printed: list[str]) -> Iterator[Failure]:
    """Yield the failures. Warnings, risky and skipped tests have separate numbered lists."""
    is_failing = False
    for heading, begin, end in blocks(printed, HEADING):
        if heading["list"]:
            is_failing = heading["list"].startswith(("error", "failure"))
        elif is_failing:
            yield _failure(heading["test"], printed[begin:end])


def _failure(id: str, body: Sequence[str]) -> Failure:
    body = body[: next((at for at, line in enumerate(body) if END.fullmatch(line)), len(body))]
    text = first_words(body)
    kind, message = error(text) or ("", text)
    frames = innermost_first(Frame(at[1], int(at[2])) for line in body if (at := PLACE.fullmatch(line)))
    where = frames[-1] if frames else Frame("")
    return Failure(id=id, kind=kind, message=message, file=where.file, line=where.line, frames=frames)
