"""Reader of what Gemini CLI prints with `--output-format stream-json` (version 0.61).

Text arrives in pieces and is reported whole. The turns of the model are not marked: everything that it outputs up to
the results of its calls counts as one. A refused key and a limit are visible mainly in exit codes: the code is the
status of the refused request, cut to eight bits, and 53 is the turn limit.
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
    Trouble,
)
from donewhen.engines.external.json_values import count, mapping, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.trouble import trouble_of
from donewhen.model.interface import Usage

EXITS: Mapping[int, tuple[Trouble, str]] = {
    41: ("sign_in", "it could not sign in"),
    53: ("limit", "it stopped at its turn limit"),
    401 % 256: ("sign_in", "its request to the model was refused (401)"),
    403 % 256: ("sign_in", "its request to the model was refused (403)"),
    429 % 256: ("quota", "its quota is used up (429)"),
}
LIMIT_TYPE = "FatalTurnLimitedError"
MOST_WORDS = 1 << 20
"""Limit of one message, in characters."""


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._began = self._ended = False
        self._open: set[str] = set()
        self._output = False
        """True if the model has output something that does not belong to a finished turn."""
        self._words: list[str] = []
        self._room = MOST_WORDS
        self._said = ""

    def value(self, value: Any) -> Iterable[Happening]:
        event = mapping(value)
        match event.get("type"):
            case "init" if not self._began:
                self._began = True
                return (AgentStarted(text(event.get("session_id")), text(event.get("model"))),)
            case "message" if event.get("role") == "assistant":
                piece = text(event.get("content"))[: self._room]
                self._room -= len(piece)
                self._words.append(piece)
                self._output = True
            case "tool_use":
                return self._called(event)
            case "tool_result":
                return self._returned(event)
            case "result":
                return self._result(event)
            case _:
                pass
        return ()

    def end(self, exit_code: int | None, stderr: str) -> Iterable[Happening]:
        yield from self._turn_over()
        if self._ended:
            return
        if exit_code is not None and exit_code in EXITS:
            trouble, words = EXITS[exit_code]
            yield AgentProblem(trouble, stderr or words)
        elif exit_code == 0:
            yield AgentProblem("agent", stderr or "it ended without reporting a result")

    def _words_end(self) -> Iterator[Happening]:
        said, self._words, self._room = "".join(self._words), [], MOST_WORDS
        if said.strip():
            self._said = said
            yield AgentText(said)

    def _called(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        yield from self._words_end()
        id = text(event.get("tool_id"))
        self._output = True
        self._open.add(id)
        yield AgentToolCall(id, text(event.get("tool_name")) or "tool", mapping(event.get("parameters")))

    def _returned(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        id = text(event.get("tool_id"))
        self._open.discard(id)
        told = text(event.get("output")) or text(mapping(event.get("error")).get("message"))
        yield AgentToolResult(id, event.get("status") == "success", told)
        if not self._open:
            yield from self._turn_over()

    def _turn_over(self) -> Iterator[Happening]:
        yield from self._words_end()
        if self._output:
            self._output = False
            yield AgentTurn()

    def _result(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        yield from self._turn_over()
        self._ended = True
        if (used := _usage(mapping(event.get("stats")))) is not None:
            yield AgentTotals(used)
        if event.get("status") == "success":
            yield AgentStopped(self._said)
            return
        error = mapping(event.get("error"))
        message = text(error.get("message")) or text(error.get("type")) or "an error"
        limit = error.get("type") == LIMIT_TYPE
        yield AgentProblem("limit" if limit else trouble_of(message), message)


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """Return the usage. Cached tokens are part of the input here; thoughts are only in the total."""
    given, put_out, read = (count(told.get(name)) for name in ("input_tokens", "output_tokens", "cached"))
    thought = max(0, count(told.get("total_tokens")) - given - put_out)
    return Usage(given, put_out + thought, read) if given or put_out else None
