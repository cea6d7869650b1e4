"""Every step of a command, with what runs inside it and inside that, within bounds."""

from collections.abc import Iterator
from dataclasses import replace

from donewhen.workspace.policy.grammar import MOST_TEXT, Parse, parse
from donewhen.workspace.policy.reader import MOST_STEPS, read
from donewhen.workspace.policy.step import HOLE, Nested, Place, Step, doubt
from donewhen.workspace.policy.unwrap import unwrap

DEEPEST = 12
"""Wrappers in wrappers."""
MOST_NESTED = 4 * MOST_TEXT
"""Characters of all scripts inside one command together."""


class _Spent(Exception):
    """The command holds more than is looked through."""


def every_step(text: str, place: Place, parse: Parse = parse) -> Iterator[Step]:
    """The steps in the order in which they are met. The last is a doubt when something had to be left out."""
    walk = _Walk(parse)
    try:
        for step in read(Nested(text, place), parse):
            yield from walk.around(step, 0)
    except _Spent:
        yield doubt("too-deep", text, place)


class _Walk:
    def __init__(self, parse: Parse) -> None:
        self.parse = parse
        self.steps = 0
        self.characters = 0

    def around(self, step: Step, depth: int) -> Iterator[Step]:
        """A step and all that is inside it."""
        self.steps += 1
        if depth > DEEPEST or self.steps > MOST_STEPS:
            raise _Spent
        yield step
        for inner in unwrap(step):
            for found in self.read(inner) if isinstance(inner, Nested) else [inner]:
                yield from self.around(found, depth + 1)

    def read(self, script: Nested) -> list[Step]:
        self.characters += len(script.text)
        if self.characters > MOST_NESTED:
            raise _Spent
        # A hole is read as a variable that nobody has set.
        steps = read(replace(script, text=script.text.replace(HOLE, "${_}")), self.parse)
        if HOLE in script.text:
            steps.append(doubt("unknown-script", script.text.replace(HOLE, "…"), script.place))
        return steps
