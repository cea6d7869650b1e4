"""Glob patterns over paths of a repository, as used in a contract. Pure: paths are text, no file is read.

    *  ?  [a-z]  [!a-z]   within one name
    **                    any number of directories, also none
    tests   tests/        the name of a directory covers everything below it, the name of a file that file
    conftest.py           at the root of the repository only; `**/conftest.py` is in any directory

A pattern that ends in a wildcard other than `**` covers what it matches and nothing below: `tests/*` covers the files
directly in `tests`.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from donewhen.errors import BadInput
from donewhen.workspace.wildcards import Element, Wildcard, expression

ONE = "[^/]"
WILD = re.compile(r"[*?\[]")
LONGEST = 4_096
"""In characters. No path is longer."""


def first_match(patterns: Iterable[str], path: str) -> str:
    """Return the first pattern that covers a path; empty if none does."""
    return next((pattern for pattern in patterns if compiled(pattern).fullmatch(path)), "")


def literal(path: str) -> str:
    """Return a pattern that covers this path alone, and what is below it."""
    return WILD.sub(lambda found: f"[{found[0]}]", path)


def require_sound(pattern: str, key: str) -> None:
    """Raise BadInput, with the settings key, for an invalid pattern."""
    try:
        compiled(pattern)
    except BadInput as error:
        raise BadInput(f"'{key}': {error}") from error


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    if len(pattern) > LONGEST:
        raise BadInput(f"{pattern[:40]!r}… has more than {LONGEST} characters")
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if not segments or ".." in segments:
        raise BadInput(f"{pattern!r} is not a pattern for paths below the repository root")
    names_directory = pattern.endswith("/") or not WILD.search(segments[-1])
    below = ["(?:/.*)?"] if names_directory else []
    return re.compile(expression([*_elements(segments), *below]), re.DOTALL)


def _elements(segments: list[str]) -> Iterator[Element]:
    """Yield the parts of an expression. `**` includes the slash on the side where more follows."""
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "**":
            yield ".+" if last else Wildcard.DIRECTORIES
        else:
            yield from _segment(segment)
            yield from () if last else "/"


def _segment(segment: str) -> Iterator[Element]:
    at = 0
    while at < len(segment):
        char = segment[at]
        end = _end_of_class(segment, at) if char == "[" else 0
        if end:
            yield _class(segment[at + 1 : end])
            at = end
        elif char == "*":
            yield Wildcard.STAR
        else:
            yield ONE if char == "?" else re.escape(char)
        at += 1


def _end_of_class(segment: str, at: int) -> int:
    """Return the index at which a class closes; 0 if it does not close and the bracket is an ordinary character."""
    first = at + 2 if segment[at + 1 : at + 2] == "!" else at + 1
    return max(segment.find("]", first + 1), 0)


def _class(inside: str) -> str:
    negated = inside.startswith("!")
    inside = inside[1:] if negated else inside
    parts: list[str] = []
    at = 0
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            if inside[at] <= inside[at + 2]:
                parts.append(f"{re.escape(inside[at])}-{re.escape(inside[at + 2])}")
            at += 3
        else:
            parts.append(re.escape(inside[at]))
            at += 1
    if not parts:  # a reversed range contains nothing
        return ONE if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{''.join(parts)}]"
