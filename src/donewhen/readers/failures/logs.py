"""A log as clean lines: without colours, control characters and the prefix that a CI service puts on every line.

The meaning of a line is not interpreted here. The amount read is bounded: the beginning and the end of a long log
(failures are mostly near the end, a failed set-up is at the beginning), and the beginning of a long line. The rest is
ignored.
"""

import codecs
import re
from functools import lru_cache

from donewhen.readers import printed_lines
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
"""Escape sequences of old terminals. `tput sgr0` has one, so tools that take colours from terminfo print it."""
WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
PROBED = 4_096


def text_of(content: bytes) -> str:
    """Return the part of a log that is read, as text, whatever its bytes. Windows may write two bytes per character."""
    coding = _wide(content)
    width = 2 if coding else 1
    beginning, end = BEGINNING * width, len(content) - END * width
    if end <= beginning:
        return content.decode(coding or "utf-8", "replace")
    parts = content[:beginning], content[end + end % width :]
    return "\n".join(part.decode(coding or "utf-8", "replace") for part in parts)


def _wide(content: bytes) -> str:
    """Return the UTF-16 variant of the content, or an empty string. In plain text every other byte is zero. After a
    byte order mark some zeros are enough, but there must be some: any two bytes may look like a mark."""
    if content[:2] in WIDE and content[:PROBED].count(0) * 20 > len(content[:PROBED]):
        return WIDE[content[:2]]
    even, odd = content[:PROBED:2], content[1:PROBED:2]
    for zeros, letters, coding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros.count(0) * 10 > len(zeros) * 9 and letters.count(0) * 10 < len(letters):
            return coding
    return ""


@lru_cache(maxsize=1)
def lines(log: str) -> list[str]:
    """Return the lines of a log. The cached list is shared by the readers of the same log: do not change it."""
    return apart([_clean(line) for line in few(printed_lines.lines(plain(log).encode("utf-8", "replace")))])


def few(lines: list[str]) -> list[str]:
    """Return only the first and last of very many lines: a short line costs as much as a long one."""
    return lines if len(lines) <= FIRST + LAST else [*lines[:FIRST], *lines[-LAST:]]


def plain(log: str) -> str:
    """Return the part of a log that is read, with doubled line ends made single."""
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
