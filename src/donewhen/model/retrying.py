"""When to ask again: back-off with jitter, what the server wished for, and a budget per turn and per run.

Decides and waits; what is asked, and what an answer is, is not known here.
"""

import datetime
from dataclasses import dataclass, field

from donewhen.model.base import ModelFailed, ModelWaits
from donewhen.model.limits import RetryBudget
from donewhen.model.outside import Outside
from donewhen.model.setback import Setback

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


@dataclass(slots=True)
class Spent:
    times: int = 0
    secs: float = 0.0


@dataclass(slots=True)
class Retries:
    """The retries of one model over a run."""

    budget: RetryBudget
    outside: Outside
    run: Spent = field(default_factory=Spent, init=False)

    async def wait(self, setback: Setback, turn: Spent) -> None:
        """Wait as long as it takes until asking again makes sense; raise when it never does."""
        pause = self._pause(setback, turn)
        if pause is None:
            raise self.failure(setback, turn)
        for spent in (turn, self.run):
            spent.times += 1
            spent.secs += pause
        await self.outside.pause(pause)

    def _pause(self, setback: Setback, turn: Spent) -> float | None:
        if not setback.retry or turn.times >= self.budget.per_turn or self.run.times >= self.budget.per_run:
            return None
        backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2**turn.times) * (0.5 + self.outside.chance() / 2)
        # A little later than the server said, so that not all clients of a busy one come back at once.
        pause = backoff if setback.after is None else setback.after + self.outside.chance() * 0.1
        return pause if pause <= self._left(turn) else None

    def _left(self, turn: Spent) -> float:
        return min(self.budget.secs_per_turn - turn.secs, self.budget.secs_per_run - self.run.secs)

    def failure(self, setback: Setback, turn: Spent) -> ModelFailed | ModelWaits:
        """What the setback means for the turn, now that it is not asked again."""
        if setback.waits:
            return ModelWaits(setback.message, setback.waits, _utc(setback.reset_at))
        if setback.kind == "rate_limited" and setback.after is not None and setback.after > self._left(turn):
            return ModelWaits(setback.message, "quota", _utc(self.outside.now() + setback.after))
        times = f", asked {turn.times + 1} times" if turn.times else ""
        return ModelFailed(f"{setback.message}{times}", setback.kind, setback.final)


def _utc(moment: float | None) -> str:
    if moment is None:
        return ""
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
