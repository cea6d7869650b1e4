"""Reader of TypeScript compiler errors: one line each, plain (`file(line,column):`) or pretty (`file:line:column -`).

`vue-tsc` and `ts-jest` print the same. The code is the kind: `TS2345`.
"""

import re

from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines

PATH = r"((?:[A-Za-z]:)?[^:\s]+)"
PLAIN = re.compile(rf"\s*{PATH}\(([0-9]{{1,9}}),[0-9]{{1,9}}\): error (TS[0-9]{{1,6}}): (.*)")
PRETTY = re.compile(rf"\s*{PATH}:([0-9]{{1,9}}):[0-9]{{1,9}} - error (TS[0-9]{{1,6}}): (.*)")
WITHOUT_FILE = re.compile(r"\s*error (TS[0-9]{1,6}): (.*)")


def read(log: str) -> FailureReport | None:
    findings = Findings("tsc", "build", lines(log))
    for line in findings.printed:
        if "error TS" not in line:
            continue
        if found := PLAIN.fullmatch(line) or PRETTY.fullmatch(line):
            findings.error(found[1], found[2], found[3], found[4])
        elif found := WITHOUT_FILE.fullmatch(line):
            findings.error("", None, found[1], found[2])
    return findings.report()
