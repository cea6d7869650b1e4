"""One turn over all its requests: asked until an answer is whole, the budget is used up, or it makes no sense any more.

How a request is made is handed in. One reply per turn, however often it was asked for: each request is heard by a
listener of its own, one that did not hear the end gives no draft, and the first whole draft ends the turn.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from donewhen.model import prices
from donewhen.model.base import Bill, Call, ModelFailed, ModelWaits, Reply, Usage
from donewhen.model.draft import Draft, calls_of, whole_text
from donewhen.model.outside import Outside
from donewhen.model.retrying import Retries, Spent
from donewhen.model.setback import Setback
from donewhen.records import frozen

Ask = Callable[[], Awaitable[Draft]]
GivesWay = Callable[[Setback], bool]
"""Whether a request that was refused can be made in another way, and now will be."""


@frozen
class Answerer:
    """Who answers, as replies and price lists name it."""

    name: str
    """PROVIDER:NAME, as it was asked for."""
    model: str
    prices: str = ""
    """Whose price list counts; empty for models that have none."""


@dataclass(slots=True)
class Asking:
    by: Answerer
    retries: Retries
    outside: Outside
    secs: float
    """After so long nothing is asked again."""
    began: float = field(init=False)
    spent: Spent = field(default_factory=Spent, init=False)
    used: Usage = field(default_factory=Usage, init=False)
    """By all requests, those included whose answer broke off or was thrown away."""
    heard: int = field(default=0, init=False)
    draft: Draft = field(default_factory=Draft, init=False)
    calls: tuple[Call, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.began = self.outside.monotonic()

    async def settle(self, ask: Ask, known_ids: Collection[str], gives_way: GivesWay) -> None:
        """Ask until there is an answer; `ModelFailed` or `ModelWaits` when there will be none."""
        while True:
            try:
                self._hear(await self._asked(ask), known_ids)
                setback = self._unreadable()
            except Setback as caught:
                setback = caught
                self.used += caught.usage
            if setback is None or not (gives_way(setback) or await self._waited(setback)):
                return

    async def _asked(self, ask: Ask) -> Draft:
        """One request; meanwhile the price list is loaded, which takes longer than all else here together."""
        if not self.by.prices or prices.is_loaded():
            return await ask()
        answer: Draft | Setback = Draft()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, prices.load)
            try:
                answer = await ask()
            except Setback as caught:
                answer = caught  # not through the group, which would wrap it
        if isinstance(answer, Setback):
            raise answer
        return answer

    def reply(self, tag: str) -> Reply:
        raw: Any = None
        if self.draft.raw is not None and len(self.calls) == len(self.draft.wishes):
            raw = {"wire": tag, "model": self.by.model, "items": self.draft.raw}
        return Reply(
            text=whole_text(self.draft.text),
            calls=self.calls,
            usage=self.used,
            filled=self.draft.usage.input,
            cost_usd=self._bill().usd,
            duration_ms=round((self.outside.monotonic() - self.began) * 1000),
            model=self.by.name,
            stop=self.draft.stop,
            raw=raw,
        )

    def _bill(self) -> Bill:
        return Bill(self.used, prices.cost_usd(self.by.prices, self.by.model, self.used))

    def _hear(self, draft: Draft, known_ids: Collection[str]) -> None:
        self.heard += 1
        self.draft, self.calls = draft, calls_of(draft, known_ids)
        self.used += draft.usage

    def _unreadable(self) -> Setback | None:
        """A call that cannot be read may be whole the second time, but not one that was cut at the limit of tokens."""
        problems = [call.problem for call in self.calls if call.problem]
        if not problems or self.heard > 1 or self.draft.stop == "length":
            return None
        return Setback(problems[0], "malformed", retry=True)

    async def _waited(self, setback: Setback) -> bool:
        """Whether to ask again, after the wait for it. If not, an answer with an unreadable call will do."""
        try:
            if self.outside.monotonic() - self.began > self.secs:
                raise self.retries.failure(setback, self.spent)
            await self.retries.wait(setback, self.spent)
        except (ModelFailed, ModelWaits) as failure:
            if not self.heard:
                failure.bill = self._bill()
                raise
            return False
        return True
