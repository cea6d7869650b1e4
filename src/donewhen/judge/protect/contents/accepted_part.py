"""How much of a changed mixed file is accepted: all of it, nothing, or a text in between. Plain data.

Also splits a text into lines on which all readers agree: some readers end a line at a form feed or a Unicode separator,
others do not.
"""

from donewhen.records import frozen
from donewhen.short_lines import LONGEST_LINE


class FileUnreadable(Exception):
    """The file cannot be parsed reliably, so it is restored from the base."""


@frozen
class AcceptedPart:
    content: bytes | None = None
    """The text that is judged, if it is neither that of the candidate nor that of the base."""
    reverted: tuple[str, ...] = ()
    """The parts that are restored from the base."""
    none: bool = False
    """Nothing is accepted: the whole file is restored from the base."""
    reason: str = ""
    """Why, if more can be said than the name of the file says."""

    @property
    def is_all(self) -> bool:
        return not self.none and not self.reverted


ALL = AcceptedPart()
NOTHING = AcceptedPart(none=True)
"""Nothing is accepted: the protection covers the whole file."""


def lines(text: str) -> list[str]:
    """Return the lines without their line ends.

    Raise FileUnreadable if a line is very long, or if readers could split the text differently.
    """
    closed = text.replace("\r\n", "\n") + "\n"
    found = closed.split("\n")[:-1]
    if closed.splitlines() != found or any(len(line) > LONGEST_LINE for line in found):
        raise FileUnreadable
    return found
