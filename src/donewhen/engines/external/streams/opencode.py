"""Reader of what opencode prints with `run --format json` (version 1.18).

Every step is one turn of the model, with its usage. There is no final event: the end is the end of the process. A call
is reported once, when it is over. opencode reports a cost of 0 for a model whose price it does not know, so 0 counts as
unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from donewhen.engines.external.agent_events import (
    AgentProblem,
    AgentStarted,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTurn,
    Happening,
)
from donewhen.engines.external.json_values import count, mapping, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.trouble import trouble_of
from donewhen.model.interface import Usage

MOST_USD = 1e6
NO_SUCH_TOOL = "invalid"
"""opencode turns a call of an unknown tool, or with invalid arguments, into a successful call of this one."""


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._began = False
        self._steps = 0
        self._complained = False

    def value(self, value: Any) -> Iterable[Happening]:
        event = mapping(value)
        part = mapping(event.get("part"))
        match event.get("type"):
            case "step_start":
                yield from self._start(event)
            case "text" if text(part.get("text")).strip():
                yield AgentText(text(part.get("text")))
            case "tool_use":
                yield from _call(part)
            case "step_finish":
                self._steps += 1
                over = part.get("reason") == "tool-calls"
                yield AgentTurn(_usage(mapping(part.get("tokens"))), _usd(part.get("cost")), over=over)
            case "error":
                yield from self._start(event)
                self._complained = True
                yield _complaint(mapping(event.get("error")))
            case _:
                pass

    def end(self, exit_code: int | None, stderr: str) -> Iterable[Happening]:
        if exit_code == 0 and not self._steps and not self._complained:
            yield AgentProblem("agent", stderr or "it ended without a request to a model")

    def _start(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        if not self._began and text(event.get("sessionID")):
            self._began = True
            yield AgentStarted(text(event.get("sessionID")))


def _call(part: Mapping[str, Any]) -> Iterator[Happening]:
    id, state = text(part.get("callID")), mapping(part.get("state"))
    yield AgentToolCall(id, text(part.get("tool")) or "tool", mapping(state.get("input")))
    told = text(state.get("output")) or text(state.get("error"))
    failed = part.get("tool") == NO_SUCH_TOOL or mapping(state.get("metadata")).get("exit") not in (None, 0)
    yield AgentToolResult(id, state.get("status") == "completed" and not failed, told)


def _complaint(error: Mapping[str, Any]) -> AgentProblem:
    data = mapping(error.get("data"))
    message = text(data.get("message")) or text(error.get("message")) or text(error.get("name")) or "an error"
    status = data.get("statusCode")
    return AgentProblem(trouble_of(message, status if isinstance(status, int) else None), message)


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """Return the usage. Cached tokens are reported separately from the input, and thoughts separately from the
    output."""
    cache = mapping(told.get("cache"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    given = count(told.get("input")) + read + written
    put_out = count(told.get("output")) + count(told.get("reasoning"))
    return Usage(given, put_out, read, written) if given or put_out else None


def _usd(told: Any) -> float | None:
    is_price = isinstance(told, int | float) and not isinstance(told, bool) and 0 < told < MOST_USD
    return float(told) if is_price else None
