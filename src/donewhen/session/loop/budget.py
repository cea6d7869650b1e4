"""Budget of a session over all engines and owners: minutes, tokens, money. It counts; the callers stop."""

import time
from collections.abc import Callable
from dataclasses import replace

from donewhen.engines.interface import OutOfBudget
from donewhen.events import Event, Spend
from donewhen.model.interface import Usage
from donewhen.records import frozen
from donewhen.session.log.state import SessionState
from donewhen.session.settings.settings import Settings

MAKER = "maker"
"""The role whose turns are limited."""


@frozen
class Allowance:
    """Limits of a session. 0 means no limit."""

    minutes: float = 0
    tokens: int = 0
    usd: float = 0
    input_tokens: int = 0
    output_tokens: int = 0
    turns: int = 0
    """Model turns of the maker."""

    @classmethod
    def of(cls, settings: Settings) -> "Allowance":
        return cls(
            settings.number("limits", "minutes"), settings.whole("limits", "tokens"), settings.number("limits", "usd")
        )


class Budget:
    """Continues to count from the values in the session state."""

    def __init__(
        self, allowed: Allowance, state: SessionState, free: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._allowed = allowed
        self._state = state
        self._tokens, self._usd = state.tokens, state.usd
        self._input, self._output = state.input_tokens, state.output_tokens
        self._before = state.earlier_use
        self._free = free
        """True if the model costs nothing. An unknown price is then no reason to stop."""
        self._clock = clock
        self._began = clock() - state.active_secs + state.earlier_use.secs

    def require(self) -> None:
        if self.reached_limit():
            raise OutOfBudget(self.reached_limit())

    def count_usage(self, usage: Usage, usd: float | None) -> Event:
        self._tokens += usage.total
        self._input += usage.input
        self._output += usage.output
        self._usd = None if usd is None or self._usd is None else self._usd + usd
        return Spend(tokens=self._tokens, usd=self._usd, input=self._input, output=self._output)

    def reached_limit(self) -> str:
        """Return which limit is used up, the amount used and the amount allowed; empty if no limit is reached."""
        allowed, minutes = self._allowed, (self._clock() - self._began) / 60
        tokens = self._tokens - self._before.tokens
        if allowed.minutes and minutes >= allowed.minutes:
            return f"minutes: used {minutes:.1f}, allowed {allowed.minutes:g}"
        counted = {
            "input tokens": (self._input, allowed.input_tokens),
            "output tokens": (self._output, allowed.output_tokens),
            "tokens": (tokens, allowed.tokens),
            "turns": (self._state.turns[MAKER], allowed.turns),
        }
        for name, (used, limit) in counted.items():
            if limit and used >= limit:
                return f"{name}: used {used}, allowed {limit}"
        if allowed.usd and self._usd is None and not self._free:
            return f"usd: the price of this model is unknown, so the limit of {allowed.usd:g} cannot be enforced"
        if allowed.usd and self._usd is not None and self._usd - self._before.usd >= allowed.usd:
            return f"usd: used {self._usd - self._before.usd:.4f}, allowed {allowed.usd:g}"
        return ""

    def left(self) -> tuple[int | None, float | None]:
        """Return the tokens and dollars that may still be spent. None means no limit, or an unknown price."""
        allowed, before = self._allowed, self._before
        tokens = max(0, allowed.tokens - self._tokens + before.tokens) if allowed.tokens else None
        usd = max(0.0, allowed.usd - self._usd + before.usd) if allowed.usd and self._usd is not None else None
        return tokens, usd

    def without_turns(self) -> "Budget":
        """Return the rest of this budget for another agent than the maker, whose turns do not count for it."""
        return Budget(replace(self._allowed, turns=0), self._state, self._free, self._clock)

    def seconds_left(self) -> float | None:
        """Return the seconds until the minutes are used up; None without such a limit."""
        if not self._allowed.minutes:
            return None
        return max(0.0, self._allowed.minutes * 60 - (self._clock() - self._began))


class Share:
    """1/parts of the remaining budget, for one of several workers that run at the same time.

    Nothing is reserved: unspent budget stays in the pool.
    """

    def __init__(self, budget: Budget, parts: int) -> None:
        self._budget = budget
        tokens, usd = budget.left()
        self._tokens = None if tokens is None else tokens / parts
        self._usd = None if usd is None else usd / parts
        self._used_tokens, self._used_usd = 0, 0.0

    def require(self) -> None:
        self._budget.require()
        if self._tokens is not None and self._used_tokens >= self._tokens:
            raise OutOfBudget(f"tokens: used {self._used_tokens}, share {self._tokens:.0f}")
        if self._usd is not None and self._used_usd >= self._usd:
            raise OutOfBudget(f"usd: used {self._used_usd:.4f}, share {self._usd:.4f}")

    def count_usage(self, usage: Usage, usd: float | None) -> Event:
        self._used_tokens += usage.total
        self._used_usd += usd or 0.0
        return self._budget.count_usage(usage, usd)
