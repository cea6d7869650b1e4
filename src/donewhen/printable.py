"""Text of others, made safe to show: what a terminal obeys, and what a reader cannot see, is written out as escapes.

Controls, escape sequences, bidirectional and zero-width characters, line separators and unassigned characters appear as
`\\x1b` or `\\u202e`, and spaces of other widths as a space. Letters of every script and emoji stay, also those that are
joined out of several.
"""

import re
from collections.abc import Callable

JOINER = "\u200d"
PICTURE_MARKS = "\ufe0e\ufe0f"
"""They choose between a symbol and an emoji, and follow one."""
DRAWN_AS_NOTHING = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that count as printable and show nothing: a row of them hides a text."""
MARKABLE = ("So", "Sm", "Sk", "Po", "Pd", "Nd")
"""Categories of characters that a picture mark may follow."""
PICTURES = ("So", "Sk")


def one_line(text: str) -> str:
    """The text as a single line; line ends and tabs are written out too."""
    return escaped(text, _escape)


def visible(text: str) -> str:
    """The text with its lines and tabs."""
    return escaped(text, _escape, keep="\n\t")


def escaped(text: str, escape: Callable[[str], str], keep: str = "") -> str:
    """The text with everything escaped that is neither seen nor in `keep`."""
    if text.isprintable() and not DRAWN_AS_NOTHING.search(text):
        return text
    return "".join(
        char if char in keep or _is_seen(char) or _is_part_of_emoji(text, at) else escape(char)
        for at, char in enumerate(text)
    )


def _is_seen(char: str) -> bool:
    return char.isprintable() and not DRAWN_AS_NOTHING.match(char)


def _is_part_of_emoji(text: str, at: int) -> bool:
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if char in PICTURE_MARKS:
        return bool(before) and _category(before) in MARKABLE
    is_between = bool(before) and bool(after) and _category(after) in PICTURES
    return char == JOINER and is_between and (before == PICTURE_MARKS[1] or _category(before) in PICTURES)


def _category(char: str) -> str:
    import unicodedata  # a library of its own, and most text is plain

    return unicodedata.category(char)


def _escape(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"  # a byte that is not UTF-8
    if _category(char) == "Zs":
        return " "  # a space of another width
    return char.encode("unicode_escape").decode()
