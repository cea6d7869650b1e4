"""What Maven prints: surefire's and failsafe's totals, one for every run of theirs, summed over the modules.

The reports in XML that both leave in the tree are read by `junit`.
"""

import re

from donewhen.readers.printed import heard, lines
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import names, tally

BEGUN = re.compile(r"\[INFO\] --- (?:maven-)?(?:surefire|failsafe)(?:-plugin)?:.*:(?:test|integration-test) .*")
TOTAL = re.compile(r"(?:\[[A-Z]+\] ?)?Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})")
ENDED = re.compile(r"\[(?:INFO|ERROR)\] BUILD (?:SUCCESS|FAILURE)")
NOTHING = re.compile(r"\[INFO\] (?:No tests to run\.|Tests are skipped\.)")
CRASHED = re.compile(
    r"\[ERROR\] .*(?:The forked VM terminated without|There was a timeout or other error in the fork).*"
)
FAILED = re.compile(r"\[ERROR\] {2,4}(\w[\w$]*\.\w+(?::\d+| ».*).*)")


def read_text(content: bytes) -> Reading | None:
    runs, ended, crashed = list[Tests | None](), False, False
    printed = lines(content)
    for line in printed:
        if BEGUN.fullmatch(line):
            runs.append(None)
        elif total := TOTAL.fullmatch(line):
            runs[-1:] = [_counted(total)]
        elif NOTHING.fullmatch(line):
            runs[-1:] = [Tests()]
        elif ENDED.fullmatch(line):
            ended = True
        elif CRASHED.fullmatch(line):
            crashed = True
    if not runs:
        return None
    tests = sum((run for run in runs if run), Tests())
    failures = names(heard(FAILED, printed)) if tests.failed else ()
    return Reading("maven", tests, failures, ended and not crashed and None not in runs)


def _counted(total: re.Match[str]) -> Tests:
    ran, failures, errors, skipped = (int(group) for group in total.groups())
    return tally(passed=ran - failures - errors - skipped, failed=failures + errors, skipped=skipped)
