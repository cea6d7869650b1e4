"""Retry decisions and waiting: back-off with jitter, the server's requested delay, and budgets per turn and per run.

This module does not make requests and does not interpret answers.
"""

import datetime
from dataclasses import dataclass, field

from donewhen.model.clock import Clock
from donewhen.model.deadlines import RetryBudget
from donewhen.model.interface import ModelFailed, ModelWaits
from donewhen.model.request_error import RequestError

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


@dataclass(slots=True)
class RetryUse:
    times: int = 0
    secs: float = 0.0


@dataclass(slots=True)
class Retries:
    """The retries of one model over a run."""

    budget: RetryBudget
    clock: Clock
    run: RetryUse = field(default_factory=RetryUse, init=False)

    async def wait(self, error: RequestError, turn: RetryUse) -> None:
        """Wait until a retry makes sense. Raise `ModelFailed` or `ModelWaits` if none does."""
        pause = self._pause(error, turn)
        if pause is None:
            raise self.failure(error, turn)
        for spent in (turn, self.run):
            spent.times += 1
            spent.secs += pause
        await self.clock.pause(pause)

    def _pause(self, error: RequestError, turn: RetryUse) -> float | None:
        if not error.retry or turn.times >= self.budget.per_turn or self.run.times >= self.budget.per_run:
            return None
        backoff = min(LONGEST_PAUSE, FIRST_PAUSE * 2**turn.times) * (0.5 + self.clock.random_fraction() / 2)
        # A little later than the server asked, so that not all clients of a busy server return at once.
        pause = backoff if error.after is None else error.after + self.clock.random_fraction() * 0.1
        return pause if pause <= self._left(turn) else None

    def _left(self, turn: RetryUse) -> float:
        return min(self.budget.secs_per_turn - turn.secs, self.budget.secs_per_run - self.run.secs)

    def failure(self, error: RequestError, turn: RetryUse) -> ModelFailed | ModelWaits:
        """Return the exception for a turn whose request failed and is not retried."""
        if error.waits:
            return ModelWaits(error.message, error.waits, _utc(error.reset_at))
        if error.kind == "rate_limited" and error.after is not None and error.after > self._left(turn):
            return ModelWaits(error.message, "quota", _utc(self.clock.now() + error.after))
        times = f", tried {turn.times + 1} times" if turn.times else ""
        return ModelFailed(f"{error.message}{times}", error.kind, error.final)


def _utc(moment: float | None) -> str:
    if moment is None:
        return ""
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
