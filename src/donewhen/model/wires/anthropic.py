"""Wire of Anthropic's messages API: content blocks, signed thinking, and marks for the provider's cache."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donewhen.model.interface import Answers, Assistant, Message, OnText, Usage, User
from donewhen.model.partial_reply import LARGEST_INPUT, PartialCall, PartialReply, Stop
from donewhen.model.request_error import RequestError, classify_stream_error
from donewhen.model.sse import BrokenStream, ServerEvent
from donewhen.model.wires.wire import (
    NO_TEXT,
    Opening,
    encode,
    event_object,
    open_body,
    original_items,
    wire_id,
    wire_name,
)
from donewhen.readers.json import count, fields, words
from donewhen.records import frozen

TAG = "anthropic"
STOPS: Mapping[str, Stop] = {
    "end_turn": "done",
    "stop_sequence": "done",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
NO_TEMPERATURE = re.compile(r"claude-opus-4-[789]|claude-[a-z]+-(?:[5-9]|\d\d)(?!\d)")
"""Models that refuse a temperature. For any other model that does, it is left out after the first refusal."""
MARK = {"cache_control": {"type": "ephemeral"}}
MARK_BYTES = b"," + encode(MARK)[1:-1]
USER = b'{"role":"user"'
MARKED_MESSAGES = 2
"""The last message and the previous last one: there the provider finds what it cached in the previous turn."""
DELTAS = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}


@frozen
class Anthropic:
    model: str
    tag: str = TAG
    optional: tuple[str, ...] = ("temperature",)

    @property
    def path(self) -> str:
        return "/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})

    def opening(self, opening: Opening) -> bytes:
        body: dict[str, Any] = {"model": self.model, "stream": True, "max_tokens": opening.max_tokens}
        if not NO_TEMPERATURE.match(self.model):
            body |= opening.optional(temperature=opening.temperature)
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in opening.tools
        ]
        if tools:
            body["tools"] = [*tools[:-1], {**tools[-1], **MARK}]
        if opening.system:
            body["system"] = [{"type": "text", "text": opening.system, **MARK}]
        return open_body(body, "messages")

    def message(self, message: Message) -> bytes:
        match message:
            case User(text):
                return encode({"role": "user", "content": [{"type": "text", "text": text or NO_TEXT}]})
            case Assistant():
                return encode(
                    {"role": "assistant", "content": _original_parts(message, self.model) or _in_plain_form(message)}
                )
            case Answers(answers):
                blocks: list[dict[str, Any]] = [
                    {
                        "type": "tool_result",
                        "tool_use_id": wire_id(answer.call_id),
                        "content": answer.text,
                        **({} if answer.ok else {"is_error": True}),
                    }
                    for answer in answers
                ]
                return encode({"role": "user", "content": blocks})

    def marked(self, messages: Sequence[bytes]) -> Sequence[bytes]:
        marked = list(messages)
        users = [place for place, message in enumerate(marked) if message.startswith(USER)]
        for place in users[-MARKED_MESSAGES:]:
            marked[place] = marked[place].removesuffix(b"}]}") + MARK_BYTES + b"}]}"
        return marked

    def listener(self, on_text: OnText | None) -> "AnthropicListener":
        return AnthropicListener(on_text)


def _in_plain_form(message: Assistant) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = [
        {"type": "tool_use", "id": wire_id(call.id), "name": wire_name(call.name), "input": dict(call.input)}
        for call in message.calls
    ]
    if calls and not message.text.strip():
        return calls
    return [{"type": "text", "text": message.text if message.text.strip() else NO_TEXT}, *calls]


def _original_parts(message: Assistant, model: str) -> list[dict[str, Any]]:
    """Return the original blocks in order, with the ids and inputs of our calls."""
    calls = iter(message.calls)
    blocks: list[dict[str, Any]] = []
    for block in original_items(message, TAG, model) or ():
        if block.get("type") == "tool_use":
            call = next(calls)
            block = {
                "type": "tool_use",
                "id": wire_id(call.id),
                "name": wire_name(call.name),
                "input": dict(call.input),
            }
        blocks.append(block)
    return blocks


@dataclass(slots=True)
class _Block:
    start: dict[str, object]
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0
    signature: str = ""
    ended: bool = False

    @property
    def kind(self) -> str:
        return words(self.start.get("type"))

    @property
    def content(self) -> str:
        first = words(self.start.get("thinking" if self.kind == "thinking" else "text"))
        return first + "".join(self.pieces)

    def raw(self) -> dict[str, object]:
        match self.kind:
            case "text":
                return {"type": "text", "text": self.content}
            case "thinking":
                return {"type": "thinking", "thinking": self.content, "signature": self.signature}
            case "tool_use":
                return {"type": "tool_use"}
            case _:
                return self.start


@dataclass(slots=True)
class AnthropicListener:
    on_text: OnText | None = None
    done: bool = False
    stop: str = ""
    usage: Usage | None = None
    _blocks: dict[int, _Block] = field(default_factory=dict[int, _Block], init=False)

    def receive(self, event: ServerEvent) -> bool:
        received = event_object(event)
        match words(received.get("type")):
            case "ping":
                return False
            case "error":
                raise classify_stream_error(fields(received.get("error")))
            case "message_start":
                if self.usage is not None:
                    raise BrokenStream("it started twice")
                self.usage = usage_of(fields(fields(received.get("message")).get("usage")))
            case "content_block_start":
                self._begin(count(received.get("index")), fields(received.get("content_block")))
            case "content_block_delta":
                self._piece(self._block(received), fields(received.get("delta")))
            case "content_block_stop":
                self._block(received).ended = True
            case "message_delta":
                self.stop = words(fields(received.get("delta")).get("stop_reason")) or self.stop
                self.usage = later_usage(self.usage or Usage(), fields(received.get("usage")))
            case "message_stop":
                self.done = True
            case _:
                pass
        return True

    def _begin(self, index: int, start: dict[str, object]) -> None:
        if index in self._blocks:
            raise BrokenStream("a block started twice")
        self._blocks[index] = _Block(start)

    def _block(self, received: Mapping[str, object]) -> _Block:
        block = self._blocks.get(count(received.get("index")))
        if block is None or block.ended:
            raise BrokenStream("a part of a block that is not open")
        return block

    def _piece(self, block: _Block, delta: Mapping[str, object]) -> None:
        kind = words(delta.get("type"))
        if kind == "signature_delta":
            block.signature += words(delta.get("signature"))
        elif kind in DELTAS and block.size <= LARGEST_INPUT:
            piece = words(delta.get(DELTAS[kind]))
            block.pieces.append(piece)
            block.size += len(piece)
            if self.on_text and kind == "text_delta":
                self.on_text(piece)

    def draft(self) -> PartialReply:
        blocks = [block for _, block in sorted(self._blocks.items())]
        if not self.done or not self.stop or not all(block.ended for block in blocks):
            raise BrokenStream("it ended too early")
        if self.stop == "refusal":
            raise RequestError("the model refused to answer", "refused")
        if self.stop not in STOPS:
            raise BrokenStream(f"it finished for an unknown reason, {self.stop!r}")
        text = "".join(block.content for block in blocks if block.kind == "text")
        calls = [_partial_call(block) for block in blocks if block.kind == "tool_use"]
        stop = STOPS[self.stop]
        if stop != "length":
            stop = "calls" if calls else "done"
        plain = all(block.kind in ("text", "tool_use") for block in blocks)
        return PartialReply(
            text, calls, self.usage or Usage(), stop, None if plain else [block.raw() for block in blocks]
        )


def _partial_call(block: _Block) -> PartialCall:
    given = block.start.get("input")
    arguments = "".join(block.pieces) or (encode(given).decode() if given else "")
    return PartialCall(words(block.start.get("id")), words(block.start.get("name")), arguments)


def usage_of(usage: Mapping[str, object]) -> Usage:
    read, write = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Usage(
        input=count(usage.get("input_tokens")) + read + write,
        output=count(usage.get("output_tokens")),
        cache_read=read,
        cache_write=write,
    )


def later_usage(before: Usage, usage: Mapping[str, object]) -> Usage:
    """Return the updated usage. A later event has totals, not increments, and may leave out those of the prompt."""
    if "input_tokens" in usage:
        return usage_of(usage).changed(output=count(usage.get("output_tokens")) or before.output)
    return before.changed(output=count(usage.get("output_tokens")) or before.output)
