"""Path patterns as in shells and ignore files: `*`, `?`, `[…]`, `{…,…}` and `**`.

A pattern without a slash matches a name in any directory. Matching time is proportional to pattern length times path
length for every pattern, so no pattern is dangerous. This module reads no files.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

MOST_BRACES = 64
LONGEST_PATTERN = 10_000
"""Longer than any path. A longer pattern matches no path, so it is not compared with every path of a repository."""

T = TypeVar("T")
P = TypeVar("P")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that returns True for a path below the root that matches the pattern."""
    alternatives = [_parts(one) for one in expanded(pattern)] if len(pattern) <= LONGEST_PATTERN else []
    literal = pattern.strip("/").removeprefix("./")

    def matches(path: str) -> bool:
        names = path.split("/")
        if path == literal or names[-1] == pattern:
            return True  # a name like `[id].tsx` also matches literally
        return any(_fits(parts, names, _is_any_depth, _name_fits) for parts in alternatives)

    return matches


def expanded(pattern: str) -> list[str]:
    """Return every pattern that a pattern with braces stands for, up to a limit."""
    done: list[str] = []
    todo = [pattern]
    while todo and len(done) + len(todo) <= MOST_BRACES:
        one = todo.pop()
        start, end = _innermost(one)
        if start < 0:
            done.append(one)
        else:
            todo += [one[:start] + choice + one[end + 1 :] for choice in one[start + 1 : end].split(",")]
    return list(dict.fromkeys(done + todo))


def _innermost(pattern: str) -> tuple[int, int]:
    """Return the positions of the first pair of braces that has a comma and no other braces inside; -1, -1 if there is
    none."""
    start = -1
    for position, letter in enumerate(pattern):
        if letter == "{":
            start = position
        elif letter == "}" and start >= 0:
            if "," in pattern[start:position]:
                return start, position
            start = -1
    return -1, -1


def _parts(pattern: str) -> list[str]:
    inner = pattern.strip("/").removeprefix("./")
    parts = [part for part in inner.split("/") if part]
    return parts if "/" in pattern.strip("/") or pattern.startswith("/") else ["**", *parts]


def _fits(pattern: Sequence[P], given: Sequence[T], is_star: Callable[[P], bool], one: Callable[[P, T], bool]) -> bool:
    """Return True if a sequence matches a pattern whose star elements match any number of elements. Only the last star
    is retried."""
    at = here = 0
    star = resume = -1
    while here < len(given):
        if at < len(pattern) and is_star(pattern[at]):
            star, resume = at, here
            at += 1
        elif at < len(pattern) and one(pattern[at], given[here]):
            at += 1
            here += 1
        elif star >= 0:
            resume += 1
            at, here = star + 1, resume
        else:
            return False
    return all(is_star(element) for element in pattern[at:])


def _is_any_depth(part: str) -> bool:
    return part == "**"


def _name_fits(pattern: str, name: str) -> bool:
    return _fits(_letters(pattern), name, lambda letter: letter == "*", _letter_fits)


@lru_cache(maxsize=256)
def _letters(pattern: str) -> tuple[str, ...]:
    """Split a name pattern into elements: a letter, `?`, `*`, `[…]`. An escaped letter keeps its `\\\\`."""
    elements: list[str] = []
    position = 0
    while position < len(pattern):
        letter = pattern[position]
        end = position + 1
        if letter == "[":
            closing = pattern.find("]", position + (3 if pattern[position + 1 : position + 2] in ("!", "^") else 2))
            end = closing + 1 if closing > 0 else end
        elif letter == "\\" and end < len(pattern):
            end += 1
        elements.append(pattern[position:end])
        position = end
    return tuple(elements)


def _letter_fits(element: str, letter: str) -> bool:
    if element == "?":
        return True
    if element.startswith("[") and len(element) > 1:
        return _in_set(element[1:-1], letter)
    return letter == (element[1] if len(element) == 2 else element)


def _in_set(members: str, letter: str) -> bool:
    wanted = not members.startswith(("!", "^"))
    members = members if wanted else members[1:]
    position, found = 0, False
    while position < len(members):
        if members[position + 1 : position + 2] == "-" and position + 2 < len(members):
            found = found or members[position] <= letter <= members[position + 2]
            position += 3
        else:
            found = found or members[position] == letter
            position += 1
    return found is wanted
