"""Reader of `go build` and `go vet` errors, also if `go test` could not build.

Indented lines are the output of tests and are ignored. Go has no error codes: the kind is a short name for the error,
the same for older and newer compilers.
"""

import re

from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines, phrase

LINE = re.compile(r"(?:vet: )?((?:[A-Za-z]:)?[^:\s]+\.go):([0-9]{1,9}):[0-9]{1,9}: (.*)")
KINDS = {
    "declared but not used": "declared-and-not-used",
    "declared and not used": "declared-and-not-used",
    "imported but not used": "imported-and-not-used",
    "imported and not used": "imported-and-not-used",
    "no required module provides": "no-such-package",
    "is not in GOROOT": "no-such-package",
    "is not in std": "no-such-package",
    "cannot find package": "no-such-package",
    "cannot find module": "no-such-package",
    "syntax error: ": "syntax-error",
    "undefined: ": "undefined",
    " undefined (": "undefined",
    "not exported by package": "undefined",
    "cannot use ": "cannot-use",
    "redeclared in this block": "redeclared",
    "mismatched types": "mismatched-types",
    "missing return": "missing-return",
    "return values": "wrong-return-values",
    "not enough arguments": "wrong-arguments",
    "too many arguments": "wrong-arguments",
    "format %": "format",
}


def read(log: str) -> FailureReport | None:
    findings = Findings("go build", "build", lines(log))
    for line in findings.printed:
        if ".go:" in line and (found := LINE.fullmatch(line)) and found[3] != "too many errors":
            findings.error(found[1], found[2], phrase(found[3], KINDS), found[3])
    return findings.report()
