"""Reader of errors of javac (directly or through Gradle, Ant or Maven) and of the Kotlin compiler in the same builds.

There are no error codes: the kind is made from the message. A symbol that cannot be found is named some lines below. It
is added to the message, because only it distinguishes two such errors. Warnings count if javac says that it failed
because of them.
"""

import re

from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines, phrase

BARE = re.compile(
    r"(?:\s*\[javac\])?\s*((?:[A-Za-z]:)?(?:/[^:]*|[^:\s]+)\.java):([0-9]{1,9}):"
    r" (error|warning): (?:\[([\w-]+)\] )?(.*)"
)
MAVEN = re.compile(
    r"\[(ERROR|WARNING)\]\s+((?:/?[A-Za-z]:|file:)?[^:\s][^:]*\.(?:java|kt)):\[([0-9]{1,9}),[0-9]{1,9}\]"
    r" (?:error: )?(?:\[([\w-]+)\] )?(.*)"
)
KOTLIN = re.compile(
    r"e: ((?:file:///?)?(?:[A-Za-z]:)?[^:\s][^:]*\.kts?):(?: \()?([0-9]{1,9})(?::|, )[0-9]{1,9}(?:\):|:)? (.*)"
)
SYMBOL = re.compile(r"(?:\[ERROR\]|\s*\[javac\])?\s+symbol\s*:\s+(\S.*)")
FARTHEST_SYMBOL = 5
STRICT = "warnings found and -Werror specified"
KINDS = {
    "cannot find symbol": "cannot-find-symbol",
    "does not exist": "package-does-not-exist",
    "cannot be applied to given types": "wrong-arguments",
    "no suitable ": "wrong-arguments",
    "is not abstract and does not override": "abstract-method-not-overridden",
    "does not override or implement a method": "nothing-overridden",
    "is already defined in": "already-defined",
    "might not have been initialized": "not-initialized",
    "must be caught or declared to be thrown": "unreported-exception",
    "has private access in": "no-access",
    "is not public in": "no-access",
    "should be declared in a file named": "wrong-file-name",
    "bad operand types": "bad-operand-types",
    " expected": "expected",
    "Unresolved reference": "unresolved-reference",
}


def read(log: str) -> FailureReport | None:
    findings = Findings("javac", "build", lines(log))
    is_strict = False
    for at, line in enumerate(findings.printed):
        if found := BARE.fullmatch(line):
            _add(findings, at, (found[1], found[2]), found[3], found[4] or "", found[5])
        elif found := MAVEN.fullmatch(line):
            _add(findings, at, (found[2], found[3]), found[1], found[4] or "", found[5])
        elif found := KOTLIN.fullmatch(line):
            _add(findings, at, (found[1], found[2]), "error", "", found[3])
        is_strict = is_strict or line.endswith(STRICT)
    return findings.report(with_warnings=is_strict)


def _add(findings: Findings, at: int, place: tuple[str, str], severity: str, lint: str, text: str) -> None:
    if severity.lower() == "warning":
        findings.warning(*place, lint or phrase(text, KINDS), text)
        return
    symbol = _symbol(findings.printed, at) if text == "cannot find symbol" else ""
    findings.error(*place, lint or phrase(text, KINDS), f"{text}: {symbol}" if symbol else text)


def _symbol(printed: list[str], at: int) -> str:
    for line in printed[at + 1 : at + 1 + FARTHEST_SYMBOL]:
        if BARE.fullmatch(line) or MAVEN.fullmatch(line):
            return ""
        if found := SYMBOL.fullmatch(line):
            return found[1]
    return ""
