"""What PHPUnit prints at its end. Its report in XML is read by `junit`.

A test that is incomplete or risky (it asserted nothing) proves as much as one that was skipped, and counts as that.
"""

import re

from donewhen.readers.printed import heard, last, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally

SUMMARY = re.compile(
    r"OK \((?P<ok>\d{1,9}) tests?, \d{1,9} assertions?\)"
    r"|Tests: (?P<all>\d{1,9}), Assertions: \d{1,9}(?P<others>(?:, [A-Za-z ]+: \d{1,9})*)\."
    r"|(?P<none>No tests executed!)"
)
OTHER = re.compile(r", ([A-Za-z ]+): (\d{1,9})")
FAILED = re.compile(r"\d{1,9}\) ([\w\\]+::.*)")


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    found = last(SUMMARY, printed)
    if found is None:
        return None
    at, summary = found
    tests = _counted(summary)
    return Reading("phpunit", tests, names(heard(FAILED, printed[:at])) if tests.failed else ())


def _counted(summary: re.Match[str]) -> Tests:
    if summary["all"] is None:
        return tally(passed=int(summary["ok"] or 0))
    others = {kind: int(number) for kind, number in OTHER.findall(summary["others"])}
    failed = others.get("Failures", 0) + others.get("Errors", 0)
    skipped = sum(others.get(kind, 0) for kind in ("Skipped", "Incomplete", "Risky"))
    return tally(passed=int(summary["all"]) - failed - skipped, failed=failed, skipped=skipped)
