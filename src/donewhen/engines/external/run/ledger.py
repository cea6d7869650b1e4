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
    AgentEvent,
    AgentProblem,
    AgentStarted,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
    RawLine,
)
from donewhen.engines.external.network.proxy import ConnectionLog
from donewhen.engines.interface import Job, OutOfBudget, RemainingBudget
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
    """Counts new usage in the session's budget. Costs that are reported only at the end count as 0 until then."""

    def __init__(self, budget: RemainingBudget, provider: str, earlier: Usage) -> None:
        self._budget = budget
        self._provider = provider
        self._earlier = earlier
        self._used, self._usd = NOTHING, 0.0
        self._is_priced, self._is_reported = True, False

    @property
    def conversation_usage(self) -> Usage:
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
        return [self._add(usage or NOTHING, usd or 0.0)]

    def total(self, totals: AgentTotals) -> Sequence[Event]:
        before = self.conversation_usage if totals.with_earlier else self._used
        more = _difference(totals.usage, before) if totals.usage is not None else NOTHING
        usd = max(0.0, totals.usd - self._usd) if totals.usd is not None else None
        self._is_priced = usd is not None or (self._is_priced and not more.total)
        return [self._add(more, usd or 0.0)] if more.total or usd else ()

    def close(self) -> Sequence[Event]:
        """Report costs that the agent did not report as unknown."""
        return () if self._is_reported and self._is_priced else [self._budget.count_usage(NOTHING, None)]

    def _add(self, usage: Usage, usd: float) -> Event:
        self._is_reported = True
        self._used, self._usd = self._used + usage, self._usd + usd
        return self._budget.count_usage(usage, usd)


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
MOST_PROBLEMS = 20
MOST_CONNECTIONS = 500
"""Limit of connections that are reported one by one."""

REQUESTS_PER_TURN, MORE_REQUESTS = 3, 10
"""Limit of gateway requests. An agent also asks its model for other things, such as a title; but not endlessly."""

StopReason = Literal["", "turns", "budget", "sign_in", "quota"]


class Denials:
    """Refused actions of the agent: each is reported once, and only a limited number of them."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._known: set[str] = set()

    def add(self, key: str, command: str, rule: str, reason: str) -> None:
        if key not in self._known and len(self._known) < MOST_PROBLEMS:
            self._known.add(key)
            self._emit(PolicyDenied(command=preview(command), rule=rule, reason=reason))


class Ledger:
    """Counts, costs and limits of one invocation."""

    def __init__(self, job: Job, agent: str, provider: str, stop: Callable[[], None], earlier: Usage = NOTHING) -> None:
        """`provider` is the provider of the model behind the gateway, for prices; `stop` ends the agent; `earlier` is
        the usage of earlier invocations of the resumed conversation."""
        self.stop_reason: StopReason = ""
        """Why we ended the agent; empty if we did not."""
        self.problem = self.reset_at = ""
        self.conversation = self.last_text = ""
        self.turns = self.calls = 0
        self.error: DonewhenError | None = None
        self._job = job
        self._agent = agent
        self._stop = stop
        self._problems: list[str] = []
        self._model = ""
        self._costs = InvocationCosts(job.budget, provider, earlier)
        self._open_calls: dict[str, str] = {}
        """Running tools, by the ids of their calls."""
        self._is_cut = False
        self._raw_bytes = self._raw_lines = self._connections = self._requests = 0
        self.denials = Denials(self._emit)
        self._turn_began = time.monotonic()

    def add(self, one: AgentEvent) -> None:
        """Count and emit an agent event. Events that the agent sent before it was stopped may arrive afterwards."""
        match one:
            case RawLine():
                self._forward_raw(one.value)
            case AgentStarted():
                self.conversation = one.conversation or self.conversation
                self._model = one.model or self._model
            case AgentText():
                if one.text.strip():
                    self.last_text = self._job.redact(one.text)
                    self._emit(PlanText(text=self.last_text))
            case AgentToolCall():
                self.calls += 1
                id = one.id or f"{self._agent}-{self.calls}"
                self._open_calls[id] = one.tool
                self._emit(
                    ToolCall(id=id, tool=one.tool, params_preview=preview(self._job.redact(_to_json(one.input))))
                )
            case AgentToolResult():
                self._end_call(one)
            case AgentTurn():
                self._add_turn(one)
            case AgentTotals():
                self._emit(*self._costs.total(one))
                if _is_budget_used(self._job.budget):
                    self.end("budget")
            case AgentProblem():
                self._report_problem(one)
            case AgentStopped():
                self.last_text = self._job.redact(one.text) or self.last_text

    def close(self) -> None:
        """Close the invocation. What was not reported is not known."""
        for id, tool in list(self._open_calls.items()):
            del self._open_calls[id]
            self._emit(
                ToolResult(id=id, tool=tool, ok=False, preview="ERROR: the agent ended before it reported a result")
            )
        self._emit(*self._costs.close())

    def end(self, why: StopReason, problem: str = "") -> None:
        if not self.stop_reason:
            self.stop_reason, self.problem = why, problem
            self._stop()

    @property
    def usage(self) -> Usage:
        """Usage of the conversation, earlier invocations included."""
        return self._costs.conversation_usage

    def count_request(self) -> None:
        """Count a request that the model answered. Limits agents that do not report their turns."""
        self._requests += 1
        if self._requests > REQUESTS_PER_TURN * self._job.max_turns + MORE_REQUESTS:
            self.end("turns")

    def add_connection(self, connection: ConnectionLog) -> None:
        """Report a connection through the proxy, or an attempt to make one."""
        raw = {"connection": {name: value for name, value in asdict(connection).items() if value != ""}}
        self._connections += 1
        if self._connections <= MOST_CONNECTIONS:
            self._emit(ExternalEvent(agent=self._agent, raw=raw))
        where = f"{connection.host}:{connection.port}"
        if connection.verdict == "refused":
            command = f"{connection.request} {where}" if connection.request == "CONNECT" else connection.request
            self.denials.add(where, command, "network", connection.reason)

    def abort(self, error: DonewhenError) -> None:
        """Stop the invocation without an end: it cannot continue. The caller finds the error in `error`."""
        self.error = self.error or error
        self._stop()

    def _emit(self, *events: Event) -> None:
        """Write events to the log. If it can no longer be written, end the agent; the caller finds the error in
        `error`."""
        if self.error is not None or not events:
            return
        try:
            self._job.notebook.write(None, *events)
        except DonewhenError as error:
            self.abort(error)

    # -- tool results --

    def _end_call(self, one: AgentToolResult) -> None:
        tool = self._open_calls.pop(one.id, "")
        if tool:
            self._emit(ToolResult(id=one.id, tool=tool, ok=one.ok, preview=preview(self._job.redact(one.text))))
        if not self._open_calls and self.turns >= self._job.max_turns:
            self.end("turns")

    # -- turns and costs --

    def _add_turn(self, one: AgentTurn) -> None:
        self.turns += 1
        now = time.monotonic()
        secs, self._turn_began = now - self._turn_began, now
        self._model = one.model or self._model
        usd = self._costs.price(one, self._model)
        turn = ModelTurn(
            role=self._job.role,
            usage=one.usage.plain() if one.usage is not None else None,
            cost_usd=usd,
            duration_ms=round(secs * 1000),
            model=self._model,
        )
        self._emit(turn, *self._costs.turn(one.usage, usd))
        if self.turns + one.is_over > self._job.max_turns:
            self.end("turns")
        if _is_budget_used(self._job.budget):
            self.end("budget")

    # -- problems and raw output --

    def _report_problem(self, one: AgentProblem) -> None:
        message = self._job.redact(one.message).strip() or "no reason given"
        if message not in self._problems and len(self._problems) < MOST_PROBLEMS:
            self._problems.append(message)
            kind = "agent" if one.kind == "limit" else one.kind
            self._emit(Error(kind=kind, message=f"{self._agent}: {message}"))
        if one.kind in ("sign_in", "quota"):
            self.reset_at = one.reset_at or self.reset_at
            self.end(one.kind, message)

    def _forward_raw(self, value: Any) -> None:
        plain = isinstance(value, str)
        text = self._job.redact(value if plain else _to_json(value))
        self._raw_lines += plain
        self._raw_bytes += len(text)
        if (not plain or self._raw_lines <= MOST_LINES) and self._raw_bytes <= MOST_RAW_TOTAL:
            self._emit(ExternalEvent(agent=self._agent, raw=_bounded(text, plain)))
        elif not self._is_cut:
            self._is_cut = True
            self._emit(Error(kind="agent", message=f"{self._agent} prints more than is kept; the rest is dropped"))


def _bounded(text: str, plain: bool) -> Any:
    if len(text) > MOST_RAW_BYTES:
        return {"cut": len(text), "beginning": text[:MOST_RAW_BYTES]}
    return text if plain else _from_json(text)


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # the redaction also removed JSON syntax


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_budget_used(budget: RemainingBudget) -> bool:
    try:
        budget.require()
    except OutOfBudget:
        return True
    return False
