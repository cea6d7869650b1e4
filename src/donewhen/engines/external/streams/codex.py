"""Reader of what Codex prints with `codex exec --json` (version 0.166).

A `turn` of Codex is the whole task; the model requests in it are not visible. Here a turn is everything that the model
outputs up to the results of its calls: calls of one answer that run one after the other count as several turns. Errors
before the end are warnings and retries; only `turn.failed` is a failure. The totals at the end cover the whole
conversation, earlier invocations included.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
)
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.problems import problem_kind
from donewhen.model.interface import Usage

NO_CALLS = ("agent_message", "reasoning", "error", "todo_list")
FAILED = ("failed", "declined")


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._has_begun = self._has_ended = False
        self._open_calls: set[str] = set()
        self._has_output = False
        """True if the model has output something that does not belong to a finished turn."""
        self._has_result = False
        """True if a call of that turn has returned."""
        self._last_text = self._error = ""

    def value(self, value: Any) -> Iterable[AgentEvent]:
        event = mapping(value)
        match event.get("type"):
            case "thread.started" if not self._has_begun:
                self._has_begun = True
                return (AgentStarted(text(event.get("thread_id"))),)
            case "item.started":
                return self._started(mapping(event.get("item")))
            case "item.completed":
                return self._completed(mapping(event.get("item")))
            case "turn.completed":
                return self._done(mapping(event.get("usage")))
            case "turn.failed":
                return self._failed(text(mapping(event.get("error")).get("message")))
            case "error":
                self._error = text(event.get("message")) or self._error
            case _:
                pass
        return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        yield from self._end_turn()
        if self._has_ended:
            return
        if self._error:
            yield AgentProblem(problem_kind(self._error), self._error)
        elif exit_code == 0:
            yield AgentProblem("agent", stderr or "it ended without reporting a result")

    def _started(self, item: Mapping[str, Any]) -> Iterator[AgentEvent]:
        id, kind = text(item.get("id")), text(item.get("type"))
        if not kind or kind in NO_CALLS or id in self._open_calls:
            return
        if self._has_result and not self._open_calls:
            yield from self._end_turn()
        self._has_output = True
        self._open_calls.add(id)
        yield AgentToolCall(id, _tool(item), _input(item))

    def _completed(self, item: Mapping[str, Any]) -> Iterator[AgentEvent]:
        match item.get("type"):
            case "agent_message" | "reasoning":
                if self._has_result:
                    yield from self._end_turn()
                self._has_output = True
                if item.get("type") == "agent_message" and text(item.get("text")).strip():
                    self._last_text = text(item.get("text"))
                    yield AgentText(self._last_text)
            case str(kind) if kind not in NO_CALLS:
                yield from self._started(item)
                self._open_calls.discard(text(item.get("id")))
                self._has_result = True
                yield AgentToolResult(text(item.get("id")), _is_ok(item), _output(item))
                if not self._open_calls:
                    yield from self._end_turn()
            case _:
                pass

    def _end_turn(self) -> Iterator[AgentEvent]:
        if self._has_output:
            self._has_output = self._has_result = False
            yield AgentTurn()

    def _done(self, usage: Mapping[str, Any]) -> Iterator[AgentEvent]:
        yield from self._end_turn()
        self._has_ended = True
        if (used := _usage(usage)) is not None:
            yield AgentTotals(used, with_earlier=True)
        yield AgentStopped(self._last_text)

    def _failed(self, message: str) -> Iterator[AgentEvent]:
        yield from self._end_turn()
        self._has_ended = True
        reason = message or self._error or "it failed without giving a reason"
        yield AgentProblem(problem_kind(reason), reason)


def _tool(item: Mapping[str, Any]) -> str:
    kind = text(item.get("type"))
    if kind == "mcp_tool_call":
        return f"{text(item.get('server'))}.{text(item.get('tool'))}"
    return "shell" if kind == "command_execution" else kind


def _input(item: Mapping[str, Any]) -> Mapping[str, Any]:
    if item.get("type") == "mcp_tool_call":
        return mapping(item.get("arguments"))
    names = ("command", "changes", "query", "prompt", "url")
    return {name: item[name] for name in names if item.get(name)}


def _is_ok(item: Mapping[str, Any]) -> bool:
    return item.get("status") not in FAILED and item.get("exit_code") in (None, 0)


def _output(item: Mapping[str, Any]) -> str:
    failed = text(mapping(item.get("error")).get("message"))
    texts = [text(one.get("text")) for one in mappings(mapping(item.get("result")).get("content"))]
    changed = [f"{text(one.get('kind'))} {text(one.get('path'))}" for one in mappings(item.get("changes"))]
    return text(item.get("aggregated_output")) or failed or "\n".join((*texts, *changed))


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    """Return the usage. Cached tokens are part of the input here, and reasoning is part of the output."""
    sent, received = count(reported.get("input_tokens")), count(reported.get("output_tokens"))
    read, written = count(reported.get("cached_input_tokens")), count(reported.get("cache_write_input_tokens"))
    return Usage(sent, received, read, written) if sent or received else None
