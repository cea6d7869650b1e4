"""The lines of what a program printed, without colours. What they mean is for the reader of each runner."""

import re

MOST_BYTES = 16 * 1024 * 1024
LONGEST_LINE = 4_000
ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
WORDED = re.compile(r"(\d{1,9}) ([a-z]+(?: [a-z]+)?)")


def lines(content: bytes) -> list[str]:
    """The last part of an output in lines. A carriage return begins a line too: that is how progress is drawn."""
    plain = ESCAPES.sub(b"", content[-MOST_BYTES:]).decode("utf-8", "replace")
    return [line[:LONGEST_LINE].rstrip() for line in re.split(r"\r\n|\n|\r", plain)]


def last(pattern: re.Pattern[str], printed: list[str]) -> tuple[int, re.Match[str]] | None:
    """Where the last line is that matches as a whole: what a runner says at its end."""
    for at in range(len(printed) - 1, -1, -1):
        if found := pattern.fullmatch(printed[at]):
            return at, found
    return None


def worded(text: str) -> dict[str, int]:
    """Counts that are followed by their word: `1 failed, 2 passed` or `1 failed | 2 passed`."""
    return {word: int(count) for count, word in WORDED.findall(text)}


def heard(pattern: re.Pattern[str], printed: list[str]) -> list[str]:
    """The first group of every line that matches as a whole."""
    return [found[1] for line in printed if (found := pattern.fullmatch(line))]
