"""Reader of what opencode prints with `run --format json` (version 1.18).

Every step is one turn of the model, with its usage. There is no final event: the end is the end of the process. A call
is reported once, when it is over. opencode reports a cost of 0 for a model whose price it does not know, so 0 counts as
unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentStarted,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTurn,
)
from donewhen.engines.external.json_values import count, mapping, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.problems import problem_kind
from donewhen.model.interface import Usage

MOST_USD = 1e6
NO_SUCH_TOOL = "invalid"
"""opencode turns a call of an unknown tool, or with invalid arguments, into a successful call of this one."""


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._has_begun = False
        self._steps = 0
        self._has_problem = False

    def value(self, value: Any) -> Iterable[AgentEvent]:
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
                is_over = part.get("reason") == "tool-calls"
                yield AgentTurn(_usage(mapping(part.get("tokens"))), _usd(part.get("cost")), is_over=is_over)
            case "error":
                yield from self._start(event)
                self._has_problem = True
                yield _problem(mapping(event.get("error")))
            case _:
                pass

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        if exit_code == 0 and not self._steps and not self._has_problem:
            yield AgentProblem("agent", stderr or "it ended without a request to a model")

    def _start(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        if not self._has_begun and text(event.get("sessionID")):
            self._has_begun = True
            yield AgentStarted(text(event.get("sessionID")))


def _call(part: Mapping[str, Any]) -> Iterator[AgentEvent]:
    id, state = text(part.get("callID")), mapping(part.get("state"))
    yield AgentToolCall(id, text(part.get("tool")) or "tool", mapping(state.get("input")))
    output = text(state.get("output")) or text(state.get("error"))
    is_failed = part.get("tool") == NO_SUCH_TOOL or mapping(state.get("metadata")).get("exit") not in (None, 0)
    yield AgentToolResult(id, state.get("status") == "completed" and not is_failed, output)


def _problem(error: Mapping[str, Any]) -> AgentProblem:
    data = mapping(error.get("data"))
    message = text(data.get("message")) or text(error.get("message")) or text(error.get("name")) or "an error"
    status = data.get("statusCode")
    return AgentProblem(problem_kind(message, status if isinstance(status, int) else None), message)


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    """Return the usage. Cached tokens are reported separately from the input, and thoughts separately from the
    output."""
    cache = mapping(reported.get("cache"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    sent = count(reported.get("input")) + read + written
    received = count(reported.get("output")) + count(reported.get("reasoning"))
    return Usage(sent, received, read, written) if sent or received else None


def _usd(reported: Any) -> float | None:
    is_price = isinstance(reported, int | float) and not isinstance(reported, bool) and 0 < reported < MOST_USD
    return float(reported) if is_price else None
