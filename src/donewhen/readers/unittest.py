"""What Python's unittest prints at its end (Django's runner too). It has no report of another form."""

import re

from donewhen.readers.printed import heard, last, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally

RAN = re.compile(r"Ran (\d{1,9}) tests? in \d+\.\d+s")
ENDED = re.compile(r"(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?")
COUNT = re.compile(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d{1,9})")
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
    return Reading("unittest", tests, failures)


def _counted(ran: int, details: str) -> Tests:
    counts = {kind: int(count) for kind, count in COUNT.findall(details)}
    failed = sum(counts.get(kind, 0) for kind in ("failures", "errors", "unexpected successes"))
    skipped = counts.get("skipped", 0) + counts.get("expected failures", 0)
    return tally(passed=ran - failed - skipped, failed=failed, skipped=skipped)
