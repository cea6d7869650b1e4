"""A text as lines on which all readers agree. Some end a line at a form feed or a Unicode separator, others do not."""

from donewhen.judge.protect.taken import Unreadable
from donewhen.judge.short_lines import LONGEST_LINE


def lines(text: str) -> list[str]:
    """The lines without their ends; a text with a very long line, or that could be cut in two ways, is unreadable."""
    closed = text.replace("\r\n", "\n") + "\n"
    found = closed.split("\n")[:-1]
    if closed.splitlines() != found or any(len(line) > LONGEST_LINE for line in found):
        raise Unreadable
    return found
