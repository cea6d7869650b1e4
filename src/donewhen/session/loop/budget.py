"""Budget of a session over all engines and owners: minutes, tokens, money. It counts; the callers stop."""

import contextlib
import copy
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace

import anyio

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


@dataclass(slots=True)
class _Counted:
    """What was used so far, and the calls that are running."""

    tokens: int
    input: int
    output: int
    usd: float | None
    usd_per_token: float = 0.0
    """Of the dearest call so far; 0 if no price is known."""
    leased: list[Usage] = field(default_factory=list[Usage])
    """What each running call may use at most."""
    lease_ended: anyio.Event = field(default_factory=anyio.Event)


class Budget:
    """Continues to count from the values in the session state."""

    def __init__(
        self, allowed: Allowance, state: SessionState, free: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._allowed = allowed
        self._state = state
        self._counted = _Counted(state.tokens, state.input_tokens, state.output_tokens, state.usd)
        self._before = state.earlier_use
        self._free = free
        """True if the model costs nothing. An unknown price is then no reason to stop."""
        self._clock = clock
        self._began = clock() - state.active_secs + state.earlier_use.secs

    def require(self) -> None:
        if self.reached_limit():
            raise OutOfBudget(self.reached_limit())

    @contextlib.asynccontextmanager
    async def lease(self, most: Usage) -> AsyncGenerator[None]:
        counted = self._counted
        self.require()
        while counted.leased and not self._has_room_for(most):
            await counted.lease_ended.wait()
            self.require()
        counted.leased.append(most)
        try:
            yield
        finally:
            counted.leased.remove(most)
            counted.lease_ended.set()
            counted.lease_ended = anyio.Event()

    def _has_room_for(self, most: Usage) -> bool:
        """Return True if no limit is exceeded when every running call and this one use all that they may."""
        allowed, before, counted = self._allowed, self._before, self._counted
        wanted = sum(counted.leased, most)
        then = (
            (counted.input + wanted.input, allowed.input_tokens),
            (counted.output + wanted.output, allowed.output_tokens),
            (counted.tokens - before.tokens + wanted.total, allowed.tokens),
        )
        if any(limit and used > limit for used, limit in then):
            return False
        if not allowed.usd or self._free:
            return True
        usd = (counted.usd or 0.0) - before.usd + counted.usd_per_token * wanted.total
        return counted.usd_per_token > 0 and usd <= allowed.usd

    def count_usage(self, usage: Usage, usd: float | None) -> Event:
        counted = self._counted
        counted.tokens += usage.total
        counted.input += usage.input
        counted.output += usage.output
        counted.usd = None if usd is None or counted.usd is None else counted.usd + usd
        counted.usd_per_token = max(counted.usd_per_token, (usd or 0.0) / max(usage.total, 1))
        return Spend(tokens=counted.tokens, usd=counted.usd, input=counted.input, output=counted.output)

    def reached_limit(self) -> str:
        """Return which limit is used up, the amount used and the amount allowed; empty if no limit is reached."""
        allowed, used_so_far, minutes = self._allowed, self._counted, (self._clock() - self._began) / 60
        if allowed.minutes and minutes >= allowed.minutes:
            return f"minutes: used {minutes:.1f}, allowed {allowed.minutes:g}"
        counted = {
            "input tokens": (used_so_far.input, allowed.input_tokens),
            "output tokens": (used_so_far.output, allowed.output_tokens),
            "tokens": (used_so_far.tokens - self._before.tokens, allowed.tokens),
            "turns": (self._state.turns[MAKER], allowed.turns),
        }
        for name, (used, limit) in counted.items():
            if limit and used >= limit:
                return f"{name}: used {used}, allowed {limit}"
        usd = used_so_far.usd
        if allowed.usd and usd is None and not self._free:
            return f"usd: the price of this model is unknown, so the limit of {allowed.usd:g} cannot be enforced"
        if allowed.usd and usd is not None and usd - self._before.usd >= allowed.usd:
            return f"usd: used {usd - self._before.usd:.4f}, allowed {allowed.usd:g}"
        return ""

    def left(self) -> tuple[int | None, float | None]:
        """Return the tokens and dollars that may still be spent. None means no limit, or an unknown price."""
        allowed, before, used = self._allowed, self._before, self._counted
        tokens = max(0, allowed.tokens - used.tokens + before.tokens) if allowed.tokens else None
        usd = max(0.0, allowed.usd - used.usd + before.usd) if allowed.usd and used.usd is not None else None
        return tokens, usd

    def without_turns(self) -> "Budget":
        """Return this budget for another agent than the maker, whose turns do not count for it."""
        other = copy.copy(self)
        other._allowed = replace(self._allowed, turns=0)
        return other

    def seconds_left(self) -> float | None:
        """Return the seconds until the minutes are used up; None without such a limit."""
        if not self._allowed.minutes:
            return None
        return max(0.0, self._allowed.minutes * 60 - (self._clock() - self._began))


class Share:
    """1/parts of the remaining budget, for one of several workers that run at the same time.

    A share is not reserved: unspent budget stays in the pool.
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

    @contextlib.asynccontextmanager
    async def lease(self, most: Usage) -> AsyncGenerator[None]:
        self.require()
        async with self._budget.lease(most):
            yield

    def count_usage(self, usage: Usage, usd: float | None) -> Event:
        self._used_tokens += usage.total
        self._used_usd += usd or 0.0
        return self._budget.count_usage(usage, usd)
