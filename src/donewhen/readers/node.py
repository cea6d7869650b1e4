"""What node's own test runner prints at its end, as TAP or as `spec`. Its report in XML is read by `junit`."""

import re

from donewhen.readers.printed import heard, lines
from donewhen.readers.reading import Reading
from donewhen.readers.tally import names, tally, that_ran

COUNT = re.compile(r"(?:ℹ|#) (tests|suites|pass|fail|cancelled|skipped|todo) (\d{1,9})")
ENDED = re.compile(r"(?:ℹ|#) duration_ms [\d.]+")
IN_ORDER = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo")
NOT_OK = re.compile(r" *not ok \d{1,9} - ((?:(?! # (?:TODO|SKIP)).)*)")
CROSSED = re.compile(r"✖ (.+) \([\d.]+ms\)")
RESULT = re.compile(r" *(?:not )?ok \d{1,9} - ((?:(?! # (?:TODO|SKIP)).)+)")
MARKED = re.compile(r" *[✔✖] (.+) \([\d.]+ms\)")
IS_FILE = re.compile(r"/\S+\.[cm]?[jt]s")
EMPTY_FILE = re.compile(r"ok \d{1,9} - (/\S+\.[cm]?[jt]s)|✔ (/\S+\.[cm]?[jt]s) \([\d.]+ms\)")


def read_text(content: bytes) -> Reading | None:
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
    failures = heard(NOT_OK, printed[:at]) + heard(CROSSED, printed) if tests.failed else []
    ran = [name for name in heard(RESULT, printed[:at]) + heard(MARKED, printed[:at]) if not IS_FILE.fullmatch(name)]
    return Reading("node:test", tests, names(failures), ran=that_ran(ran))


def _last_block(printed: list[str]) -> tuple[int, dict[str, int]] | None:
    """The seven counts stand together, in one order, and the duration follows them."""
    size = len(IN_ORDER)
    for end in range(len(printed) - 1, size - 1, -1):
        if not ENDED.fullmatch(printed[end]):
            continue
        block = [COUNT.fullmatch(line) for line in printed[end - size : end]]
        if tuple(line[1] if line else "" for line in block) == IN_ORDER:
            return end - size, {line[1]: int(line[2]) for line in block if line}
    return None
