"""What Python's unittest prints at its end (Django's runner too). It has no report of another form."""

import re

from donewhen.readers.printed import heard, last, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally, that_ran

RAN = re.compile(r"Ran (\d{1,9}) tests? in \d+\.\d+s")
ENDED = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?")
COUNT = re.compile(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d{1,9})")
BEGUN = re.compile(r"((?!setUp|tearDown)\w+ \([\w.<>]+\))(?: \.\.\.(?: .*)?)?")
SKIPPED = re.compile(r"(?:^|\.\.\. )(?:skipped ['\"].*|expected failure)$")
FAILED = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S.*)")


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    found = last(RAN, printed)
    if found is None:
        return None
    at, ran = found
    said = next((line for line in printed[at + 1 : at + 4] if line), "")
    ended = ENDED.fullmatch(said)
    if ended is None:
        return Reading("unittest", Tests(), complete=False)
    tests = _counted(int(ran[1]), ended[2] or "")
    failures = names(heard(FAILED, printed[:at])) if tests.failed else ()
    return Reading("unittest", tests, failures, ran=_ran(printed[:at], int(ran[1])))


def _ran(printed: list[str], number: int) -> tuple[str, ...]:
    """The names that verbose output tells, when there are as many as were counted. Outcomes may come lines later."""
    begun, skipped = list[str](), set[str]()
    for line in printed:
        if test := BEGUN.fullmatch(line):
            begun.append(test[1])
        if begun and SKIPPED.search(line):
            skipped.add(begun[-1])
        if line == "=" * 70:
            break
    told = [name for name in begun if name not in skipped and "unittest.loader._FailedTest" not in name]
    return that_ran(told) if len(begun) == number else ()


def _counted(ran: int, details: str) -> Tests:
    counts = {kind: int(count) for kind, count in COUNT.findall(details)}
    failed = sum(counts.get(kind, 0) for kind in ("failures", "errors", "unexpected successes"))
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    return tally(passed=ran - failed - skipped, failed=failed, skipped=skipped)
