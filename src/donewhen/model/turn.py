"""Runs one turn with all its requests: until a reply is complete, the retry budget is used up, or a retry is useless.

The caller passes the function that makes a request. A turn has one reply, however many requests it takes: each request
has its own listener, a listener that did not receive the end returns no draft, and the first complete draft ends the
turn.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from donewhen.model import prices
from donewhen.model.clock import Clock
from donewhen.model.interface import Bill, Call, ModelFailed, ModelWaits, Reply, Usage
from donewhen.model.partial_reply import PartialReply, calls_of, without_surrogates
from donewhen.model.request_error import RequestError
from donewhen.model.retries import Retries, RetryUse
from donewhen.records import frozen

Ask = Callable[[], Awaitable[PartialReply]]
Adapt = Callable[[RequestError], bool]
"""Returns True if a refused request can be made in another way; the next request then uses it."""


@frozen
class Answerer:
    """The model that answers, as named in replies and price lists."""

    name: str
    """PROVIDER:NAME, as requested."""
    model: str
    prices: str = ""
    """The provider whose price list applies; empty for models without one."""


@dataclass(slots=True)
class TurnRunner:
    answerer: Answerer
    retries: Retries
    clock: Clock
    secs: float
    """No retry starts after this many seconds."""
    secrets: Collection[str] = field(default=(), repr=False)
    """Keys and passwords that were sent. Some servers repeat them in error messages."""
    began: float = field(init=False)
    retry_use: RetryUse = field(default_factory=RetryUse, init=False)
    used: Usage = field(default_factory=Usage, init=False)
    """Usage of all requests, including those whose answer broke off or was discarded."""
    answers: int = field(default=0, init=False)
    draft: PartialReply = field(default_factory=PartialReply, init=False)
    calls: tuple[Call, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.began = self.clock.monotonic()

    async def run(self, ask: Ask, known_ids: Collection[str], adapt: Adapt) -> None:
        """Send requests until there is an answer. Raise `ModelFailed` or `ModelWaits` if there will be none."""
        while True:
            try:
                draft = await self._request(ask)
                self.answers += 1
                self.draft, self.calls = draft, calls_of(draft, known_ids)
                self.used += draft.usage
                error = self._unreadable_call()
            except RequestError as caught:
                error = caught
                self.used += caught.usage
            if error is not None:
                error.clean(self.secrets)
            if error is None or not (adapt(error) or await self._may_retry(error)):
                return

    async def _request(self, ask: Ask) -> PartialReply:
        """Make one request. Load the price list meanwhile: that takes longer than everything else here."""
        if not self.answerer.prices or prices.is_loaded():
            return await ask()
        answer: PartialReply | RequestError = PartialReply()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, prices.load)
            try:
                answer = await ask()
            except RequestError as caught:
                answer = caught  # not raised inside the task group, which would wrap it
        if isinstance(answer, RequestError):
            raise answer
        return answer

    def reply(self, tag: str) -> Reply:
        raw: Any = None
        if self.draft.raw is not None and len(self.calls) == len(self.draft.calls):
            raw = {"wire": tag, "model": self.answerer.model, "items": self.draft.raw}
        return Reply(
            text=without_surrogates(self.draft.text),
            calls=self.calls,
            usage=self.used,
            filled=self.draft.usage.input,
            cost_usd=self._bill().usd,
            duration_ms=round((self.clock.monotonic() - self.began) * 1000),
            model=self.answerer.name,
            stop=self.draft.stop,
            raw=raw,
        )

    def _bill(self) -> Bill:
        return Bill(self.used, prices.cost_usd(self.answerer.prices, self.answerer.model, self.used))

    def _unreadable_call(self) -> RequestError | None:
        """Return an error if the first answer has an unreadable call. A retry does not help at the token limit."""
        problems = [call.problem for call in self.calls if call.problem]
        if not problems or self.answers > 1 or self.draft.stop == "length":
            return None
        return RequestError(problems[0], "malformed", retry=True)

    async def _may_retry(self, error: RequestError) -> bool:
        """Wait and return True for a retry. Return False to keep an answer with an unreadable call."""
        try:
            if self.clock.monotonic() - self.began > self.secs:
                raise self.retries.failure(error, self.retry_use)
            await self.retries.wait(error, self.retry_use)
        except (ModelFailed, ModelWaits) as failure:
            if not self.answers:
                failure.bill = self._bill()
                raise
            return False
        return True
