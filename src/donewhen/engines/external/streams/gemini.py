"""Reader of what Gemini CLI prints with `--output-format stream-json` (version 0.61).

Text arrives in pieces and is reported whole. The turns of the model are not marked: everything that it outputs up to
the results of its calls counts as one. A refused key and a limit are visible mainly in exit codes: the code is the
status of the refused request, cut to eight bits, and 53 is the turn limit.
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
from donewhen.engines.external.json_values import count, mapping, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.problems import problem_kind
from donewhen.model.interface import Usage

EXITS: Mapping[int, tuple[ProblemKind, str]] = {
    41: ("sign_in", "it could not sign in"),
    53: ("limit", "it stopped at its turn limit"),
    401 % 256: ("sign_in", "its request to the model was refused (401)"),
    403 % 256: ("sign_in", "its request to the model was refused (403)"),
    429 % 256: ("quota", "its quota is used up (429)"),
}
LIMIT_TYPE = "FatalTurnLimitedError"
MOST_TEXT = 1 << 20
"""Limit of one message, in characters."""


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._has_begun = self._has_ended = False
        self._open_calls: set[str] = set()
        self._has_output = False
        """True if the model has output something that does not belong to a finished turn."""
        self._pieces: list[str] = []
        self._space_left = MOST_TEXT
        self._last_text = ""

    def value(self, value: Any) -> Iterable[AgentEvent]:
        event = mapping(value)
        match event.get("type"):
            case "init" if not self._has_begun:
                self._has_begun = True
                return (AgentStarted(text(event.get("session_id")), text(event.get("model"))),)
            case "message" if event.get("role") == "assistant":
                piece = text(event.get("content"))[: self._space_left]
                self._space_left -= len(piece)
                self._pieces.append(piece)
                self._has_output = True
            case "tool_use":
                return self._begin_call(event)
            case "tool_result":
                return self._end_call(event)
            case "result":
                return self._result(event)
            case _:
                pass
        return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        yield from self._end_turn()
        if self._has_ended:
            return
        if exit_code is not None and exit_code in EXITS:
            kind, message = EXITS[exit_code]
            yield AgentProblem(kind, stderr or message)
        elif exit_code == 0:
            yield AgentProblem("agent", stderr or "it ended without reporting a result")

    def _flush_text(self) -> Iterator[AgentEvent]:
        whole, self._pieces, self._space_left = "".join(self._pieces), [], MOST_TEXT
        if whole.strip():
            self._last_text = whole
            yield AgentText(whole)

    def _begin_call(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        yield from self._flush_text()
        id = text(event.get("tool_id"))
        self._has_output = True
        self._open_calls.add(id)
        yield AgentToolCall(id, text(event.get("tool_name")) or "tool", mapping(event.get("parameters")))

    def _end_call(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        id = text(event.get("tool_id"))
        self._open_calls.discard(id)
        output = text(event.get("output")) or text(mapping(event.get("error")).get("message"))
        yield AgentToolResult(id, event.get("status") == "success", output)
        if not self._open_calls:
            yield from self._end_turn()

    def _end_turn(self) -> Iterator[AgentEvent]:
        yield from self._flush_text()
        if self._has_output:
            self._has_output = False
            yield AgentTurn()

    def _result(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        yield from self._end_turn()
        self._has_ended = True
        if (used := _usage(mapping(event.get("stats")))) is not None:
            yield AgentTotals(used)
        if event.get("status") == "success":
            yield AgentStopped(self._last_text)
            return
        error = mapping(event.get("error"))
        message = text(error.get("message")) or text(error.get("type")) or "an error"
        limit = error.get("type") == LIMIT_TYPE
        yield AgentProblem("limit" if limit else problem_kind(message), message)


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    """Return the usage. Cached tokens are part of the input here; thoughts are only in the total."""
    sent, received, read = (count(reported.get(name)) for name in ("input_tokens", "output_tokens", "cached"))
    thinking = max(0, count(reported.get("total_tokens")) - sent - received)
    return Usage(sent, received + thinking, read) if sent or received else None
