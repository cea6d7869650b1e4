"""A log in clean lines: without colours, control characters and what a CI service puts in front of every line.

It does not say what a line means. What is looked at is bounded: the beginning and the end of a long log (what failed
mostly stands near the end, a failed set-up at the beginning), and the beginning of a long line. What lies between is
not looked at.
"""

import codecs
import re
from functools import lru_cache

from donewhen.readers import printed
from donewhen.readers.failures.sources import apart

BEGINNING = 512 * 1024
END = 6 * 1024 * 1024
FIRST, LAST = 20_000, 180_000

STAMP = re.compile(
    r"(?:[^\t]{1,200}\t[^\t]{1,200}\t)?"  # job and step, as `gh run view --log` writes them
    r"\ufeff?(?:bk;t=\d{1,20}\x07|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: |$))"
    r"(?:\d\d[OE][ +])?"  # the stream, as GitLab writes it
)
MARK = re.compile(r"##\[(?:error|warning|group|debug|command)\]")
BUILD_STEP = re.compile(r"#\d{1,4} \d{1,6}\.\d{1,3} ")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
CHARACTER_SET = re.compile(r"\x1b(?:[()*+./-][0-9A-Za-z]|[0-9=>])")
"""Escapes of old terminals: `tput sgr0` has one, so that tools which ask terminfo for colours print it."""
WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
PROBED = 4_096


def text_of(content: bytes) -> str:
    """What is looked at of a log, as text, whatever bytes are in it. Windows writes two bytes for a letter."""
    coding = _wide(content)
    width = 2 if coding else 1
    beginning, end = BEGINNING * width, len(content) - END * width
    if end <= beginning:
        return content.decode(coding or "utf-8", "replace")
    parts = content[:beginning], content[end + end % width :]
    return "\n".join(part.decode(coding or "utf-8", "replace") for part in parts)


def _wide(content: bytes) -> str:
    """Where every other byte is a zero, as it is of plain letters. With a mark in front some are enough, but not none:
    any two bytes may stand there."""
    if content[:2] in WIDE and content[:PROBED].count(0) * 20 > len(content[:PROBED]):
        return WIDE[content[:2]]
    even, odd = content[:PROBED:2], content[1:PROBED:2]
    for zeros, letters, coding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros.count(0) * 10 > len(zeros) * 9 and letters.count(0) * 10 < len(letters):
            return coding
    return ""


@lru_cache(maxsize=1)
def lines(log: str) -> list[str]:
    """The lines of a log, shared by the readers that look at the same log one after the other: not to be changed."""
    return apart([_clean(line) for line in few(printed.lines(plain(log).encode("utf-8", "replace")))])


def few(lines: list[str]) -> list[str]:
    """The first and the last of very many lines, for short ones cost as much as long ones."""
    return lines if len(lines) <= FIRST + LAST else [*lines[:FIRST], *lines[-LAST:]]


def plain(log: str) -> str:
    """What is looked at, with line ends that were doubled on their way made single again."""
    return CHARACTER_SET.sub("", looked_at(log)).replace("\r\r\n", "\n").replace("\r\n", "\n")


def looked_at(log: str) -> str:
    return log if len(log) <= BEGINNING + END else f"{log[:BEGINNING]}\n{log[-END:]}"


def _clean(line: str) -> str:
    if stamp := STAMP.match(line):
        line = line[stamp.end() :]
    elif step := BUILD_STEP.match(line):
        line = line[step.end() :]
    if mark := MARK.match(line):
        line = line[mark.end() :]
    return CONTROL.sub("", line)
