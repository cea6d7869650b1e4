"""Reader of mypy errors, with and without columns, ends, codes and `--pretty`, and of its JSON lines.

Notes do not count. The code is the kind (`arg-type`). If codes are hidden, the kind is made from the message.
"""

import re

from donewhen.readers.failures.documents import one
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import Findings, lines, phrase
from donewhen.readers.json import count, fields, words

LINE = re.compile(
    r"((?:[A-Za-z]:)?(?:/[^:]*|[^:\s]+)\.pyi?):(?:([0-9]{1,9}):)?(?:[0-9]{1,9}:){0,3} (error|note|warning): (.*)"
)
CODE = re.compile(r"[a-z][a-z0-9-]*\]")
MOST_WRAPPED = 6
JSON_LINE = '{"file": "'


def read(log: str) -> FailureReport | None:
    findings = Findings("mypy", "lint", lines(log))
    for at, line in enumerate(findings.printed):
        if line.startswith(JSON_LINE):
            _add_json(findings, line)
        elif (found := LINE.fullmatch(line)) and found[3] == "error":
            message, code = _split_code(found[4])
            if not code:
                message, code = _split_code(_unwrapped(findings.printed, at, message))
            findings.error(found[1], found[2], code or phrase(message), message)
    return findings.report()


def _split_code(text: str) -> tuple[str, str]:
    """Return the message and the code, which is in brackets at its end."""
    message, _, code = text.rpartition("[")
    return (message.rstrip(), code[:-1]) if message[-1:] in ("", " ") and CODE.fullmatch(code) else (text, "")


def _unwrapped(printed: list[str], at: int, text: str) -> str:
    """Join the lines of a message that `--pretty` wrapped: the code is at the end, the indented source follows."""
    whole = text
    for below in range(at + 1, min(at + MOST_WRAPPED, len(printed) - 1)):
        line = printed[below]
        if not line or line[0].isspace() or LINE.fullmatch(line):
            break
        whole = f"{whole.rstrip()} {line}"
        if _split_code(line)[1]:
            return whole if printed[below + 1].startswith("    ") else text
    return text


def _add_json(findings: Findings, line: str) -> None:
    entry = fields(one(line))
    if entry.get("severity") == "error" and (file := words(entry.get("file"))):
        message = words(entry.get("message"))
        findings.error(file, count(entry.get("line")), words(entry.get("code")) or phrase(message), message)
