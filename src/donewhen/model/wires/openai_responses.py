"""Wire of OpenAI's responses API, the newer one: OpenAI stores nothing; encrypted reasoning is sent back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donewhen.model.interface import Answers, Assistant, Message, OnText, Usage, User
from donewhen.model.partial_reply import PartialCall, PartialReply, Stop
from donewhen.model.request_error import RequestError, classify_stream_error
from donewhen.model.sse import BrokenStream, ServerEvent
from donewhen.model.wires.openai_models import is_reasoning_model
from donewhen.model.wires.wire import (
    NO_TEXT,
    Opening,
    arguments_of,
    encode,
    encode_items,
    event_object,
    open_body,
    original_items,
    wire_id,
    wire_name,
)
from donewhen.readers.json import count, fields, items, words
from donewhen.records import frozen

TAG = "openai-responses"
ENDS = ("response.completed", "response.incomplete")
KEEP_ALIVES = ("keepalive", "ping")


@frozen
class OpenAIResponses:
    model: str
    tag: str = TAG
    optional: tuple[str, ...] = ("temperature", "include", "prompt_cache_key", "max_output_tokens")

    @property
    def path(self) -> str:
        return "/responses"

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def opening(self, opening: Opening) -> bytes:
        body: dict[str, Any] = {"model": self.model, "stream": True, "store": False}
        body |= opening.optional(max_output_tokens=opening.max_tokens, prompt_cache_key=opening.cache_key)
        if is_reasoning_model(self.model):
            body |= opening.optional(include=["reasoning.encrypted_content"])
        else:
            body |= opening.optional(temperature=opening.temperature)
        body["instructions"] = opening.system
        if opening.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                    "strict": False,
                }
                for tool in opening.tools
            ]
        return open_body(body, "input")

    def message(self, message: Message) -> bytes:
        match message:
            case User(text):
                return encode({"role": "user", "content": text})
            case Assistant():
                return encode_items(list(_original_parts(message, self.model) or _in_plain_form(message)))
            case Answers(answers):
                return encode_items(
                    [
                        {"type": "function_call_output", "call_id": wire_id(answer.call_id), "output": answer.text}
                        for answer in answers
                    ]
                )

    def marked(self, messages: Sequence[bytes]) -> Sequence[bytes]:
        return messages

    def listener(self, on_text: OnText | None) -> "ResponsesListener":
        return ResponsesListener(on_text)


def _in_plain_form(message: Assistant) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "call_id": wire_id(call.id),
            "name": wire_name(call.name),
            "arguments": arguments_of(call),
        }
        for call in message.calls
    ]
    if not message.text and calls:
        return calls
    return [{"role": "assistant", "content": message.text or NO_TEXT}, *calls]


def _original_parts(message: Assistant, model: str) -> list[dict[str, Any]]:
    """Return the original items in order, with the ids and inputs of our calls."""
    calls = iter(message.calls)
    original: list[dict[str, Any]] = []
    for item in original_items(message, TAG, model) or ():
        if item.get("type") == "function_call":
            call = next(calls)
            item = {**item, "call_id": wire_id(call.id), "name": wire_name(call.name), "arguments": arguments_of(call)}
        original.append(item)
    return original


@dataclass(slots=True)
class ResponsesListener:
    on_text: OnText | None = None
    done: bool = False
    final: Mapping[str, object] = field(default_factory=dict[str, object])
    _items: dict[int, dict[str, object]] = field(default_factory=dict[int, dict[str, object]], init=False)

    def receive(self, event: ServerEvent) -> bool:
        if event.data.strip() == "[DONE]":
            return False
        received = event_object(event)
        match kind := words(received.get("type")):
            case "error":
                raise classify_stream_error(fields(received.get("error")) or received)
            case "response.failed":
                self.final = fields(received.get("response"))
                raise classify_stream_error(fields(self.final.get("error")))
            case "response.output_text.delta":
                if self.on_text:
                    self.on_text(words(received.get("delta")))
            case "response.output_item.done":
                self._items[count(received.get("output_index"))] = fields(received.get("item"))
            case _ if kind in ENDS:
                self.final, self.done = fields(received.get("response")), True
            case _:
                pass
        return kind not in KEEP_ALIVES

    @property
    def usage(self) -> Usage:
        return usage_of(fields(self.final.get("usage")))

    def draft(self) -> PartialReply:
        if not self.done:
            raise BrokenStream("it ended too early")
        found = [fields(item) for item in items(self.final.get("output"))]
        found = found or [item for _, item in sorted(self._items.items())]
        calls = [
            PartialCall(words(item.get("call_id")), words(item.get("name")), words(item.get("arguments")))
            for item in found
            if item.get("type") == "function_call"
        ]
        text = "".join(_texts(found))
        return PartialReply(text, calls, self.usage, self._stop(bool(calls)), _raw(found))

    def _stop(self, calls: bool) -> Stop:
        if self.final.get("status") == "completed":
            return "calls" if calls else "done"
        reason = words(fields(self.final.get("incomplete_details")).get("reason"))
        if reason == "content_filter":
            raise RequestError("the provider's filter stopped the response", "refused")
        if reason != "max_output_tokens":
            raise BrokenStream(f"it finished for an unknown reason, {reason!r}")
        return "length"


def _texts(found: Sequence[Mapping[str, object]]) -> list[str]:
    parts = [fields(part) for item in found if item.get("type") == "message" for part in items(item.get("content"))]
    return [words(part.get("text")) or words(part.get("refusal")) for part in parts]


def _raw(found: Sequence[Mapping[str, object]]) -> list[dict[str, object]] | None:
    """Return all items if there is reasoning: its items are accepted only together with those they came with."""
    kept = [item for item in found if item.get("type") != "reasoning" or item.get("encrypted_content")]
    if not any(item.get("type") == "reasoning" for item in kept):
        return None
    return [{key: value for key, value in item.items() if value is not None} for item in kept]


def usage_of(usage: Mapping[str, object]) -> Usage:
    details = fields(usage.get("input_tokens_details"))
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cache_read=count(details.get("cached_tokens")),
        cache_write=count(details.get("cache_write_tokens")),
    )
