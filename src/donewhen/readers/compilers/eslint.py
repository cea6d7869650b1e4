"""Reader of ESLint errors in the forms stylish (also as `next lint` prints it), compact, unix and JSON.

Warnings count only if ESLint says that there are too many of them. A file that it cannot parse has no rule: the kind is
`parsing-error`.
"""

import re

from donewhen.readers.failures.documents import documents
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines, phrase
from donewhen.readers.json import count, fields, items, words

HEADING = re.compile(r"(?:[A-Za-z]:)?[^\s:][^:]*\.\w{1,10}")
ITEM = re.compile(r"\s*([0-9]{1,9}):[0-9]{1,9}\s+(error|warning|Error:|Warning:)\s+(\S.*)")
COMPACT = re.compile(r"((?:[A-Za-z]:)?[^:]+): line ([0-9]{1,9}), col [0-9]{1,9}, (Error|Warning) - (.*)")
COMPACT_RULE = re.compile(r" \(([\w@/-]+)\)$")
UNIX = re.compile(r"((?:[A-Za-z]:)?[^:]+):([0-9]{1,9}):[0-9]{1,9}: (.*)")
UNIX_RULE = re.compile(r" \[(Error|Warning)(?:/([\w@/-]+))?\]$")
STYLISH_RULE = re.compile(r"  ([\w@/-]+)$")
TOO_MANY = re.compile(r"ESLint found too many warnings \(maximum: [0-9]+\)\.")
FARTHEST = 10
"""The maximum distance of two findings of a file: a message may have several lines."""
DOCUMENT = re.compile(r'\[\s*\{\s*"filePath"\s*:')


def read(log: str) -> FailureReport | None:
    findings = Findings("eslint", "lint", lines(log))
    if '"filePath"' in log:
        _read_json(log, findings)
    file, last = "", 0
    for at, line in enumerate(findings.printed):
        if item := ITEM.fullmatch(line):
            above = findings.printed[at - 1] if at else ""  # the file is right above the first of its findings
            file = above if HEADING.fullmatch(above) else file if at - last < FARTHEST else ""
            last = at
            _add(findings, file, item[1], item[2], *_split_rule(STYLISH_RULE, item[3]))
        elif ", col " in line and (found := COMPACT.fullmatch(line)):
            _add(findings, found[1], found[2], found[3], *_split_rule(COMPACT_RULE, found[4]))
        elif (
            line.endswith("]") and (rule := UNIX_RULE.search(line)) and (found := UNIX.fullmatch(line[: rule.start()]))
        ):
            _add(findings, found[1], found[2], rule[1], found[3], rule[2] or "")
    return findings.report(with_warnings=any(TOO_MANY.fullmatch(line) for line in findings.printed))


def _split_rule(rule: re.Pattern[str], text: str) -> tuple[str, str]:
    found = rule.search(text)
    return (text[: found.start()], found[1]) if found else (text, "")


def _add(findings: Findings, file: str, line: str | int, severity: str, message: str, rule: str) -> None:
    if not file:
        return
    kind = rule or ("parsing-error" if message.startswith("Parsing error") else phrase(message))
    keep = findings.error if severity.lower().startswith("error") else findings.warning
    keep(file, line, kind, message.rstrip().removesuffix("."))


def _read_json(log: str, findings: Findings) -> None:
    """Read JSON reports.

    Stylish omits the full stop of a message. It is removed in all forms, so that a finding is the same in each.
    """
    for document in documents(log, DOCUMENT):
        for report in items(document):
            file = words(fields(report).get("filePath"))
            for message in items(fields(report).get("messages")):
                entry = fields(message)
                severity = "error" if entry.get("severity") == 2 else "warning"
                text, rule = words(entry.get("message")), words(entry.get("ruleId"))
                _add(findings, file, count(entry.get("line")), severity, text.partition("\n")[0], rule)
