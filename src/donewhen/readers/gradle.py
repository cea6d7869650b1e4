"""What Gradle prints about tests: a count when some failed, and otherwise nothing that could be counted.

The reports in XML that it leaves in the tree are read by `junit`.
"""

import re

from donewhen.readers.printed import heard, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally

COMPLETED = re.compile(r"(\d{1,9}) tests? completed(?:, (\d{1,9}) failed)?(?:, (\d{1,9}) skipped)?")
FAILED = re.compile(r"(\S.* > .*\S) FAILED")
ENDED = re.compile(r"BUILD (?:SUCCESSFUL|FAILED) in .*")


def read_text(content: bytes) -> Reading | None:
    printed = lines(content)
    totals = [found for line in printed if (found := COMPLETED.fullmatch(line))]
    if not totals:
        return None
    tests = sum((_counted(total) for total in totals), Tests())
    ended = any(ENDED.fullmatch(line) for line in printed)
    return Reading("gradle", tests, names(heard(FAILED, printed)), ended)


def _counted(total: re.Match[str]) -> Tests:
    completed, failed, skipped = (int(group or 0) for group in total.groups())
    return tally(passed=completed - failed - skipped, failed=failed, skipped=skipped)
