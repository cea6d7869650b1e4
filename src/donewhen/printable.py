"""Escaping of untrusted text for display: terminal control characters and invisible characters become visible escapes.

Control characters, escape sequences, bidirectional and zero-width characters, line separators and unassigned characters
appear as `\\x1b` or `\\u202e`. Spaces of other widths become a normal space. Letters of every script and emoji stay,
including emoji that are joined from several characters. Of the combining marks on one letter only the first few stay,
because a long stack of marks covers other lines.
"""

import re
from collections.abc import Callable

JOINER = "\u200d"
PICTURE_MARKS = "\ufe0e\ufe0f"
"""Variation selectors: they follow a character and select its symbol or its emoji form."""
DRAWN_AS_NOTHING = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that count as printable but show nothing; a sequence of them can hide a text."""
MARKABLE = ("So", "Sm", "Sk", "Po", "Pd", "Nd")
"""Unicode categories of characters that a variation selector may follow."""
PICTURES = ("So", "Sk")
MARKS = ("Mn", "Me", "Mc")
MOST_MARKS = 8
"""Consecutive marks that are kept: more than any written language needs for one letter."""
MAY_BE_TOWER = re.compile(rf"[^\w\s\x00-\u02ff]{{{MOST_MARKS + 1}}}")
"""Quick test for a stack of marks. Marks are not letters and begin at U+0300; some other signs match too."""
LONGEST_QUOTED = 60


def one_line(text: str) -> str:
    """Return the text as a single line; line ends and tabs are escaped too."""
    return escaped(text, _escape)


def visible(text: str) -> str:
    """Return the escaped text, with its line ends and tabs kept."""
    return escaped(text, _escape, keep="\n\t")


def shortened(text: str, most: int = LONGEST_QUOTED) -> str:
    """Return the beginning of a text, for a message that quotes it."""
    return text if len(text) <= most else text[: most - 1] + "…"


def escaped(text: str, escape: Callable[[str], str], keep: str = "") -> str:
    """Escape every character that is neither visible nor in `keep`."""
    may_be_tower = MAY_BE_TOWER.search(text) is not None
    if text.isprintable() and not DRAWN_AS_NOTHING.search(text) and not may_be_tower:
        return text
    shown, marks = list[str](), 0
    for at, char in enumerate(text):
        marks = marks + 1 if may_be_tower and _category(char) in MARKS else 0
        stays = char in keep or (marks <= MOST_MARKS and (_is_seen(char) or _is_part_of_emoji(text, at)))
        shown.append(char if stays else escape(char))
    return "".join(shown)


def _is_seen(char: str) -> bool:
    return char.isprintable() and not DRAWN_AS_NOTHING.match(char)


def _is_part_of_emoji(text: str, at: int) -> bool:
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if char in PICTURE_MARKS:
        return bool(before) and _category(before) in MARKABLE
    is_between = bool(before) and bool(after) and _category(after) in PICTURES
    return char == JOINER and is_between and (before == PICTURE_MARKS[1] or _category(before) in PICTURES)


def _category(char: str) -> str:
    import unicodedata  # loaded on use: it is a separate library, and most text does not need it

    return unicodedata.category(char)


def _escape(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"  # a byte that is not valid UTF-8
    if _category(char) == "Zs":
        return " "  # a space of another width
    return char.encode("unicode_escape").decode()
