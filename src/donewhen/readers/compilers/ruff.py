"""Reader of Ruff findings: full, concise, grouped, pylint, GitHub, JSON and JSON lines, and files it would reformat.

flake8, pycodestyle and pylint print lines of the same form and are read here too. The rule is the kind, as printed: a
code (`F401`), or a name (`unused-import`) where Ruff shows names.
"""

import re

from donewhen.readers.failures.documents import documents, one, whole_lines
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines
from donewhen.readers.json import count, fields, items, words

FILE = r"((?:[A-Za-z]:)?[^:\s]+\.(?:pyi?|ipynb))"
RULE = r"([A-Z]{1,6}[0-9]{2,5}:?|[a-z]+(?:-[a-z0-9]+)+:|SyntaxError:|unformatted:) (?:\[[*-]\] )?(.*)"
LINE = re.compile(rf"{FILE}:(?:cell [0-9]{{1,9}}:)?([0-9]{{1,9}}):[0-9]{{1,9}}: {RULE}")
AS_PYLINT = re.compile(rf"{FILE}:([0-9]{{1,9}}): \[([\w-]+)(?:\([\w-]+\))?(?:, [^\]]*)?\] (.*)")
HEADING = re.compile(rf"{FILE}:")
ITEM = re.compile(rf"\s+(?:cell [0-9]{{1,9}}:)?([0-9]{{1,9}}):[0-9]{{1,9}}\s+{RULE}")
TITLE = re.compile(RULE)
ARROW = re.compile(rf"\s*--> {FILE}:(?:cell [0-9]{{1,9}}:)?([0-9]{{1,9}}):[0-9]{{1,9}}")
REFORMAT = re.compile(r"Would reformat: (\S.*\.\w+)")
DOCUMENT = re.compile(r'\[\s*\{\s*"(?:cell|code)"\s*:')
JSON_LINE = '{"cell":'


def read(log: str) -> FailureReport | None:
    findings = Findings("ruff", "lint", lines(log))
    if '"cell"' in log:
        _read_json(log, findings)
    file = above = ""
    for raw in findings.printed:
        # The first line of the text of an annotation is the finding as it is printed elsewhere.
        line = raw[2:].partition("::")[2].partition("%0A")[0] if raw.startswith("::error ") else raw
        if (found := LINE.fullmatch(line)) or (found := AS_PYLINT.fullmatch(line)):
            _add(findings, found[1], found[2], found[3], found[4])
        elif (arrow := ARROW.fullmatch(line)) and (title := TITLE.fullmatch(above)):
            _add(findings, arrow[1], arrow[2], title[1], title[2])
        elif heading := HEADING.fullmatch(line):
            file = heading[1]
        elif file and (item := ITEM.fullmatch(line)):
            _add(findings, file, item[1], item[2], item[3])
        elif found := REFORMAT.fullmatch(line):
            findings.error(found[1], None, "unformatted", line)
        above = line
    return findings.report()


def _add(findings: Findings, file: str, line: str | int, rule: str, message: str) -> None:
    findings.error(file, line, rule.removesuffix(":"), message)


def _read_json(log: str, findings: Findings) -> None:
    found = [item for document in documents(log, DOCUMENT) for item in items(document)]
    found += [one(line) for line in whole_lines(log) if line.startswith(JSON_LINE)] if not found else []
    for item in found:
        entry = fields(item)
        file, rule = words(entry.get("filename")), words(entry.get("code")) or "invalid-syntax"
        if file and not findings.is_full:
            _add(findings, file, count(fields(entry.get("location")).get("row")), rule, words(entry.get("message")))
