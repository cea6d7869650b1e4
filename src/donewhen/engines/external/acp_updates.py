"""What an agent tells through the Agent Client Protocol, read into happenings. Pure; no I/O, no clock.

The protocol has no turns. Here one is a group of what a model puts out (thoughts, words, calls of tools) up to the
results of its calls: it is over when every call of it has returned, or with the first words after a result, or with
the prompt. An agent that shows the calls of one answer one after the other, each with its result before the next, is
so counted higher than its model was asked; never lower, as long as it shows its calls at all.

Words come in pieces and are told whole. A call is told once it runs, or leave is asked for it, or more of its input
comes than was announced: most agents announce calls while their input still streams in.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from donewhen.engines.external.happening import (
    Called,
    Complained,
    Happening,
    Returned,
    Spoke,
    Stopped,
    Totalled,
    Turned,
)
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.model.base import Usage

LIMITS = {"max_tokens": "its limit of tokens", "max_turn_requests": "its limit of turns"}
LONGEST_NAME = 60
MOST_WORDS = 1 << 20
"""Of one message, in characters; an agent that floods us is not held in memory."""

MOST_PRINTED = 1 << 16
MOST_USD = 1e9
"""No cost of a session: a number above it is a mistake."""


@dataclass(slots=True)
class _Call:
    """A call of a tool with everything that was said about it so far, the newest word on each thing."""

    id: str
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    printed: str = ""
    """What a command of it has printed so far, where the agent tells that in pieces."""
    told: bool = False
    refused: bool = False
    """Leave for it was not given: some agents do not tell again what came of it."""

    @property
    def tool(self) -> str:
        kind, title = text(self.said.get("kind")), text(self.said.get("title"))
        first_line = title.strip().partition("\n")[0][:LONGEST_NAME]
        return kind if kind and kind != "other" else first_line or kind or "tool"

    @property
    def input(self) -> Mapping[str, Any]:
        given = mapping(self.said.get("rawInput"))
        if given:
            return given
        paths = [text(one.get("path")) for one in mappings(self.said.get("locations"))]
        told = {"title": text(self.said.get("title")), "paths": paths}
        return {name: value for name, value in told.items() if value}

    def tell(self) -> Iterator[Happening]:
        """Once."""
        if not self.told:
            self.told = True
            yield Called(self.id, self.tool, self.input)


class _Words:
    """What comes in pieces, told whole."""

    def __init__(self) -> None:
        self.last = ""
        self._pieces: list[str] = []
        self._room = MOST_WORDS

    def add(self, piece: str) -> None:
        self._pieces.append(piece[: self._room])
        self._room -= len(self._pieces[-1])

    def whole(self) -> Iterator[Happening]:
        said, self._pieces, self._room = "".join(self._pieces), [], MOST_WORDS
        if said.strip():
            self.last = said
            yield Spoke(said)


class Bill:
    """Tokens and money, as sums."""

    def __init__(self, usd_before: float) -> None:
        self._usd_before = usd_before
        self._usage: Usage | None = None
        self._usd: float | None = None

    def update(self, update: Mapping[str, Any]) -> Iterator[Happening]:
        usd = usd_of(update)
        if usd is not None:
            self._usd = max(0.0, usd - self._usd_before)
            yield Totalled(self._usage, self._usd)

    def end(self, result: Mapping[str, Any]) -> Iterator[Happening]:
        """What the answer to the prompt tells about tokens."""
        used = usage_of(result)
        if used is not None:
            self._usage = used
            yield Totalled(self._usage, self._usd)


class Updates:
    """What is remembered from update to update; one for each prompt."""

    def __init__(self, usd_before: float = 0.0) -> None:
        """`usd_before`: what the conversation had cost before this prompt."""
        self._calls: dict[str, _Call] = {}
        """Those that have not returned."""
        self._returned: set[str] = set()
        self.bill = Bill(usd_before)
        self._words = _Words()
        self._output = False
        """Whether something of the model's has come that belongs to no finished turn."""
        self._result = False
        """Whether a call of this turn has returned."""

    def update(self, update: Mapping[str, Any]) -> Iterator[Happening]:
        kind = update.get("sessionUpdate")
        if kind == "tool_call":
            # An id that is used again is another call; left out, it would get past the limit of turns.
            self._returned.discard(text(update.get("toolCallId")))
        if kind == "agent_message_chunk":
            yield from self._puts_out(words=True)
            self._words.add(text(mapping(update.get("content")).get("text")))
        elif kind == "agent_thought_chunk":
            yield from self._puts_out()
        elif kind in ("tool_call", "tool_call_update") and text(update.get("toolCallId")) not in self._returned:
            yield from self._call_told(update)
        elif kind == "usage_update":
            yield from self.bill.update(update)

    def asked_leave(self, call: Mapping[str, Any]) -> Iterator[Happening]:
        """Leave is asked for a call: it is told now, whatever is known of it. Nothing it shows has come of it yet."""
        yield from self._turns_to(call)
        yield from self._merged({**call, "content": None}).tell()

    def refused(self, id: str) -> None:
        if id in self._calls:
            self._calls[id].refused = True

    def known(self, id: str) -> Mapping[str, Any]:
        """All that was said about a call so far."""
        return self._calls[id].said if id in self._calls else {}

    def end(self, result: Mapping[str, Any]) -> Iterator[Happening]:
        """The answer to the prompt."""
        yield from self.break_off()
        yield from self.bill.end(result)
        yield _stopped(text(result.get("stopReason")), self._words.last)

    def break_off(self) -> Iterator[Happening]:
        """Nothing more comes: what was held back is told."""
        yield from self._words.whole()
        yield from self._settle()
        for call in self._calls.values():
            yield from call.tell()
        yield from self._turn_ends()

    # -- words and turns --

    def _puts_out(self, words: bool = False) -> Iterator[Happening]:
        """Something of the model's that is no call; after a result it belongs to the next turn."""
        if not words:
            yield from self._words.whole()
        yield from self._settle()
        if self._result:
            yield from self._turn_ends()
        self._output = True

    def _turn_ends(self, over: bool = False) -> Iterator[Happening]:
        if self._output:
            self._output = self._result = False
            yield Turned(over=over)

    # -- calls --

    def _call_told(self, update: Mapping[str, Any]) -> Iterator[Happening]:
        yield from self._turns_to(update)
        call = self._merged(update)
        status = text(call.said.get("status"))
        is_known = bool(call.said["rawInput"]) and update.get("sessionUpdate") == "tool_call_update"
        if is_known or status in ("in_progress", "completed", "failed"):
            yield from call.tell()
        if status in ("completed", "failed"):
            yield from self._return(call, status == "completed", call.printed or output_of(call.said))

    def _turns_to(self, update: Mapping[str, Any]) -> Iterator[Happening]:
        """Before an update is about a call: what was said is whole now, and a new call settles those before it."""
        yield from self._words.whole()
        if text(update.get("toolCallId")) not in self._calls:
            yield from self._settle()

    def _settle(self) -> Iterator[Happening]:
        for call in [one for one in self._calls.values() if one.refused]:
            yield from self._return(call, False, "refused")

    def _return(self, call: _Call, ok: bool, came: str) -> Iterator[Happening]:
        yield Returned(call.id, ok, came)
        del self._calls[call.id]
        self._returned.add(call.id)
        self._result = True
        if not self._calls:
            yield from self._turn_ends(over=True)

    def _merged(self, update: Mapping[str, Any]) -> _Call:
        """The call that an update is about, which becomes known with it."""
        id = text(update.get("toolCallId"))
        if id not in self._calls:
            self._output = True
            self._calls[id] = _Call(id)
        call = self._calls[id]
        # An agent may ask leave with another view of the input than it has told before; both are kept.
        given = {**mapping(call.said.get("rawInput")), **mapping(update.get("rawInput"))}
        call.said.update({name: value for name, value in update.items() if value not in (None, [], {})})
        call.said["rawInput"] = given
        call.printed = (call.printed + _piece_of_terminal(update))[-MOST_PRINTED:]
        return call


def _stopped(reason: str, closing: str) -> Happening:
    if reason == "end_turn":
        return Stopped(closing)
    if reason in LIMITS:
        return Complained("limit", f"the agent stopped at {LIMITS[reason]}")
    said = {"refusal": "the model refused to go on", "cancelled": "the agent says that it was cancelled"}
    return Complained("agent", said.get(reason, f"the agent stopped for a reason of its own: {reason!r}"))


def usd_of(update: Mapping[str, Any]) -> float | None:
    """What a conversation has cost so far, of a `usage_update`. Its `used` is how full the context is: no usage.

    Nothing is what agents tell that know no price: it stays unknown.
    """
    cost = mapping(update.get("cost"))
    amount = cost.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float) or cost.get("currency") != "USD":
        return None
    return float(amount) if 0 < amount < MOST_USD else None


def usage_of(result: Mapping[str, Any]) -> Usage | None:
    """The tokens of a prompt, where its answer tells them.

    Agents differ in whether cached and thought tokens stand apart from the two sums; their total says which.
    """
    told = mapping(result.get("usage"))
    if not told:
        quota = mapping(mapping(mapping(result.get("_meta")).get("quota")).get("token_count"))
        return Usage(count(quota.get("input_tokens")), count(quota.get("output_tokens"))) if quota else None
    given, put_out = count(told.get("inputTokens")), count(told.get("outputTokens"))
    read, written = count(told.get("cachedReadTokens")), count(told.get("cachedWriteTokens"))
    thought = count(told.get("thoughtTokens"))
    apart = count(told.get("totalTokens")) - given - put_out
    if apart >= read + written:
        given, apart = given + read + written, apart - read - written
    if apart >= thought:
        put_out += thought
    return Usage(given, put_out, read, written)


def _piece_of_terminal(update: Mapping[str, Any]) -> str:
    """Agents show a command's output as that of a terminal, by a convention beside the protocol."""
    beside = mapping(update.get("_meta"))
    piece = mapping(beside.get("terminal_output_delta")) or mapping(beside.get("terminal_output"))
    return text(piece.get("data"))


def output_of(call: Mapping[str, Any]) -> str:
    """What a tool gave, as text: its words, else what it returned, else which files it changed."""
    contents = mappings(call.get("content"))
    words = [text(mapping(one.get("content")).get("text")) for one in contents if one.get("type") == "content"]
    said = "\n".join(filter(None, words))
    returned = call.get("rawOutput")
    if said or isinstance(returned, str):
        return said or text(returned)
    if returned is not None and not any(one.get("type") == "diff" for one in contents):
        return json.dumps(returned, ensure_ascii=False)
    done = "changed" if call.get("status") == "completed" else "not changed:"
    return "\n".join(f"{done} {text(one.get('path'))}" for one in contents if one.get("type") == "diff")
