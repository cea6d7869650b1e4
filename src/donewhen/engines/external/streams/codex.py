"""Reader of what Codex prints with `codex exec --json` (version 0.166).

A `turn` of Codex is the whole task; the model requests in it are not visible. Here a turn is everything that the model
outputs up to the results of its calls: calls of one answer that run one after the other count as several turns. Errors
before the end are warnings and retries; only `turn.failed` is a failure. The totals at the end cover the whole
conversation, earlier invocations included.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
)
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.trouble import trouble_of
from donewhen.model.interface import Usage

NO_CALLS = ("agent_message", "reasoning", "error", "todo_list")
FAILED = ("failed", "declined")


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._began = self._ended = False
        self._open: set[str] = set()
        self._output = False
        """True if the model has output something that does not belong to a finished turn."""
        self._result = False
        """True if a call of that turn has returned."""
        self._said = self._error = ""

    def value(self, value: Any) -> Iterable[Happening]:
        event = mapping(value)
        match event.get("type"):
            case "thread.started" if not self._began:
                self._began = True
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

    def end(self, exit_code: int | None, stderr: str) -> Iterable[Happening]:
        yield from self._turn_over()
        if self._ended:
            return
        if self._error:
            yield AgentProblem(trouble_of(self._error), self._error)
        elif exit_code == 0:
            yield AgentProblem("agent", stderr or "it ended without reporting a result")

    def _started(self, item: Mapping[str, Any]) -> Iterator[Happening]:
        id, kind = text(item.get("id")), text(item.get("type"))
        if not kind or kind in NO_CALLS or id in self._open:
            return
        if self._result and not self._open:
            yield from self._turn_over()
        self._output = True
        self._open.add(id)
        yield AgentToolCall(id, _tool(item), _input(item))

    def _completed(self, item: Mapping[str, Any]) -> Iterator[Happening]:
        match item.get("type"):
            case "agent_message" | "reasoning":
                if self._result:
                    yield from self._turn_over()
                self._output = True
                if item.get("type") == "agent_message" and text(item.get("text")).strip():
                    self._said = text(item.get("text"))
                    yield AgentText(self._said)
            case str(kind) if kind not in NO_CALLS:
                yield from self._started(item)
                self._open.discard(text(item.get("id")))
                self._result = True
                yield AgentToolResult(text(item.get("id")), _worked(item), _output(item))
                if not self._open:
                    yield from self._turn_over()
            case _:
                pass

    def _turn_over(self) -> Iterator[Happening]:
        if self._output:
            self._output = self._result = False
            yield AgentTurn()

    def _done(self, told: Mapping[str, Any]) -> Iterator[Happening]:
        yield from self._turn_over()
        self._ended = True
        if (used := _usage(told)) is not None:
            yield AgentTotals(used, with_earlier=True)
        yield AgentStopped(self._said)

    def _failed(self, message: str) -> Iterator[Happening]:
        yield from self._turn_over()
        self._ended = True
        words = message or self._error or "it failed without giving a reason"
        yield AgentProblem(trouble_of(words), words)


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


def _worked(item: Mapping[str, Any]) -> bool:
    return item.get("status") not in FAILED and item.get("exit_code") in (None, 0)


def _output(item: Mapping[str, Any]) -> str:
    failed = text(mapping(item.get("error")).get("message"))
    given = [text(one.get("text")) for one in mappings(mapping(item.get("result")).get("content"))]
    changed = [f"{text(one.get('kind'))} {text(one.get('path'))}" for one in mappings(item.get("changes"))]
    return text(item.get("aggregated_output")) or failed or "\n".join((*given, *changed))


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """Return the usage. Cached tokens are part of the input here, and reasoning is part of the output."""
    given, put_out = count(told.get("input_tokens")), count(told.get("output_tokens"))
    read, written = count(told.get("cached_input_tokens")), count(told.get("cache_write_input_tokens"))
    return Usage(given, put_out, read, written) if given or put_out else None
