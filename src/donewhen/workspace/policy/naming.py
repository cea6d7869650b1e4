"""Which program a step runs, told from its first word."""

import re
from collections.abc import Sequence

from donewhen.workspace.policy.paths import Where, leads
from donewhen.workspace.policy.step import DOUBT, HOLE, Place, Redirect, Step, Stream, Word

_TOOLS = re.compile(r"(^|/)(\.?bin|node_modules|vendor)/|(^|/)(gradlew|mvnw)$")
"""Places in a tree where programs of other people are installed, under the names that the rules know."""


def command(
    words: tuple[Word, ...],
    text: str,
    place: Place,
    assigned: tuple[tuple[str, Word], ...] = (),
    redirects: tuple[Redirect, ...] = (),
    stdin: Stream | None = None,
) -> Step:
    """A step from its words; a doubt when the name of the program is not known."""
    name = _name(words[0], place) if words else ""
    unknown = bool(words) and (HOLE in name or words[0].live or words[0].either)
    kind = "unknown-command" if unknown else ""
    return Step(DOUBT if unknown else name, words, text, place, assigned, redirects, stdin, kind)


def _name(word: Word, place: Place) -> str:
    """The last part of the path; but a program of the tree itself keeps its path, it only shares a name."""
    directory, slash, name = word.text.rpartition("/")
    own = slash and HOLE not in directory and not _TOOLS.search(word.text) and leads(word, place) is Where.INSIDE
    return f"./{name}" if own else name


def inner(step: Step, words: Sequence[Word], place: Place | None = None) -> Step | None:
    """The step that another one starts with some of its own words, or nothing when there are none."""
    if not words:
        return None
    return command(tuple(words), " ".join(word.raw for word in words), place or step.place, stdin=step.stdin)
