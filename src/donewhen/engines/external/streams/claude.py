"""Reader of what Claude Code prints with `--output-format stream-json --verbose` (version 2.1).

A message of the model arrives in several events, one per block, with the same id: turns are counted by that id. The
usage next to it is from the start of the message, so output tokens are known only from the totals at the end. `result`
is not always the end: while commands run in the background, the program waits for them and continues. Its `subtype` may
report success where `is_error` states the truth.
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
    ProblemKind,
)
from donewhen.engines.external.json_values import count, mapping, mappings, sequence, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.problems import problem_kind, utc
from donewhen.model.interface import Usage

SYNTHETIC = "<synthetic>"
"""The model of messages that the program itself wrote, about an error."""
KINDS: Mapping[str, ProblemKind] = {
    "authentication_failed": "sign_in",
    "oauth_org_not_allowed": "sign_in",
    "billing_error": "quota",
    "rate_limit": "quota",
}
"""Its own error names; all others are `agent`."""
LIMITS = ("error_max_turns", "error_max_budget_usd")
OVER = ("completed", "failed", "killed", "stopped")


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._began = False
        self._messages: set[str] = set()
        self._background: set[str] = set()
        self._error = ""
        """Its own name of the last reported error."""
        self._reset_at = ""
        self._ended = False

    def value(self, value: Any) -> Iterable[AgentEvent]:
        event = mapping(value)
        match event.get("type"):
            case "system":
                return self._system(event)
            case "assistant":
                return self._assistant(event)
            case "user":
                return result_events(event)
            case "result":
                return self._result(event)
            case "rate_limit_event":
                return self._note_reset(mapping(event.get("rate_limit_info")))
            case _:
                return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        if exit_code == 0 and not self._ended:
            yield AgentProblem("agent", "it ended without reporting a result")
        elif self._error and not self._ended:
            yield AgentProblem(KINDS.get(self._error, "agent"), stderr or self._error)

    def _system(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        task, state = text(event.get("task_id")), text(mapping(event.get("patch")).get("status"))
        match event.get("subtype"):
            case "init" if not self._began:
                self._began = True
                yield AgentStarted(text(event.get("session_id")), text(event.get("model")))
            case "task_started":
                self._background.add(task)
            case "task_notification":
                self._background.discard(task)
            case "task_updated" if state in OVER:
                self._background.discard(task)
            case _:
                pass

    def _assistant(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        message = mapping(event.get("message"))
        if message.get("model") == SYNTHETIC:
            self._error = text(event.get("error")) or self._error
            return
        if (id := text(message.get("id"))) not in self._messages:
            self._messages.add(id)
            yield AgentTurn(_usage(mapping(message.get("usage"))), None, text(message.get("model")))
        yield from message_events(event)

    def _result(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        self._ended = True
        if (totals := _totals(event)) is not None:
            yield totals
        if event.get("is_error") is not True and event.get("subtype") == "success":
            if not self._background:
                yield AgentStopped(text(event.get("result")))
            return
        errors = "; ".join(filter(None, (text(one) for one in sequence(event.get("errors")))))
        message = text(event.get("result")) or errors or text(event.get("subtype")) or "an error"
        yield AgentProblem(self._problem_kind(event, message), message, self._reset_at)

    def _problem_kind(self, event: Mapping[str, Any], message: str) -> ProblemKind:
        if event.get("subtype") in LIMITS:
            return "limit"
        if self._error:
            return KINDS.get(self._error, "agent")
        return problem_kind(message, event.get("api_error_status"))

    def _note_reset(self, info: Mapping[str, Any]) -> Iterable[AgentEvent]:
        """Remember the reset time for the error that follows."""
        if info.get("status") == "rejected":
            self._reset_at = utc(info.get("resetsAt"))
        return ()


def message_events(event: Mapping[str, Any]) -> Iterator[AgentEvent]:
    """Yield the text and calls of a message; the text of a sub-agent is not the agent's own."""
    is_sub_agent = bool(event.get("parent_tool_use_id"))
    for block in mappings(mapping(event.get("message")).get("content")):
        if block.get("type") == "text" and not is_sub_agent and text(block.get("text")).strip():
            yield AgentText(text(block.get("text")))
        elif block.get("type") == "tool_use":
            yield AgentToolCall(text(block.get("id")), text(block.get("name")), mapping(block.get("input")))


def result_events(event: Mapping[str, Any]) -> Iterator[AgentEvent]:
    for block in mappings(mapping(event.get("message")).get("content")):
        if block.get("type") == "tool_result":
            content = block.get("content")
            output = text(content) or "\n".join(text(one.get("text")) for one in mappings(content))
            yield AgentToolResult(text(block.get("tool_use_id")), block.get("is_error") is not True, output)


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    """Return tokens as the provider counts them: cached tokens are reported separately from the input."""
    read, written = count(reported.get("cache_read_input_tokens")), count(reported.get("cache_creation_input_tokens"))
    sent = count(reported.get("input_tokens")) + read + written
    return Usage(sent, count(reported.get("output_tokens")), read, written) if sent else None


def _totals(event: Mapping[str, Any]) -> AgentTotals | None:
    """Return the totals. The sums per model cover the whole process; `usage` next to them covers only what came since
    the last result."""
    models = [mapping(one) for one in mapping(event.get("modelUsage")).values() if mapping(one)]
    if not models:
        return None
    read = sum(count(one.get("cacheReadInputTokens")) for one in models)
    written = sum(count(one.get("cacheCreationInputTokens")) for one in models)
    sent = sum(count(one.get("inputTokens")) for one in models) + read + written
    received = sum(count(one.get("outputTokens")) for one in models)
    usd = event.get("total_cost_usd")
    money = float(usd) if isinstance(usd, int | float) and not isinstance(usd, bool) and 0 <= usd < 1e9 else None
    return AgentTotals(Usage(sent, received, read, written), money)
