"""Patterns for paths, as people know them from shells and ignore files: `*`, `?`, `[…]`, `{…,…}` and `**`.

A pattern without a slash means a name in any directory. Matching takes time in proportion to pattern times path,
whatever the pattern, so that nobody has to be afraid of one. No file is looked at here.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

MOST_BRACES = 64

T = TypeVar("T")
P = TypeVar("P")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path beneath the root is meant by a pattern."""
    alternatives = [_parts(one) for one in expanded(pattern)]
    literal = pattern.strip("/").removeprefix("./")

    def matches(path: str) -> bool:
        names = path.split("/")
        if path == literal or names[-1] == pattern:
            return True  # a name like `[id].tsx` is meant as it stands, too
        return any(_fits(parts, names, _is_any_depth, _name_fits) for parts in alternatives)

    return matches


def expanded(pattern: str) -> list[str]:
    """Every pattern that one with braces stands for, as far as they are not too many."""
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
    """Where the first braces with a comma and no other braces between them are."""
    start = -1
    for place, letter in enumerate(pattern):
        if letter == "{":
            start = place
        elif letter == "}" and start >= 0:
            if "," in pattern[start:place]:
                return start, place
            start = -1
    return -1, -1


def _parts(pattern: str) -> list[str]:
    inner = pattern.strip("/").removeprefix("./")
    parts = [part for part in inner.split("/") if part]
    return parts if "/" in pattern.strip("/") or pattern.startswith("/") else ["**", *parts]


def _fits(pattern: Sequence[P], given: Sequence[T], is_star: Callable[[P], bool], one: Callable[[P, T], bool]) -> bool:
    """Whether a row fits a pattern in which some elements stand for any number; only the last such is tried anew."""
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
    """A pattern for a name, in elements: a letter, `?`, `*`, `[…]`; a letter that was escaped comes with its `\\\\`."""
    elements: list[str] = []
    place = 0
    while place < len(pattern):
        letter = pattern[place]
        end = place + 1
        if letter == "[":
            closing = pattern.find("]", place + (3 if pattern[place + 1 : place + 2] in ("!", "^") else 2))
            end = closing + 1 if closing > 0 else end
        elif letter == "\\" and end < len(pattern):
            end += 1
        elements.append(pattern[place:end])
        place = end
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
    place, found = 0, False
    while place < len(members):
        if members[place + 1 : place + 2] == "-" and place + 2 < len(members):
            found = found or members[place] <= letter <= members[place + 2]
            place += 3
        else:
            found = found or members[place] == letter
            place += 1
    return found is wanted
