"""Reader of what Qwen Code prints with `-o stream-json` (version 0.15): Claude Code's stream, with differences.

The pieces of one message have different ids, and only the last piece has the usage, which counts cached tokens as
input. A refused request ends with exit code 0 and a successful `result`, whose text is the error in brackets. The turn
limit is reported by an exit code alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from donewhen.engines.external.agent_events import (
    AgentProblem,
    AgentStarted,
    AgentStopped,
    AgentTotals,
    AgentTurn,
    Happening,
    Trouble,
)
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.claude import results, said
from donewhen.engines.external.streams.trouble import trouble_of
from donewhen.model.interface import Usage

ERROR = re.compile(r"\s*\[API Error: (.*)\]\s*", re.DOTALL)
STATUS = re.compile(r"\b([45]\d\d)\b")
EXITS: Mapping[int, tuple[Trouble, str]] = {
    41: ("sign_in", "it could not sign in"),
    53: ("limit", "it stopped at its turn limit"),
}


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._began = False
        self._open: str | None = None
        """Model of a message whose usage has not arrived yet; None if there is no such message."""
        self._ended = False

    def value(self, value: Any) -> Iterable[Happening]:
        event = mapping(value)
        match event.get("type"):
            case "system" if event.get("subtype") == "init" and not self._began:
                self._began = True
                return (AgentStarted(text(event.get("session_id")), text(event.get("model"))),)
            case "assistant":
                return self._assistant(event)
            case "user":
                return self._user(event)
            case "result":
                return self._result(event)
            case _:
                return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[Happening]:
        yield from self._turn_over()
        if exit_code is not None and exit_code in EXITS:
            trouble, words = EXITS[exit_code]
            yield AgentProblem(trouble, stderr or words)
        elif exit_code == 0 and not self._ended:
            yield AgentProblem("agent", "it ended without reporting a result")

    def _assistant(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        message = mapping(event.get("message"))
        if _error_of(message):
            return  # the result repeats it
        used = _usage(mapping(message.get("usage")))
        self._open = text(message.get("model"))
        if used is not None:
            yield from self._turn_over(used)
        yield from said(event)

    def _user(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        yield from self._turn_over()
        yield from results(event)

    def _turn_over(self, usage: Usage | None = None) -> Iterator[Happening]:
        if self._open is not None:
            yield AgentTurn(usage, None, self._open)
            self._open = None

    def _result(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        yield from self._turn_over()
        self._ended = True
        if (used := _usage(mapping(event.get("usage")))) is not None:
            yield AgentTotals(used)
        words = text(event.get("result"))
        failed = ERROR.fullmatch(words)
        if failed is not None and not _usage(mapping(event.get("usage"))):
            yield _complaint(failed[1])
        elif event.get("is_error") is True or event.get("subtype") != "success":
            problem = text(mapping(event.get("error")).get("message")) or words or text(event.get("subtype"))
            yield _complaint(problem or "an error")
        else:
            yield AgentStopped(words)


def _complaint(message: str) -> AgentProblem:
    status = STATUS.match(message)
    return AgentProblem(trouble_of(message, int(status[1]) if status else None), message)


def _error_of(message: Mapping[str, Any]) -> bool:
    """Return True if the program itself wrote this message: a message of a model has a usage."""
    words = [text(block.get("text")) for block in mappings(message.get("content"))]
    return len(words) == 1 and bool(ERROR.fullmatch(words[0])) and _usage(mapping(message.get("usage"))) is None


def _usage(told: Mapping[str, Any]) -> Usage | None:
    given, put_out = count(told.get("input_tokens")), count(told.get("output_tokens"))
    return Usage(given, put_out, count(told.get("cache_read_input_tokens"))) if given or put_out else None
