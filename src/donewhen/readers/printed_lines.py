"""The lines that a program printed, without colours. Their meaning is left to the reader of each runner."""

import re

from donewhen.short_lines import LONGEST_LINE

MOST_BYTES = 16 * 1024 * 1024
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
WORDED = re.compile(r"(\d{1,9}) ([a-z]+(?: [a-z]+)?)")


def lines(content: bytes) -> list[str]:
    """Split the last part of an output into lines. A carriage return starts a line too: progress displays use it."""
    plain = ESCAPES.sub(b"", content[-MOST_BYTES:]).decode("utf-8", "replace")
    return [line[:LONGEST_LINE].rstrip() for line in re.split(r"\r\n|\n|\r", plain)]


def last(pattern: re.Pattern[str], printed: list[str]) -> tuple[int, re.Match[str]] | None:
    """Return index and match of the last line that matches as a whole: a runner's closing line."""
    for at in range(len(printed) - 1, -1, -1):
        if found := pattern.fullmatch(printed[at]):
            return at, found
    return None


def worded(text: str) -> dict[str, int]:
    """Return word → count: `1 failed, 2 passed` or `1 failed | 2 passed`."""
    return {word: int(count) for count, word in WORDED.findall(text)}


def first_groups(pattern: re.Pattern[str], printed: list[str]) -> list[str]:
    """Return the first group of every line that matches as a whole."""
    return [found[1] for line in printed if (found := pattern.fullmatch(line))]
