"""Finds out from its first word which program a step runs."""

import re
from collections.abc import Sequence

from donewhen.workspace.policy.paths import Location, word_location
from donewhen.workspace.policy.step import DOUBT, UNKNOWN_TEXT, PipedText, Redirect, Step, Word, WorkingDir

_TOOLS = re.compile(r"(^|/)(\.?bin|node_modules|vendor)/|(^|/)(gradlew|mvnw)$")
"""Places in a tree where third-party programs are installed, under the names that the rules know."""


def command(
    words: tuple[Word, ...],
    text: str,
    working_dir: WorkingDir,
    assigned: tuple[tuple[str, Word], ...] = (),
    redirects: tuple[Redirect, ...] = (),
    stdin: PipedText | None = None,
) -> Step:
    """Return a step made from its words; a doubt if the name of the program is unknown."""
    name = _name(words[0], working_dir) if words else ""
    unknown = bool(words) and (UNKNOWN_TEXT in name or words[0].has_glob or words[0].is_alternative)
    kind = "unknown-command" if unknown else ""
    return Step(DOUBT if unknown else name, words, text, working_dir, assigned, redirects, stdin, kind)


def _name(word: Word, working_dir: WorkingDir) -> str:
    """Return the last part of the path. The tree's own programs get a `./`: they only share a name with a tool."""
    directory, slash, name = word.text.rpartition("/")
    is_own = (
        slash
        and UNKNOWN_TEXT not in directory
        and not _TOOLS.search(word.text)
        and word_location(word, working_dir) is Location.INSIDE
    )
    return f"./{name}" if is_own else name


def inner_step(step: Step, words: Sequence[Word], working_dir: WorkingDir | None = None) -> Step | None:
    """Return the step that another step starts with some of its own words; None if there are no words."""
    if not words:
        return None
    return command(
        tuple(words), " ".join(word.raw for word in words), working_dir or step.working_dir, stdin=step.stdin
    )
