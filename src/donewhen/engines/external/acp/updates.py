"""Reader of ACP updates: converts them to agent events. Pure; no I/O, no clock.

The protocol has no turns. Here a turn is a group of model output (thoughts, text, tool calls) up to the results of its
calls. It ends when every call of it has returned, or with the first output after a result, or with the prompt. If an
agent shows the calls of one model answer one after the other, each with its result before the next, more turns are
counted than requests were made. The count is never too low, as long as the agent shows its calls at all.

Text arrives in pieces and is reported whole. A call is reported when it runs, when permission is asked for it, or when
more of its input arrives than was announced: most agents announce calls while their input is still streaming in.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from donewhen.engines.external.agent_events import (
    AgentProblem,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
    Happening,
)
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.model.interface import Usage

LIMITS = {"max_tokens": "its token limit", "max_turn_requests": "its turn limit"}
LONGEST_NAME = 60
MOST_WORDS = 1 << 20
"""Limit of one message, in characters, so that an agent that floods us cannot fill the memory."""

MOST_PRINTED = 1 << 16
MOST_USD = 1e9
"""Not a possible cost of a session: a number above it is a mistake."""


@dataclass(slots=True)
class _Call:
    """A tool call with everything that was reported about it so far; the newest value of each field."""

    id: str
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    printed: str = ""
    """Output of its command so far, if the agent reports it in pieces."""
    told: bool = False
    refused: bool = False
    """True if permission was denied: some agents do not report the result of such a call."""

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
        """Report the call, once."""
        if not self.told:
            self.told = True
            yield AgentToolCall(self.id, self.tool, self.input)


class _Words:
    """Text that arrives in pieces and is reported whole."""

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
            yield AgentText(said)


class AgentBill:
    """Tokens and costs, as totals."""

    def __init__(self, usd_before: float) -> None:
        self._usd_before = usd_before
        self._usage: Usage | None = None
        self._usd: float | None = None

    def update(self, update: Mapping[str, Any]) -> Iterator[Happening]:
        usd = usd_of(update)
        if usd is not None:
            self._usd = max(0.0, usd - self._usd_before)
            yield AgentTotals(self._usage, self._usd)

    def end(self, result: Mapping[str, Any]) -> Iterator[Happening]:
        """Report the tokens that the answer to the prompt contains."""
        used = usage_of(result)
        if used is not None:
            self._usage = used
            yield AgentTotals(self._usage, self._usd)


class UpdateReader:
    """State that is kept between updates; one for each prompt."""

    def __init__(self, usd_before: float = 0.0) -> None:
        """`usd_before`: what the conversation had cost before this prompt."""
        self._calls: dict[str, _Call] = {}
        """Calls that have not returned."""
        self._returned: set[str] = set()
        self.bill = AgentBill(usd_before)
        self._words = _Words()
        self._output = False
        """True if model output has arrived that does not belong to a finished turn."""
        self._result = False
        """True if a call of this turn has returned."""

    def update(self, update: Mapping[str, Any]) -> Iterator[Happening]:
        kind = update.get("sessionUpdate")
        if kind == "tool_call":
            # A reused id is another call; if it were skipped, it would escape the turn limit.
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
        """Report a call when permission is asked for it, with whatever is known. Its content is not a result yet."""
        yield from self._turns_to(call)
        yield from self._merged({**call, "content": None}).tell()

    def refused(self, id: str) -> None:
        if id in self._calls:
            self._calls[id].refused = True

    def known(self, id: str) -> Mapping[str, Any]:
        """Return everything that was reported about a call so far."""
        return self._calls[id].said if id in self._calls else {}

    def end(self, result: Mapping[str, Any]) -> Iterator[Happening]:
        """Process the answer to the prompt."""
        yield from self.break_off()
        yield from self.bill.end(result)
        yield _stopped(text(result.get("stopReason")), self._words.last)

    def break_off(self) -> Iterator[Happening]:
        """Report what was held back, because nothing more will arrive."""
        yield from self._words.whole()
        yield from self._settle()
        for call in self._calls.values():
            yield from call.tell()
        yield from self._turn_ends()

    # -- text and turns --

    def _puts_out(self, words: bool = False) -> Iterator[Happening]:
        """Process model output that is not a call; after a result it belongs to the next turn."""
        if not words:
            yield from self._words.whole()
        yield from self._settle()
        if self._result:
            yield from self._turn_ends()
        self._output = True

    def _turn_ends(self, over: bool = False) -> Iterator[Happening]:
        if self._output:
            self._output = self._result = False
            yield AgentTurn(over=over)

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
        """Prepare for an update about a call: the text before it is complete, and a new call settles the refused
        ones."""
        yield from self._words.whole()
        if text(update.get("toolCallId")) not in self._calls:
            yield from self._settle()

    def _settle(self) -> Iterator[Happening]:
        for call in [one for one in self._calls.values() if one.refused]:
            yield from self._return(call, False, "refused")

    def _return(self, call: _Call, ok: bool, came: str) -> Iterator[Happening]:
        yield AgentToolResult(call.id, ok, came)
        del self._calls[call.id]
        self._returned.add(call.id)
        self._result = True
        if not self._calls:
            yield from self._turn_ends(over=True)

    def _merged(self, update: Mapping[str, Any]) -> _Call:
        """Return the call that an update is about, after merging the update into it."""
        id = text(update.get("toolCallId"))
        if id not in self._calls:
            self._output = True
            self._calls[id] = _Call(id)
        call = self._calls[id]
        # A permission request may show another view of the input than earlier updates; both are kept.
        given = {**mapping(call.said.get("rawInput")), **mapping(update.get("rawInput"))}
        call.said.update({name: value for name, value in update.items() if value not in (None, [], {})})
        call.said["rawInput"] = given
        call.printed = (call.printed + _piece_of_terminal(update))[-MOST_PRINTED:]
        return call


def _stopped(reason: str, closing: str) -> Happening:
    if reason == "end_turn":
        return AgentStopped(closing)
    if reason in LIMITS:
        return AgentProblem("limit", f"the agent stopped at {LIMITS[reason]}")
    said = {"refusal": "the model refused to continue", "cancelled": "the agent reports that it was cancelled"}
    return AgentProblem("agent", said.get(reason, f"the agent stopped for an unknown reason: {reason!r}"))


def usd_of(update: Mapping[str, Any]) -> float | None:
    """Return what a conversation has cost so far, from a `usage_update`; None if unknown.

    The `used` field of the update is how full the context is, not usage. Agents that do not know a price report 0: the
    cost stays unknown.
    """
    cost = mapping(update.get("cost"))
    amount = cost.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, int | float) or cost.get("currency") != "USD":
        return None
    return float(amount) if 0 < amount < MOST_USD else None


def usage_of(result: Mapping[str, Any]) -> Usage | None:
    """Return the tokens of a prompt, if its answer reports them.

    Agents differ in whether cached and thought tokens are included in the two sums; their total shows which.
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
    """Return a piece of a command's output, which agents send as terminal output by a convention outside the
    protocol."""
    beside = mapping(update.get("_meta"))
    piece = mapping(beside.get("terminal_output_delta")) or mapping(beside.get("terminal_output"))
    return text(piece.get("data"))


def output_of(call: Mapping[str, Any]) -> str:
    """Return a tool's output as text: its text content, else what it returned, else which files it changed."""
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
