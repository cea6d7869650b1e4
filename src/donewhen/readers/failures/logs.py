"""A log in clean lines: without colours, control characters and what a CI service puts in front of every line.

It does not say what a line means. What is looked at is bounded: the beginning and the end of a long log (what failed
mostly stands near the end, a failed set-up at the beginning), and the beginning of a long line. What lies between is
not looked at.
"""

import re
from functools import lru_cache

from donewhen.readers import printed

BEGINNING = 512 * 1024
END = 6 * 1024 * 1024

STAMP = re.compile(
    r"(?:[^\t]{1,200}\t[^\t]{1,200}\t)?"  # job and step, as `gh run view --log` writes them
    r"\ufeff?(?:bk;t=\d{1,20}\x07|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: |$))"
    r"(?:\d\d[OE][ +])?"  # the stream, as GitLab writes it
)
MARK = re.compile(r"##\[(?:error|warning|group|debug|command)\]")
BUILD_STEP = re.compile(r"#\d{1,4} \d{1,6}\.\d{1,3} ")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@lru_cache(maxsize=1)
def lines(log: str) -> list[str]:
    """The lines of a log, shared by the readers that look at the same log one after the other: not to be changed."""
    return [_clean(line) for line in printed.lines(looked_at(log).encode("utf-8", "replace"))]


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
