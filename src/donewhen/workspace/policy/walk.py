"""Visits every step of a command and, recursively, everything that runs inside it, within limits."""

from collections.abc import Iterator
from dataclasses import replace

from donewhen.workspace.policy.grammar import MOST_TEXT, Parse, parse
from donewhen.workspace.policy.reader import MOST_STEPS, read
from donewhen.workspace.policy.step import UNKNOWN_TEXT, Nested, Step, WorkingDir, doubt
from donewhen.workspace.policy.unwrap import unwrap

DEEPEST = 12
"""Limit for wrappers within wrappers."""
MOST_NESTED = 4 * MOST_TEXT
"""Limit for the characters of all scripts inside one command together."""


class _LimitReached(Exception):
    """The command contains more than the limits permit to read."""


def every_step(text: str, working_dir: WorkingDir, parse: Parse = parse) -> Iterator[Step]:
    """Yield the steps in the order in which they are met. The last is a doubt if something was left out."""
    walk = _CommandWalk(parse)
    try:
        for step in read(Nested(text, working_dir), parse):
            yield from walk.steps_in(step, 0)
    except _LimitReached:
        yield doubt("too-deep", text, working_dir)


class _CommandWalk:
    def __init__(self, parse: Parse) -> None:
        self.parse = parse
        self.steps = 0
        self.characters = 0

    def steps_in(self, step: Step, depth: int) -> Iterator[Step]:
        """Yield a step and everything inside it."""
        self.steps += 1
        if depth > DEEPEST or self.steps > MOST_STEPS:
            raise _LimitReached
        yield step
        for inner in unwrap(step):
            for found in self.read(inner) if isinstance(inner, Nested) else [inner]:
                yield from self.steps_in(found, depth + 1)

    def read(self, script: Nested) -> list[Step]:
        self.characters += len(script.text)
        if self.characters > MOST_NESTED:
            raise _LimitReached
        # A `UNKNOWN_TEXT` is read as a variable that is not set.
        steps = read(replace(script, text=script.text.replace(UNKNOWN_TEXT, "${_}")), self.parse)
        if UNKNOWN_TEXT in script.text:
            steps.append(doubt("unknown-script", script.text.replace(UNKNOWN_TEXT, "…"), script.working_dir))
        return steps
