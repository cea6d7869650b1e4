"""Regular expressions for path patterns with wildcards. Matching takes time in proportion to pattern times path.

The wildcards that a regular expression offers are tried in every combination when a path does not match. Here each one
but the last is an atomic group: what follows it is taken where it first fits, and that choice is never revised. This
gives the same answer, since a later wildcard can cover whatever an earlier one leaves out.
"""

from collections.abc import Sequence
from enum import Enum


class Wildcard(Enum):
    STAR = "any characters of one name"
    DIRECTORIES = "any number of directories, each with its slash"


Element = str | Wildcard
"""A wildcard, or a regular expression for exactly one character. Only at the end it may stand for more."""


def expression(elements: Sequence[Element]) -> str:
    """The regular expression, for `fullmatch` with DOTALL. DIRECTORIES must follow a slash or stand at the start."""
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
