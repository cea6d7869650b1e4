"""What one invocation of an agent used, by turns and by its own sums. What nobody tells stays unknown, and is not 0."""

from collections.abc import Sequence
from dataclasses import asdict

from donewhen.engines.base import Meter
from donewhen.engines.external.happening import Totalled, Turned
from donewhen.events import Event
from donewhen.model import prices
from donewhen.model.base import Usage

NOTHING = Usage()


class Costs:
    """Tells the session's meter what is new. Money that is told of only at the end counts as nothing until then."""

    def __init__(self, meter: Meter, provider: str, earlier: Usage) -> None:
        self._meter = meter
        self._provider = provider
        self._earlier = earlier
        self._used, self._usd = NOTHING, 0.0
        self._is_priced, self._is_told = True, False

    @property
    def of_the_conversation(self) -> Usage:
        """With what earlier invocations used of it."""
        return self._earlier + self._used

    def price(self, turn: Turned, model: str) -> float | None:
        """As the agent tells it, or by the price of the model behind the gateway."""
        if turn.usd is not None or turn.usage is None or not model:
            return turn.usd
        return prices.cost_usd(self._provider, model, turn.usage)

    def turn(self, usage: Usage | None, usd: float | None) -> Sequence[Event]:
        if usage is None and usd is None:
            return ()
        self._is_priced = self._is_priced and usd is not None
        return [self._spent(usage or NOTHING, usd or 0.0)]

    def total(self, told: Totalled) -> Sequence[Event]:
        before = self.of_the_conversation if told.with_earlier else self._used
        more = _difference(told.usage, before) if told.usage is not None else NOTHING
        usd = max(0.0, told.usd - self._usd) if told.usd is not None else None
        self._is_priced = usd is not None or (self._is_priced and not more.total)
        return [self._spent(more, usd or 0.0)] if more.total or usd else ()

    def close(self) -> Sequence[Event]:
        """What is not known by now stays so."""
        return () if self._is_told and self._is_priced else [self._meter.spent(NOTHING, None)]

    def _spent(self, usage: Usage, usd: float) -> Event:
        self._is_told = True
        self._used, self._usd = self._used + usage, self._usd + usd
        return self._meter.spent(usage, usd)


def _difference(one: Usage, other: Usage) -> Usage:
    return Usage(**{name: max(0, value - getattr(other, name)) for name, value in asdict(one).items()})
