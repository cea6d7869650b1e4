"""Reader of ACP updates: converts them to agent events. Pure; no I/O, no clock.

The protocol has no turns. Here a turn is a group of model output (thoughts, text, tool calls) up to the results of its
calls. It ends when every call of it has returned, or with the first output after a result, or with the prompt. If an
agent shows the calls of one model answer one after the other, each with its result before the next, more turns are
counted than requests were made. The count is never too low, as long as the agent shows its calls at all.

Text arrives in pieces and is reported whole. A call is reported when it runs, when permission is asked for it, or when
an update adds to its input: most agents announce a call while its input is still streaming in.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)
from donewhen.engines.external.json_values import count, mapping, mappings, text
from donewhen.model.interface import Usage

LIMITS = {"max_tokens": "its token limit", "max_turn_requests": "its turn limit"}
LONGEST_NAME = 60
MOST_TEXT = 1 << 20
"""Limit of one message, in characters, so that an agent that floods us cannot fill the memory."""

MOST_OUTPUT = 1 << 16
MOST_USD = 1e9
"""Not a possible cost of a session: a number above it is a mistake."""


@dataclass(slots=True)
class _Call:
    """A tool call with everything that was reported about it so far; the newest value of each field."""

    id: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    output: str = ""
    """Output of its command so far, if the agent reports it in pieces."""
    is_reported: bool = False
    is_refused: bool = False
    """True if permission was denied: some agents do not report the result of such a call."""

    @property
    def tool(self) -> str:
        kind, title = text(self.fields.get("kind")), text(self.fields.get("title"))
        first_line = title.strip().partition("\n")[0][:LONGEST_NAME]
        return kind if kind and kind != "other" else first_line or kind or "tool"

    @property
    def input(self) -> Mapping[str, Any]:
        reported = mapping(self.fields.get("rawInput"))
        if reported:
            return reported
        paths = [text(one.get("path")) for one in mappings(self.fields.get("locations"))]
        known = {"title": text(self.fields.get("title")), "paths": paths}
        return {name: value for name, value in known.items() if value}

    def report(self) -> Iterator[AgentEvent]:
        """Report the call, once."""
        if not self.is_reported:
            self.is_reported = True
            yield AgentToolCall(self.id, self.tool, self.input)


class _TextPieces:
    """Text that arrives in pieces and is reported whole."""

    def __init__(self) -> None:
        self.last = ""
        self._pieces: list[str] = []
        self._space_left = MOST_TEXT

    def add(self, piece: str) -> None:
        self._pieces.append(piece[: self._space_left])
        self._space_left -= len(self._pieces[-1])

    def flush(self) -> Iterator[AgentEvent]:
        whole, self._pieces, self._space_left = "".join(self._pieces), [], MOST_TEXT
        if whole.strip():
            self.last = whole
            yield AgentText(whole)


class AgentBill:
    """Tokens and costs, as totals."""

    def __init__(self, usd_before: float) -> None:
        self._usd_before = usd_before
        self._usage: Usage | None = None
        self._usd: float | None = None

    def update(self, update: Mapping[str, Any]) -> Iterator[AgentEvent]:
        usd = usd_of(update)
        if usd is not None:
            self._usd = max(0.0, usd - self._usd_before)
            yield AgentTotals(self._usage, self._usd)

    def end(self, result: Mapping[str, Any]) -> Iterator[AgentEvent]:
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
        self._text = _TextPieces()
        self._has_output = False
        """True if model output has arrived that does not belong to a finished turn."""
        self._has_result = False
        """True if a call of this turn has returned."""

    def update(self, update: Mapping[str, Any]) -> Iterator[AgentEvent]:
        kind = update.get("sessionUpdate")
        if kind == "tool_call":
            # A reused id is another call; if it were skipped, it would escape the turn limit.
            self._returned.discard(text(update.get("toolCallId")))
        if kind == "agent_message_chunk":
            yield from self._add_output(is_text=True)
            self._text.add(text(mapping(update.get("content")).get("text")))
        elif kind == "agent_thought_chunk":
            yield from self._add_output()
        elif kind in ("tool_call", "tool_call_update") and text(update.get("toolCallId")) not in self._returned:
            yield from self._update_call(update)
        elif kind == "usage_update":
            yield from self.bill.update(update)

    def permission_asked(self, call: Mapping[str, Any]) -> Iterator[AgentEvent]:
        """Report a call when permission is asked for it, with whatever is known. Its content is not a result yet."""
        yield from self._before_call(call)
        yield from self._merge({**call, "content": None}).report()

    def mark_refused(self, id: str) -> None:
        if id in self._calls:
            self._calls[id].is_refused = True

    def call_fields(self, id: str) -> Mapping[str, Any]:
        """Return everything that was reported about a call so far."""
        return self._calls[id].fields if id in self._calls else {}

    def end(self, result: Mapping[str, Any]) -> Iterator[AgentEvent]:
        """Process the answer to the prompt."""
        yield from self.end_early()
        yield from self.bill.end(result)
        yield _stop_event(text(result.get("stopReason")), self._text.last)

    def end_early(self) -> Iterator[AgentEvent]:
        """Report what was held back, because nothing more will arrive."""
        yield from self._text.flush()
        yield from self._end_refused_calls()
        for call in self._calls.values():
            yield from call.report()
        yield from self._end_turn()

    # -- text and turns --

    def _add_output(self, is_text: bool = False) -> Iterator[AgentEvent]:
        """Process model output that is not a call; after a result it belongs to the next turn."""
        if not is_text:
            yield from self._text.flush()
        yield from self._end_refused_calls()
        if self._has_result:
            yield from self._end_turn()
        self._has_output = True

    def _end_turn(self, is_over: bool = False) -> Iterator[AgentEvent]:
        if self._has_output:
            self._has_output = self._has_result = False
            yield AgentTurn(is_over=is_over)

    # -- calls --

    def _update_call(self, update: Mapping[str, Any]) -> Iterator[AgentEvent]:
        yield from self._before_call(update)
        call = self._merge(update)
        status = text(call.fields.get("status"))
        is_known = bool(call.fields["rawInput"]) and update.get("sessionUpdate") == "tool_call_update"
        if is_known or status in ("in_progress", "completed", "failed"):
            yield from call.report()
        if status in ("completed", "failed"):
            yield from self._end_call(call, status == "completed", call.output or output_of(call.fields))

    def _before_call(self, update: Mapping[str, Any]) -> Iterator[AgentEvent]:
        """Prepare for an update about a call: the text before it is complete, and a new call ends the refused ones."""
        yield from self._text.flush()
        if text(update.get("toolCallId")) not in self._calls:
            yield from self._end_refused_calls()

    def _end_refused_calls(self) -> Iterator[AgentEvent]:
        for call in [one for one in self._calls.values() if one.is_refused]:
            yield from self._end_call(call, False, "refused")

    def _end_call(self, call: _Call, ok: bool, output: str) -> Iterator[AgentEvent]:
        yield AgentToolResult(call.id, ok, output)
        del self._calls[call.id]
        self._returned.add(call.id)
        self._has_result = True
        if not self._calls:
            yield from self._end_turn(is_over=True)

    def _merge(self, update: Mapping[str, Any]) -> _Call:
        """Return the call that an update is about, after merging the update into it."""
        id = text(update.get("toolCallId"))
        if id not in self._calls:
            self._has_output = True
            self._calls[id] = _Call(id)
        call = self._calls[id]
        # A permission request may show another view of the input than earlier updates; both are kept.
        merged = {**mapping(call.fields.get("rawInput")), **mapping(update.get("rawInput"))}
        call.fields.update({name: value for name, value in update.items() if value not in (None, [], {})})
        call.fields["rawInput"] = merged
        call.output = (call.output + _terminal_output(update))[-MOST_OUTPUT:]
        return call


def _stop_event(reason: str, last_text: str) -> AgentEvent:
    if reason == "end_turn":
        return AgentStopped(last_text)
    if reason in LIMITS:
        return AgentProblem("limit", f"the agent stopped at {LIMITS[reason]}")
    messages = {"refusal": "the model refused to continue", "cancelled": "the agent reports that it was cancelled"}
    return AgentProblem("agent", messages.get(reason, f"the agent stopped for an unknown reason: {reason!r}"))


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
    reported = mapping(result.get("usage"))
    if not reported:
        quota = mapping(mapping(mapping(result.get("_meta")).get("quota")).get("token_count"))
        return Usage(count(quota.get("input_tokens")), count(quota.get("output_tokens"))) if quota else None
    input_tokens, output_tokens = count(reported.get("inputTokens")), count(reported.get("outputTokens"))
    read, written = count(reported.get("cachedReadTokens")), count(reported.get("cachedWriteTokens"))
    thinking_tokens = count(reported.get("thoughtTokens"))
    uncounted = count(reported.get("totalTokens")) - input_tokens - output_tokens
    if uncounted >= read + written:
        input_tokens, uncounted = input_tokens + read + written, uncounted - read - written
    if uncounted >= thinking_tokens:
        output_tokens += thinking_tokens
    return Usage(input_tokens, output_tokens, read, written)


def _terminal_output(update: Mapping[str, Any]) -> str:
    """Return a piece of a command's output, which agents send as terminal output by a convention outside the
    protocol."""
    meta = mapping(update.get("_meta"))
    piece = mapping(meta.get("terminal_output_delta")) or mapping(meta.get("terminal_output"))
    return text(piece.get("data"))


def output_of(call: Mapping[str, Any]) -> str:
    """Return a tool's output as text: its text content, else what it returned, else which files it changed."""
    contents = mappings(call.get("content"))
    texts = [text(mapping(one.get("content")).get("text")) for one in contents if one.get("type") == "content"]
    shown = "\n".join(filter(None, texts))
    returned = call.get("rawOutput")
    if shown or isinstance(returned, str):
        return shown or text(returned)
    if returned is not None and not any(one.get("type") == "diff" for one in contents):
        return json.dumps(returned, ensure_ascii=False)
    done = "changed" if call.get("status") == "completed" else "not changed:"
    return "\n".join(f"{done} {text(one.get('path'))}" for one in contents if one.get("type") == "diff")
