"""Reader of rustc and Clippy errors, also through cargo, in the human and the short form. Warnings do not count.

The kind is the code (`E0308`), or the denied lint (`unused_variables`, `clippy::needless_return`), or is made from the
message. An error without a place is cargo's summary of others and is left out; only a failed link counts.
"""

import re

from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines, phrase

HEAD = re.compile(r"error(?:\[(E[0-9]{4})\])?: (.*)")
ARROW = re.compile(r"\s*--> ((?:[A-Za-z]:)?[^:\s][^:]*\.(?:rs|toml)):([0-9]{1,9}):[0-9]{1,9}")
SHORT = re.compile(
    r"((?:[A-Za-z]:)?[^:\s][^:]*\.rs):([0-9]{1,9}):[0-9]{1,9}: error(?:\[(E[0-9]{4})\])?: (.*)",
)
DENIED = re.compile(r"`-[DF] ([\w:-]+)`|#!?\[(?:deny|forbid)\(([\w:]+)\)\]")
DEFINED_HERE = "note: the lint level is defined here"
UNRESOLVED = re.compile(r"(?:undefined symbol: |undefined reference to [`'])([^\s`']+)")
FARTHEST_ARROW, FARTHEST_NOTE = 6, 60


def read(log: str) -> FailureReport | None:
    findings = Findings("rustc", "build", lines(log))
    for at, line in enumerate(findings.printed):
        if findings.is_full:
            break
        if "error" not in line:
            continue
        if found := SHORT.fullmatch(line):
            findings.error(found[1], found[2], found[3] or phrase(found[4]), found[4])
        elif not (head := HEAD.fullmatch(line)):
            continue
        elif arrow := _arrow(findings.printed, at):
            kind = head[1] or _denied(findings.printed, at) or phrase(head[2])
            findings.error(arrow[1], arrow[2], kind, head[2])
        elif head[2].startswith("linking with "):
            _add_link_error(findings, at, head[2])
    return findings.report()


def _arrow(printed: list[str], at: int) -> re.Match[str] | None:
    """Return the place of an error, below its message. Further lines of a message are indented."""
    for line in printed[at + 1 : at + FARTHEST_ARROW]:
        if arrow := ARROW.fullmatch(line):
            return arrow
        if not line.startswith(" "):
            return None
    return None


def _denied(printed: list[str], at: int) -> str:
    """Return the lint of an error: named in a note, or in the attribute that the last part points to."""
    is_defined_here = False
    for line in printed[at + 1 : at + FARTHEST_NOTE]:
        if not line:
            return ""
        is_defined_here = is_defined_here or line == DEFINED_HERE
        if (is_defined_here or "= note: " in line) and (found := DENIED.search(line)):
            return (found[1] or found[2]).replace("-", "_")
    return ""


def _add_link_error(findings: Findings, at: int, message: str) -> None:
    below = findings.printed[at + 1 : at + FARTHEST_NOTE]
    symbols = [symbol for line in below for symbol in UNRESOLVED.findall(line)]
    for symbol in symbols:
        findings.error("", None, "undefined-symbol", f"undefined symbol: {symbol}", name=symbol)
    if not symbols:
        findings.error("", None, "linking-failed", message)
