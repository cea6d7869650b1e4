"""Regular expressions for path patterns with wildcards. Matching takes time proportional to pattern times path.

Plain regular expression wildcards are tried in every combination if a path does not match. Here each wildcard but the
last is an atomic group: the text after it is matched at the first position that fits, and that choice is never revised.
The result is the same, because a later wildcard can match whatever an earlier one leaves.
"""

from collections.abc import Sequence
from enum import Enum


class Wildcard(Enum):
    STAR = "any characters of one name"
    DIRECTORIES = "any number of directories, each with its slash"


Element = str | Wildcard
"""A wildcard, or a regular expression for exactly one character. Only the last element may match more."""


def expression(elements: Sequence[Element]) -> str:
    """Return the regular expression, for `fullmatch` with DOTALL. DIRECTORIES must follow a slash or come first."""
    first, *blocks = _split(elements, Wildcard.DIRECTORIES)
    found = _block(first)
    for block in blocks[:-1]:
        found += f"(?>(?:[^/]*/)*?{_block(block)})"
    return found + "".join(f"(?:[^/]*/)*{_block(block)}" for block in blocks[-1:])


def _block(elements: Sequence[Element]) -> str:
    first, *chunks = ["".join(map(str, chunk)) for chunk in _split(elements, Wildcard.STAR)]
    found = first
    for chunk in chunks[:-1]:
        found += f"(?>[^/]*?{chunk})"
    return found + "".join(f"[^/]*{chunk}" for chunk in chunks[-1:])


def _split(elements: Sequence[Element], at: Wildcard) -> list[list[Element]]:
    parts: list[list[Element]] = [[]]
    for element in elements:
        if element is at:
            parts.append([])
        else:
            parts[-1].append(element)
    return parts
