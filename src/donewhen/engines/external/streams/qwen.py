"""Reader of what Qwen Code prints with `-o stream-json` (version 0.15): Claude Code's stream, with differences.

The pieces of one message have different ids, and only the last piece has the usage, which counts cached tokens as
input. A refused request ends with exit code 0 and a successful `result`, whose text is the error in brackets. The turn
limit is reported by an exit code alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentStarted,
    AgentStopped,
    AgentTotals,
    AgentTurn,
    ProblemKind,
)
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.claude import message_events, result_events
from donewhen.engines.external.streams.problems import problem_kind
from donewhen.model.interface import Usage

ERROR = re.compile(r"\s*\[API Error: (.*)\]\s*", re.DOTALL)
STATUS = re.compile(r"\b([45]\d\d)\b")
EXITS: Mapping[int, tuple[ProblemKind, str]] = {
    41: ("sign_in", "it could not sign in"),
    53: ("limit", "it stopped at its turn limit"),
}


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._has_begun = False
        self._open_model: str | None = None
        """Model of a message whose usage has not arrived yet; None if there is no such message."""
        self._has_ended = False

    def value(self, value: Any) -> Iterable[AgentEvent]:
        event = mapping(value)
        match event.get("type"):
            case "system" if event.get("subtype") == "init" and not self._has_begun:
                self._has_begun = True
                return (AgentStarted(text(event.get("session_id")), text(event.get("model"))),)
            case "assistant":
                return self._assistant(event)
            case "user":
                return self._user(event)
            case "result":
                return self._result(event)
            case _:
                return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        yield from self._end_turn()
        if exit_code is not None and exit_code in EXITS:
            kind, message = EXITS[exit_code]
            yield AgentProblem(kind, stderr or message)
        elif exit_code == 0 and not self._has_ended:
            yield AgentProblem("agent", "it ended without reporting a result")

    def _assistant(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        message = mapping(event.get("message"))
        if _is_error_message(message):
            return  # the result repeats it
        used = _usage(mapping(message.get("usage")))
        self._open_model = text(message.get("model"))
        if used is not None:
            yield from self._end_turn(used)
        yield from message_events(event)

    def _user(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        yield from self._end_turn()
        yield from result_events(event)

    def _end_turn(self, usage: Usage | None = None) -> Iterator[AgentEvent]:
        if self._open_model is not None:
            yield AgentTurn(usage, None, self._open_model)
            self._open_model = None

    def _result(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        yield from self._end_turn()
        self._has_ended = True
        if (used := _usage(mapping(event.get("usage")))) is not None:
            yield AgentTotals(used)
        result_text = text(event.get("result"))
        failed = ERROR.fullmatch(result_text)
        if failed is not None and not _usage(mapping(event.get("usage"))):
            yield _problem(failed[1])
        elif event.get("is_error") is True or event.get("subtype") != "success":
            problem = text(mapping(event.get("error")).get("message")) or result_text or text(event.get("subtype"))
            yield _problem(problem or "an error")
        else:
            yield AgentStopped(result_text)


def _problem(message: str) -> AgentProblem:
    status = STATUS.match(message)
    return AgentProblem(problem_kind(message, int(status[1]) if status else None), message)


def _is_error_message(message: Mapping[str, Any]) -> bool:
    """Return True if the program itself wrote this message: a message of a model has a usage."""
    texts = [text(block.get("text")) for block in mappings(message.get("content"))]
    return len(texts) == 1 and bool(ERROR.fullmatch(texts[0])) and _usage(mapping(message.get("usage"))) is None


def _usage(reported: Mapping[str, Any]) -> Usage | None:
    sent, received = count(reported.get("input_tokens")), count(reported.get("output_tokens"))
    return Usage(sent, received, count(reported.get("cache_read_input_tokens"))) if sent or received else None
