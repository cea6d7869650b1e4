"""Turns the parts of a word into the fields a program gets: choices, braces, tilde, splitting at white space."""

import re
from itertools import product
from typing import NamedTuple

from donewhen.workspace.policy.quoting import braces
from donewhen.workspace.policy.step import UNKNOWN_TEXT

MOST_CHOICES = 16
"""A word that could have more values than this counts as unknown."""

GLOB = frozenset("*?[")

_BLANK = re.compile(r"[ \t\n]")

Field = tuple[str, bool]
"""Text, and whether it contains glob characters that the shell would expand."""


class Part(NamedTuple):
    """A part of a word: the values it can have, and how the shell would treat them."""

    choices: tuple[str, ...]
    is_unquoted: bool = False
    """True if it is neither quoted nor escaped."""
    is_expanded: bool = False
    """True if it comes from a variable or a substitution."""

    @property
    def text(self) -> str:
        return self.choices[0]

    @property
    def is_split(self) -> bool:
        """True if the shell splits it at white space."""
        return self.is_expanded and self.is_unquoted


def combinations(parts: list[Part]) -> list[tuple[Part, ...]]:
    """Return every way to choose one value for each part; a single `UNKNOWN_TEXT` if there are too many."""
    count = 1
    for part in parts:
        count *= len(part.choices)
    if count > MOST_CHOICES:
        return [(Part((UNKNOWN_TEXT,)),)]
    return list(product(*([part._replace(choices=(choice,)) for choice in part.choices] for part in parts)))


def fields(parts: tuple[Part, ...], cwd: str) -> list[Field]:
    """Return the fields for one choice of values, expanded in the shell's own order."""
    written = braces([(part.text, part.is_unquoted and not part.is_expanded) for part in parts])
    if written is None:
        return [(UNKNOWN_TEXT, False)]
    if len(written) == 1:
        return _split(_tilde(list(parts), cwd))
    words = [[Part((text,), is_unquoted) for text, is_unquoted in word] for word in written]
    return [field for word in words for field in _split(_tilde(word, cwd))]


def _tilde(parts: list[Part], cwd: str) -> list[Part]:
    if not parts or not parts[0].is_unquoted or parts[0].is_expanded or not parts[0].text.startswith("~"):
        return parts
    user, slash, rest = parts[0].text.partition("/")
    home = cwd if user == "~+" else f"/{user}"
    return [Part((home,)), parts[0]._replace(choices=(slash + rest,)), *parts[1:]]


def _split(parts: list[Part]) -> list[Field]:
    """Split unquoted expansions at white space, and nothing else. Empty unquoted text does not become a field."""
    done: list[Field] = []
    text, has_glob, begun = "", False, False
    for part in parts:
        cuts = part.text.replace("\n", " ").replace("\t", " ").split(" ") if part.is_split else [part.text]
        for index, piece in enumerate(cuts):
            if index and begun:
                done.append((text, has_glob))
                text, has_glob, begun = "", False, False
            begun = begun or bool(piece) or not part.is_split
            text += piece
            has_glob = has_glob or (part.is_unquoted and not GLOB.isdisjoint(piece))
    return [*done, (text, has_glob)] if begun else done
