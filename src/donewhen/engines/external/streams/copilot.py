"""Reader of what the Copilot CLI prints with `--output-format json` (version 1.0). It reports no tokens or costs.

Requests that are retried are reported too; only `session.error` means that it gave up. The id of the conversation comes
with the last event, `result`. A denied tool leaves the exit code at 0.
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
    AgentTurn,
)
from donewhen.engines.external.json_values import mapping, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.problems import problem_kind


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._model = ""
        self._has_failed = False
        self._has_ended = False

    def value(self, value: Any) -> Iterable[AgentEvent]:
        event = mapping(value)
        data = mapping(event.get("data"))
        match event.get("type"):
            case "session.tools_updated":
                return self._set_model(text(data.get("model")))
            case "assistant.message":
                return _message(data)
            case "tool.execution_start":
                call = mapping(data.get("arguments"))
                return (AgentToolCall(text(data.get("toolCallId")), text(data.get("toolName")), call),)
            case "tool.execution_complete":
                return (_tool_result(data),)
            case "session.error":
                self._has_failed = True
                message = text(data.get("message")) or text(data.get("errorType")) or "an error"
                return (AgentProblem(problem_kind(message, data.get("statusCode")), message),)
            case "result":
                return self._result(event)
            case _:
                return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        del stderr
        if exit_code == 0 and not self._has_ended:
            yield AgentProblem("agent", "it ended without reporting a result")

    def _set_model(self, model: str) -> Iterator[AgentEvent]:
        if model and model != self._model:
            self._model = model
            yield AgentStarted("", model)

    def _result(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        self._has_ended = True
        if conversation := text(event.get("sessionId")):
            yield AgentStarted(conversation, self._model)
        code = event.get("exitCode")
        if code == 0 and not self._has_failed:
            yield AgentStopped()
        elif not self._has_failed:
            yield AgentProblem("agent", f"it reports that it ended with {code!r}")


def _message(data: Mapping[str, Any]) -> Iterator[AgentEvent]:
    yield AgentTurn(None, None, text(data.get("model")))
    # The text of a sub-agent is not the agent's own.
    if text(data.get("content")).strip() and not data.get("parentToolCallId"):
        yield AgentText(text(data.get("content")))


def _tool_result(data: Mapping[str, Any]) -> AgentToolResult:
    """Return the result of a call. The program reports a command that failed as a success, because it could be run."""
    result, error = mapping(data.get("result")), mapping(data.get("error"))
    exited = mapping(data.get("shellExecution")).get("exitCode")
    output = text(result.get("content")) or text(error.get("message"))
    return AgentToolResult(text(data.get("toolCallId")), data.get("success") is True and exited in (None, 0), output)
