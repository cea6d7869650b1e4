"""Globs over paths of a repository, as a contract writes them. Pure: paths are text, no file is looked at.

    *  ?  [a-z]  [!a-z]   within one name
    **                    any number of directories, also none
    tests   tests/        a directory by its name covers everything below it, a file itself
    conftest.py           at the root of the repository only; `**/conftest.py` is the one in any directory

A pattern that ends in a wildcard other than `**` covers what it matches and nothing below: `tests/*` is the files
directly in `tests`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from donewhen.errors import BadInput

ONE, SOME = "[^/]", "[^/]*"
WILD = re.compile(r"[*?\[]")


def first_match(patterns: Iterable[str], path: str) -> str:
    """The first of the patterns that covers a path, or nothing."""
    return next((pattern for pattern in patterns if compiled(pattern).fullmatch(path)), "")


def require_sound(pattern: str, key: str) -> None:
    """Refuse a pattern that makes no sense, with the key that it stands under."""
    try:
        compiled(pattern)
    except BadInput as error:
        raise BadInput(f"'{key}': {error}") from error


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    if not segments or ".." in segments:
        raise BadInput(f"{pattern!r} is no pattern for paths below the repository root")
    names_directory = pattern.endswith("/") or not WILD.search(segments[-1])
    below = "(?:/.*)?" if names_directory else ""
    return re.compile(_joined(segments) + below, re.DOTALL)


def _joined(segments: list[str]) -> str:
    """A regular expression; `**` swallows the slash on the side where there is more."""
    found = ""
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "**":
            found += ".+" if last else "(?:[^/]+/)*"
        else:
            found += _segment(segment) + ("" if last else "/")
    return found


def _segment(segment: str) -> str:
    found, at = "", 0
    while at < len(segment):
        char = segment[at]
        end = _end_of_class(segment, at) if char == "[" else 0
        if end:
            found += _class(segment[at + 1 : end])
            at = end
        elif char == "*":
            found += "" if found.endswith(SOME) else SOME
        else:
            found += ONE if char == "?" else re.escape(char)
        at += 1
    return found


def _end_of_class(segment: str, at: int) -> int:
    """Where a class that opens here closes; 0 when it does not, and the bracket is just a bracket."""
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
    if not parts:  # a range that runs backwards holds nothing
        return ONE if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{''.join(parts)}]"
