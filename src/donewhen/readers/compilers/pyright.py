"""Reader of Pyright (and basedpyright) errors, as text and as JSON. Warnings and information do not count.

The rule is the kind (`reportArgumentType`). A syntax error has no rule: its kind is made from the message.
"""

import re

from donewhen.readers.failures.documents import documents
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines, phrase
from donewhen.readers.json import count, fields, items, words

LINE = re.compile(r"\s*((?:[A-Za-z]:)?[^:\s][^:]*\.pyi?):([0-9]{1,9}):[0-9]{1,9} - (error|warning|information): (.*)")
RULE = re.compile(r" \((report[A-Za-z]+)\)$")
MOST_BELOW = 12
DOCUMENT = re.compile(r'\{\s*"version"\s*:')


def read(log: str) -> FailureReport | None:
    findings = Findings("pyright", "lint", lines(log))
    if '"generalDiagnostics"' in log:
        _read_json(log, findings)
    for at, line in enumerate(findings.printed):
        if " - error: " in line and (found := LINE.fullmatch(line)):
            rule = RULE.search(found[4])
            message = found[4][: rule.start()] if rule else found[4]
            kind = rule[1] if rule else _rule_below(findings.printed, at) or phrase(message)
            findings.error(found[1], found[2], kind, message)
    return findings.report()


def _rule_below(printed: list[str], at: int) -> str:
    """Return the rule at the end of an explanation, which is indented deeper than the finding."""
    for line in printed[at + 1 : at + MOST_BELOW]:
        if not line[:3].isspace() or LINE.fullmatch(line):
            return ""
        if rule := RULE.search(line):
            return rule[1]
    return ""


def _read_json(log: str, findings: Findings) -> None:
    for document in documents(log, DOCUMENT):
        for item in items(fields(document).get("generalDiagnostics")):
            entry = fields(item)
            if entry.get("severity") == "error" and not findings.is_full:
                message = words(entry.get("message")).partition("\n")[0]
                line = count(fields(fields(entry.get("range")).get("start")).get("line")) + 1
                findings.error(words(entry.get("file")), line, words(entry.get("rule")) or phrase(message), message)
