"""The model `replay:SESSION`, which repeats recorded turns. The caller that opens it passes them."""

from collections.abc import Callable, Mapping, Sequence

from donewhen.model.interface import ModelFailed, OnText, Reply, Turn
from donewhen.records import frozen

MakeFailure = Callable[[], ModelFailed]
"""Returns a recorded failure as a new exception: one that was raised before contains the old traceback."""


@frozen
class Replay:
    """A model that repeats the recorded turns of a session by role and number. A recorded failure is raised again."""

    name: str
    turns: Mapping[str, Sequence[Reply | MakeFailure]]

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        recorded = self.turns.get(turn.role, ())
        if turn.number >= len(recorded):
            message = f"{self.name} has {len(recorded)} turns of {turn.role}, but turn {turn.number + 1} was requested"
            raise ModelFailed(message, kind="script", final=True)
        found = recorded[turn.number]
        if not isinstance(found, Reply):
            raise found()
        if on_text and found.text:
            on_text(found.text)
        return found
