"""What opencode prints with `run --format json`, by version 1.18.

Every step is one turn of the model, with its usage. There is no word for the end: it is the end of the process. A call
is told once, when it is over. A model whose price it does not know costs nothing by its account, so that nothing is
taken for unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from donewhen.engines.external.happening import Began, Called, Complained, Happening, Returned, Spoke, Turned
from donewhen.engines.external.json_values import count, mapping, text
from donewhen.engines.external.streams import JsonOnly
from donewhen.engines.external.streams.trouble import trouble_of
from donewhen.model.base import Usage

MOST_USD = 1e6
NO_SUCH_TOOL = "invalid"
"""A call of a tool that is not offered, or with arguments that do not fit, is turned into a successful one of this."""


class Stream(JsonOnly):
    def __init__(self) -> None:
        self._began = False
        self._steps = 0
        self._complained = False

    def value(self, value: Any) -> Iterable[Happening]:
        event = mapping(value)
        part = mapping(event.get("part"))
        match event.get("type"):
            case "step_start":
                yield from self._start(event)
            case "text" if text(part.get("text")).strip():
                yield Spoke(text(part.get("text")))
            case "tool_use":
                yield from _call(part)
            case "step_finish":
                self._steps += 1
                over = part.get("reason") == "tool-calls"
                yield Turned(_usage(mapping(part.get("tokens"))), _usd(part.get("cost")), over=over)
            case "error":
                yield from self._start(event)
                self._complained = True
                yield _complaint(mapping(event.get("error")))
            case _:
                pass

    def end(self, exit_code: int | None, stderr: str) -> Iterable[Happening]:
        if exit_code == 0 and not self._steps and not self._complained:
            yield Complained("agent", stderr or "it ended without asking a model anything")

    def _start(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        if not self._began and text(event.get("sessionID")):
            self._began = True
            yield Began(text(event.get("sessionID")))


def _call(part: Mapping[str, Any]) -> Iterator[Happening]:
    id, state = text(part.get("callID")), mapping(part.get("state"))
    yield Called(id, text(part.get("tool")) or "tool", mapping(state.get("input")))
    told = text(state.get("output")) or text(state.get("error"))
    failed = part.get("tool") == NO_SUCH_TOOL or mapping(state.get("metadata")).get("exit") not in (None, 0)
    yield Returned(id, state.get("status") == "completed" and not failed, told)


def _complaint(error: Mapping[str, Any]) -> Complained:
    data = mapping(error.get("data"))
    message = text(data.get("message")) or text(error.get("message")) or text(error.get("name")) or "an error"
    status = data.get("statusCode")
    return Complained(trouble_of(message, status if isinstance(status, int) else None), message)


def _usage(told: Mapping[str, Any]) -> Usage | None:
    """What comes from a cache stands beside the input, and thoughts beside the output."""
    cache = mapping(told.get("cache"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    given = count(told.get("input")) + read + written
    put_out = count(told.get("output")) + count(told.get("reasoning"))
    return Usage(given, put_out, read, written) if given or put_out else None


def _usd(told: Any) -> float | None:
    is_price = isinstance(told, int | float) and not isinstance(told, bool) and 0 < told < MOST_USD
    return float(told) if is_price else None
