"""Reader of what pi prints with `--mode json` (version 0.74): an error is only a `stopReason`, the exit code stays 0.

A retry may follow an error, so the error is reported only if none does. The last event, `agent_end`, comes before the
retry, so nothing in the stream proves that pi has finished; it exits on its own.
"""

import re
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
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.problems import problem_kind
from donewhen.model.interface import Usage

STATUS = re.compile(r"\s*([45]\d\d)\b")
FAILED = ("error", "aborted")
MOST_USD = 1e6
"""A higher amount is not a price."""


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._error = ""
        self._turns = 0

    def value(self, value: Any) -> Iterable[AgentEvent]:
        event = mapping(value)
        match event.get("type"):
            case "session":
                return (AgentStarted(text(event.get("id"))),)
            case "message_end":
                return self._message(mapping(event.get("message")))
            case "tool_execution_start":
                call = mapping(event.get("args"))
                return (AgentToolCall(text(event.get("toolCallId")), text(event.get("toolName")), call),)
            case "tool_execution_end":
                output = _text_of(mapping(event.get("result")))
                return (AgentToolResult(text(event.get("toolCallId")), event.get("isError") is not True, output),)
            case "auto_retry_start":
                self._error = ""
                return ()
            case "auto_retry_end" if event.get("success") is False:
                self._error = text(event.get("finalError")) or self._error
                return ()
            case _:
                return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        if self._error:
            status = STATUS.match(self._error)
            kind = problem_kind(self._error, int(status[1]) if status else None)
            yield AgentProblem(kind, self._error)
        elif exit_code and not self._turns and stderr:
            yield AgentProblem(problem_kind(stderr), stderr)
        elif exit_code == 0 and not self._turns:
            yield AgentProblem("agent", "it ended without a reply from its model")

    def _message(self, message: Mapping[str, Any]) -> Iterator[AgentEvent]:
        if message.get("role") != "assistant":
            return
        if message.get("stopReason") in FAILED:
            self._error = text(message.get("errorMessage")) or f"it stopped: {text(message.get('stopReason'))}"
            return
        self._error = ""
        self._turns += 1
        used = mapping(message.get("usage"))
        read, written = count(used.get("cacheRead")), count(used.get("cacheWrite"))
        sent, received = count(used.get("input")) + read + written, count(used.get("output"))
        usage = Usage(sent, received, read, written) if sent or received else None
        yield AgentTurn(usage, _usd(used), text(message.get("model")))
        if reply_text := _text_of(message).strip():
            yield AgentText(reply_text)


def _text_of(holder: Mapping[str, Any]) -> str:
    blocks = mappings(holder.get("content"))
    return "\n".join(text(block.get("text")) for block in blocks if block.get("type") == "text")


def _usd(used: Mapping[str, Any]) -> float | None:
    """Return the cost. pi reports 0 for a model whose price it does not know: then it is unknown."""
    total = mapping(used.get("cost")).get("total")
    if isinstance(total, bool) or not isinstance(total, int | float):
        return None
    return float(total) if 0 < total < MOST_USD else None
