"""Size limits for text that a model gets: keeps start and end, removes terminal codes, never splits a character.

This module does not interpret the text.
"""

import re

MOST_BYTES = 16 * 1024
TERMINAL_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links and other strings; never more than a line
    r"|\x1b[ -/]*[0-~]?"
)
NOT_PRINTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
NOTICE_BYTES = 80


def clean(text: str) -> str:
    """Return the text without terminal codes and without characters that cannot be sent as UTF-8."""
    return TERMINAL_CODES.sub("", text).encode("utf-8", "replace").decode()


def lines_of(text: str) -> list[str]:
    """Split into lines as grep, git and editors count them, each with its end. `str.splitlines` would also split at a
    form feed."""
    *whole, last = text.replace("\r\n", "\n").split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def printed(data: bytes) -> str:
    """Return command output as a terminal would show it: of a line that was overwritten, only the last state."""
    text = TERMINAL_CODES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return NOT_PRINTED.sub("", text)


def clipped(text: str, most: int = MOST_BYTES, lost: int = 0, lost_at: int = 0) -> str:
    """Return at most `most` bytes of UTF-8: the start and the end, with a line between them that says how much is left
    out.

    `lost` bytes are already missing, after the first `lost_at` characters.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= most and not lost:
        return data.decode()
    half = max(most - NOTICE_BYTES, 0) // 2
    first = len(text[:lost_at].encode("utf-8", "replace")) if lost else len(data)
    head = data[: min(half, first)]
    tail = data[max(len(data) - half, len(head), first if lost else 0) :]
    left_out = len(data) - len(head) - len(tail) + lost
    before, after = head.decode("utf-8", "ignore"), tail.decode("utf-8", "ignore")
    return f"{before}\n[… {left_out} bytes left out here …]\n{after}"
