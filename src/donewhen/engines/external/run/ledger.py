"""Ledger of one invocation: counts agent events, emits session events, and stops the agent at a limit.

An agent's statements about its own success are counted and emitted, and have no other effect. Costs are counted by
turns and by the agent's own totals. What the agent does not report stays unknown; it is not 0.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal

from donewhen.engines.external.agent_events import (
    AgentProblem,
    AgentStarted,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
    Happening,
    RawLine,
)
from donewhen.engines.external.network.proxy import ConnectionLog
from donewhen.engines.interface import Job, Meter, OutOfBudget
from donewhen.errors import DonewhenError
from donewhen.events import (
    Error,
    Event,
    ExternalEvent,
    ModelTurn,
    PlanText,
    PolicyDenied,
    ToolCall,
    ToolResult,
    preview,
)
from donewhen.model import prices
from donewhen.model.interface import Usage

NOTHING = Usage()


class InvocationCosts:
    """Reports new usage to the session's meter. Costs that are reported only at the end count as 0 until then."""

    def __init__(self, meter: Meter, provider: str, earlier: Usage) -> None:
        self._meter = meter
        self._provider = provider
        self._earlier = earlier
        self._used, self._usd = NOTHING, 0.0
        self._is_priced, self._is_told = True, False

    @property
    def of_the_conversation(self) -> Usage:
        """Usage of the conversation, earlier invocations included."""
        return self._earlier + self._used

    def price(self, turn: AgentTurn, model: str) -> float | None:
        """Return the price that the agent reports, else the price of the model behind the gateway."""
        if turn.usd is not None or turn.usage is None or not model:
            return turn.usd
        return prices.cost_usd(self._provider, model, turn.usage)

    def turn(self, usage: Usage | None, usd: float | None) -> Sequence[Event]:
        if usage is None and usd is None:
            return ()
        self._is_priced = self._is_priced and usd is not None
        return [self._spent(usage or NOTHING, usd or 0.0)]

    def total(self, told: AgentTotals) -> Sequence[Event]:
        before = self.of_the_conversation if told.with_earlier else self._used
        more = _difference(told.usage, before) if told.usage is not None else NOTHING
        usd = max(0.0, told.usd - self._usd) if told.usd is not None else None
        self._is_priced = usd is not None or (self._is_priced and not more.total)
        return [self._spent(more, usd or 0.0)] if more.total or usd else ()

    def close(self) -> Sequence[Event]:
        """Report costs that are still unknown as unknown."""
        return () if self._is_told and self._is_priced else [self._meter.spent(NOTHING, None)]

    def _spent(self, usage: Usage, usd: float) -> Event:
        self._is_told = True
        self._used, self._usd = self._used + usage, self._usd + usd
        return self._meter.spent(usage, usd)


def _difference(one: Usage, other: Usage) -> Usage:
    return Usage(
        max(0, one.input - other.input),
        max(0, one.output - other.output),
        max(0, one.cache_read - other.cache_read),
        max(0, one.cache_write - other.cache_write),
    )


MOST_RAW_BYTES = 32 * 1024
"""Limit of one raw event; only the beginning of a longer one is forwarded."""
MOST_RAW_TOTAL = 32 << 20
MOST_LINES = 2000
"""Limit of lines of plain text: an agent that prints endlessly must not fill the log."""
MOST_COMPLAINTS = 20
MOST_CONNECTIONS = 500
"""Limit of connections that are reported one by one."""

REQUESTS_PER_TURN, MORE_REQUESTS = 3, 10
"""Limit of gateway requests. An agent also asks its model for other things, such as a title; but not endlessly."""

Ending = Literal["", "turns", "budget", "sign_in", "quota"]


class Denials:
    """Refused actions of the agent: each is reported once, and only a limited number of them."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._known: set[str] = set()

    def add(self, what: str, words: str, rule: str, reason: str) -> None:
        if what not in self._known and len(self._known) < MOST_COMPLAINTS:
            self._known.add(what)
            self._tell(PolicyDenied(command=preview(words), rule=rule, reason=reason))


class Ledger:
    """Counts, costs and limits of one invocation."""

    def __init__(self, job: Job, agent: str, provider: str, stop: Callable[[], None], earlier: Usage = NOTHING) -> None:
        """`provider` is the provider of the model behind the gateway, for prices; `stop` ends the agent; `earlier` is
        the usage of earlier invocations of the resumed conversation."""
        self.ending: Ending = ""
        """Why we ended the agent; empty if we did not."""
        self.problem = self.reset_at = ""
        self.conversation = self.said = ""
        self.turns = self.calls = 0
        self.broken: DonewhenError | None = None
        self._job = job
        self._agent = agent
        self._stop = stop
        self._complaints: list[str] = []
        self._model = ""
        self._costs = InvocationCosts(job.meter, provider, earlier)
        self._open: dict[str, str] = {}
        """Running tools, by the ids of their calls."""
        self._leaves_out = False
        self._raw_bytes = self._raw_lines = self._connections = self._requests = 0
        self.denials = Denials(self._tell)
        self._turn_began = time.monotonic()

    def take(self, one: Happening) -> None:
        """Count and emit an agent event. After the end, only events that were already on their way arrive here."""
        match one:
            case RawLine():
                self._forward(one.value)
            case AgentStarted():
                self.conversation = one.conversation or self.conversation
                self._model = one.model or self._model
            case AgentText():
                if one.text.strip():
                    self.said = self._job.redact(one.text)
                    self._tell(PlanText(text=self.said))
            case AgentToolCall():
                self.calls += 1
                id = one.id or f"{self._agent}-{self.calls}"
                self._open[id] = one.tool
                self._tell(ToolCall(id=id, tool=one.tool, params_preview=preview(self._job.redact(_dumped(one.input)))))
            case AgentToolResult():
                self._return(one)
            case AgentTurn():
                self._turn(one)
            case AgentTotals():
                self._tell(*self._costs.total(one))
                if _is_used_up(self._job.meter):
                    self.end("budget")
            case AgentProblem():
                self._complain(one)
            case AgentStopped():
                self.said = self._job.redact(one.said) or self.said

    def close(self) -> None:
        """Close the invocation. What was not reported is not known."""
        for id, tool in list(self._open.items()):
            del self._open[id]
            self._tell(
                ToolResult(id=id, tool=tool, ok=False, preview="ERROR: the agent ended before it reported a result")
            )
        self._tell(*self._costs.close())

    def end(self, why: Ending, problem: str = "") -> None:
        if not self.ending:
            self.ending, self.problem = why, problem
            self._stop()

    @property
    def usage(self) -> Usage:
        """Usage of the conversation, earlier invocations included."""
        return self._costs.of_the_conversation

    def requested(self) -> None:
        """Count a request that the model answered. Limits agents that do not report their turns."""
        self._requests += 1
        if self._requests > REQUESTS_PER_TURN * self._job.max_turns + MORE_REQUESTS:
            self.end("turns")

    def connected(self, connection: ConnectionLog) -> None:
        """Report a connection through the proxy, or the attempt."""
        told = {"connection": {name: value for name, value in asdict(connection).items() if value != ""}}
        self._connections += 1
        if self._connections <= MOST_CONNECTIONS:
            self._tell(ExternalEvent(agent=self._agent, raw=told))
        where = f"{connection.host}:{connection.port}"
        if connection.verdict == "refused":
            words = f"{connection.request} {where}" if connection.request == "CONNECT" else connection.request
            self.denials.add(where, words, "network", connection.reason)

    def break_off(self, error: DonewhenError) -> None:
        """Stop an invocation that cannot continue and is not over either; the caller finds the error in `broken`."""
        self.broken = self.broken or error
        self._stop()

    def _tell(self, *events: Event) -> None:
        """Write events to the log. If it can no longer be written, end the agent; the caller finds the error in
        `broken`."""
        if self.broken is not None or not events:
            return
        try:
            self._job.notebook.write(None, *events)
        except DonewhenError as error:
            self.break_off(error)

    # -- tool results --

    def _return(self, one: AgentToolResult) -> None:
        tool = self._open.pop(one.id, "")
        if tool:
            self._tell(ToolResult(id=one.id, tool=tool, ok=one.ok, preview=preview(self._job.redact(one.text))))
        if not self._open and self.turns >= self._job.max_turns:
            self.end("turns")

    # -- turns and costs --

    def _turn(self, one: AgentTurn) -> None:
        self.turns += 1
        now = time.monotonic()
        spent, self._turn_began = now - self._turn_began, now
        self._model = one.model or self._model
        usd = self._costs.price(one, self._model)
        told = ModelTurn(
            role=self._job.role,
            usage=one.usage.plain() if one.usage is not None else None,
            cost_usd=usd,
            duration_ms=round(spent * 1000),
            model=self._model,
        )
        self._tell(told, *self._costs.turn(one.usage, usd))
        if self.turns + one.over > self._job.max_turns:
            self.end("turns")
        if _is_used_up(self._job.meter):
            self.end("budget")

    # -- problems and raw output --

    def _complain(self, one: AgentProblem) -> None:
        message = self._job.redact(one.message).strip() or "no reason given"
        if message not in self._complaints and len(self._complaints) < MOST_COMPLAINTS:
            self._complaints.append(message)
            kind = "agent" if one.trouble == "limit" else one.trouble
            self._tell(Error(kind=kind, message=f"{self._agent}: {message}"))
        if one.trouble in ("sign_in", "quota"):
            self.reset_at = one.reset_at or self.reset_at
            self.end(one.trouble, message)

    def _forward(self, value: Any) -> None:
        plain = isinstance(value, str)
        text = self._job.redact(value if plain else _dumped(value))
        self._raw_lines += plain
        self._raw_bytes += len(text)
        if (not plain or self._raw_lines <= MOST_LINES) and self._raw_bytes <= MOST_RAW_TOTAL:
            self._tell(ExternalEvent(agent=self._agent, raw=_bounded(text, plain)))
        elif not self._leaves_out:
            self._leaves_out = True
            self._tell(Error(kind="agent", message=f"{self._agent} prints more than is kept; the rest is dropped"))


def _bounded(text: str, plain: bool) -> Any:
    if len(text) > MOST_RAW_BYTES:
        return {"cut": len(text), "beginning": text[:MOST_RAW_BYTES]}
    return text if plain else _loaded(text)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # the redaction also removed JSON syntax


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_used_up(meter: Meter) -> bool:
    try:
        meter.require()
    except OutOfBudget:
        return True
    return False
