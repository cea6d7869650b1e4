"""What one invocation of an agent told: counted, passed on as events, and stopped where a limit is reached.

An agent's own words about success are counted and told, and nothing else is made of them.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

from donewhen.engines.base import Job, Meter, OutOfBudget
from donewhen.engines.external.costs import NOTHING, Costs
from donewhen.engines.external.happening import (
    Began,
    Called,
    Complained,
    Happening,
    Raw,
    Returned,
    Spoke,
    Stopped,
    Totalled,
    Turned,
)
from donewhen.engines.external.network.proxy import Connection
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
from donewhen.model.base import Usage

MOST_RAW_BYTES = 32 * 1024
"""Of one event; of a longer one its beginning is forwarded."""
MOST_RAW_TOTAL = 32 << 20
MOST_LINES = 2000
"""Of plain text: an agent that prints without end is not to fill the log."""
MOST_COMPLAINTS = 20
MOST_CONNECTIONS = 500
"""That are told of one by one."""

REQUESTS_PER_TURN, MORE_REQUESTS = 3, 10
"""Of the gateway: an agent asks its model for other things besides, such as a title; but not without end."""

Ending = Literal["", "turns", "budget", "sign_in", "quota"]


class Denials:
    """What was refused to the agent: each thing is reported once, and not without end."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._known: set[str] = set()

    def add(self, what: str, words: str, rule: str, reason: str) -> None:
        if what not in self._known and len(self._known) < MOST_COMPLAINTS:
            self._known.add(what)
            self._tell(PolicyDenied(command=preview(words), rule=rule, reason=reason))


class Ledger:
    """One invocation."""

    def __init__(self, job: Job, agent: str, provider: str, stop: Callable[[], None], earlier: Usage = NOTHING) -> None:
        """`provider` is that of the model behind the gateway, for prices; `stop` ends the agent; `earlier` was used by
        earlier invocations of the conversation that is gone on with."""
        self.ending: Ending = ""
        """Why we ended it."""
        self.problem = self.reset_at = ""
        self.conversation = self.said = ""
        self.turns = self.calls = 0
        self.broken: DonewhenError | None = None
        self._job = job
        self._agent = agent
        self._stop = stop
        self._complaints: list[str] = []
        self._model = ""
        self._costs = Costs(job.meter, provider, earlier)
        self._open: dict[str, str] = {}
        """Tools that are in use, by the ids of their calls."""
        self._leaves_out = False
        self._raw_bytes = self._raw_lines = self._connections = self._requests = 0
        self.denials = Denials(self._tell)
        self._turn_began = time.monotonic()

    def take(self, one: Happening) -> None:
        """Count it and tell it. After the end only what is already on its way comes here."""
        match one:
            case Raw():
                self._forward(one.value)
            case Began():
                self.conversation = one.conversation or self.conversation
                self._model = one.model or self._model
            case Spoke():
                if one.text.strip():
                    self.said = self._job.redact(one.text)
                    self._tell(PlanText(text=self.said))
            case Called():
                self._call(one)
            case Returned():
                self._return(one)
            case Turned():
                self._turn(one)
            case Totalled():
                self._tell(*self._costs.total(one))
                if _is_used_up(self._job.meter):
                    self.end("budget")
            case Complained():
                self._complain(one)
            case Stopped():
                self.said = self._job.redact(one.said) or self.said

    def close(self) -> None:
        """The invocation is over: what nobody told is not known."""
        for id, tool in list(self._open.items()):
            del self._open[id]
            self._tell(ToolResult(id=id, tool=tool, ok=False, preview="ERROR: the agent ended before it said"))
        self._tell(*self._costs.close())

    def end(self, why: Ending, problem: str = "") -> None:
        if not self.ending:
            self.ending, self.problem = why, problem
            self._stop()

    def summary(self) -> dict[str, Any]:
        """All that counts once it is over, as plain data."""
        return {
            "ending": self.ending,
            "problem": self.problem,
            "reset_at": self.reset_at,
            "said": self.said,
            "turns": self.turns,
            "calls": self.calls,
            "used": asdict(self._costs.of_the_conversation),
        }

    def requested(self) -> None:
        """The model was asked something and answered. Bounds agents that do not tell their turns."""
        self._requests += 1
        if self._requests > REQUESTS_PER_TURN * self._job.max_turns + MORE_REQUESTS:
            self.end("turns")

    def connected(self, connection: Connection) -> None:
        """Somebody inside went through the proxy, or tried to."""
        told = {"connection": {name: value for name, value in asdict(connection).items() if value != ""}}
        self._connections += 1
        if self._connections <= MOST_CONNECTIONS:
            self._tell(ExternalEvent(agent=self._agent, raw=told))
        where = f"{connection.host}:{connection.port}"
        if connection.verdict == "refused":
            words = f"{connection.request} {where}" if connection.request == "CONNECT" else connection.request
            self.denials.add(where, words, "network", connection.reason)

    def break_off(self, error: DonewhenError) -> None:
        """The invocation cannot go on, and is not over either; whoever asked for it is told."""
        self.broken = self.broken or error
        self._stop()

    def _tell(self, *events: Event) -> None:
        """A log that cannot be written any more ends the agent; who asked for it is told afterwards (`broken`)."""
        if self.broken is not None or not events:
            return
        try:
            self._job.notebook.write(None, *events)
        except DonewhenError as error:
            self.break_off(error)

    # -- what it does --

    def _call(self, one: Called) -> None:
        self.calls += 1
        id = one.id or f"{self._agent}-{self.calls}"
        self._open[id] = one.tool
        self._tell(ToolCall(id=id, tool=one.tool, params_preview=preview(self._job.redact(_dumped(one.input)))))

    def _return(self, one: Returned) -> None:
        tool = self._open.pop(one.id, "")
        if tool:
            self._tell(ToolResult(id=one.id, tool=tool, ok=one.ok, preview=preview(self._job.redact(one.text))))
        if not self._open and self.turns >= self._job.max_turns:
            self.end("turns")

    # -- what it costs --

    def _turn(self, one: Turned) -> None:
        self.turns += 1
        now = time.monotonic()
        spent, self._turn_began = now - self._turn_began, now
        self._model = one.model or self._model
        usd = self._costs.price(one, self._model)
        told = ModelTurn(
            role=self._job.role,
            usage=asdict(one.usage) if one.usage is not None else None,
            cost_usd=usd,
            duration_ms=round(spent * 1000),
            model=self._model,
        )
        self._tell(told, *self._costs.turn(one.usage, usd))
        if self.turns + one.over > self._job.max_turns:
            self.end("turns")
        if _is_used_up(self._job.meter):
            self.end("budget")

    # -- what it says about itself --

    def _complain(self, one: Complained) -> None:
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
            self._tell(Error(kind="agent", message=f"{self._agent} prints more than is kept; the rest is left out"))


def _bounded(text: str, plain: bool) -> Any:
    if len(text) > MOST_RAW_BYTES:
        return {"cut": len(text), "beginning": text[:MOST_RAW_BYTES]}
    return text if plain else _loaded(text)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # what was taken out of it was more than words


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_used_up(meter: Meter) -> bool:
    try:
        meter.require()
    except OutOfBudget:
        return True
    return False
