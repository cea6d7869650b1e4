"""Finds out from its first word which program a step runs."""

import re
from collections.abc import Sequence

from donewhen.workspace.policy.paths import Where, leads
from donewhen.workspace.policy.step import DOUBT, HOLE, PipedText, Redirect, Step, Word, WorkingDir

_TOOLS = re.compile(r"(^|/)(\.?bin|node_modules|vendor)/|(^|/)(gradlew|mvnw)$")
"""Places in a tree where third-party programs are installed, under the names that the rules know."""


def command(
    words: tuple[Word, ...],
    text: str,
    place: WorkingDir,
    assigned: tuple[tuple[str, Word], ...] = (),
    redirects: tuple[Redirect, ...] = (),
    stdin: PipedText | None = None,
) -> Step:
    """Return a step made from its words; a doubt if the name of the program is unknown."""
    name = _name(words[0], place) if words else ""
    unknown = bool(words) and (HOLE in name or words[0].live or words[0].either)
    kind = "unknown-command" if unknown else ""
    return Step(DOUBT if unknown else name, words, text, place, assigned, redirects, stdin, kind)


def _name(word: Word, place: WorkingDir) -> str:
    """Return the last part of the path. The tree's own programs get a `./`: they only share a name with a tool."""
    directory, slash, name = word.text.rpartition("/")
    own = slash and HOLE not in directory and not _TOOLS.search(word.text) and leads(word, place) is Where.INSIDE
    return f"./{name}" if own else name


def inner(step: Step, words: Sequence[Word], place: WorkingDir | None = None) -> Step | None:
    """Return the step that another step starts with some of its own words; None if there are no words."""
    if not words:
        return None
    return command(tuple(words), " ".join(word.raw for word in words), place or step.place, stdin=step.stdin)
