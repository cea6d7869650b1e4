"""Wire of OpenAI's chat completions API, which Ollama, vLLM, llama.cpp and most other servers also support."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from donewhen.model.interface import Answers, Assistant, Message, OnText, Usage, User
from donewhen.model.partial_reply import LARGEST_INPUT, PartialCall, PartialReply, Stop
from donewhen.model.request_error import RequestError, classify_stream_error
from donewhen.model.sse import BrokenStream, ServerEvent
from donewhen.model.wires.openai_models import is_reasoning_model
from donewhen.model.wires.wire import (
    Opening,
    arguments_of,
    encode,
    encode_items,
    event_object,
    open_body,
    wire_id,
    wire_name,
)
from donewhen.readers.json import count, fields, items, words
from donewhen.records import frozen

TAG = "openai-chat"
STOPS: Mapping[str, Stop] = {"stop": "done", "tool_calls": "calls", "function_call": "calls", "length": "length"}


@frozen
class OpenAIChat:
    model: str
    is_official: bool = False
    """True if the server is OpenAI's own: it has newer names for some fields, which other servers do not know."""
    tag: str = TAG
    optional: tuple[str, ...] = (
        "temperature",
        "max_completion_tokens",
        "max_tokens",
        "prompt_cache_key",
        "stream_options",
    )

    @property
    def path(self) -> str:
        return "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"authorization": f"Bearer {key}"} if key else {}

    def opening(self, opening: Opening) -> bytes:
        body: dict[str, Any] = {"model": self.model, "stream": True}
        body |= opening.optional(stream_options={"include_usage": True}) | self._limit(opening)
        if not is_reasoning_model(self.model):
            body |= opening.optional(temperature=opening.temperature)
        if self.is_official:
            body |= opening.optional(prompt_cache_key=opening.cache_key)
        if opening.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters),
                    },
                }
                for tool in opening.tools
            ]
        return open_body(body, "messages", [{"role": "system", "content": opening.system}])

    def _limit(self, opening: Opening) -> dict[str, Any]:
        """Return the token limit. Each server knows one of two names; the other is used if the first was refused."""
        names = ["max_tokens", "max_completion_tokens"]
        if self.is_official:
            names.reverse()
        used = [name for name in names if name not in opening.refused_fields]
        return {used[0]: opening.max_tokens} if used else {}

    def message(self, message: Message) -> bytes:
        match message:
            case User(text):
                return encode({"role": "user", "content": text})
            case Assistant(text, calls):
                message_body: dict[str, Any] = {"role": "assistant", "content": text}
                if calls:
                    message_body["tool_calls"] = [
                        {
                            "id": wire_id(call.id),
                            "type": "function",
                            "function": {"name": wire_name(call.name), "arguments": arguments_of(call)},
                        }
                        for call in calls
                    ]
                return encode(message_body)
            case Answers(answers):
                return encode_items(
                    [
                        {"role": "tool", "tool_call_id": wire_id(answer.call_id), "content": answer.text}
                        for answer in answers
                    ]
                )

    def marked(self, messages: Sequence[bytes]) -> Sequence[bytes]:
        return messages

    def listener(self, on_text: OnText | None) -> "ChatListener":
        return ChatListener(on_text)


@dataclass(slots=True)
class ChatListener:
    on_text: OnText | None = None
    done: bool = False
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    text: list[str] = field(default_factory=list[str])
    calls: list[PartialCall] = field(default_factory=list[PartialCall])
    _at: dict[int, PartialCall] = field(default_factory=dict[int, PartialCall], init=False)

    def receive(self, event: ServerEvent) -> bool:
        if event.data.strip() == "[DONE]":
            self.done = True
            return True
        chunk = event_object(event)
        if "error" in chunk and not items(chunk.get("choices")):
            raise classify_stream_error(fields(chunk["error"]))
        if usage := fields(chunk.get("usage")):
            self.usage = usage_of(usage)
        for choice in map(fields, items(chunk.get("choices"))[:1]):
            self._delta(fields(choice.get("delta")))
            self.finish = words(choice.get("finish_reason")) or self.finish
        return True

    def _delta(self, delta: Mapping[str, object]) -> None:
        if piece := words(delta.get("content")) or words(delta.get("refusal")):
            self.text.append(piece)
            if self.on_text:
                self.on_text(piece)
        for call in map(fields, items(delta.get("tool_calls"))):
            self._call(call)

    def _call(self, call: Mapping[str, object]) -> None:
        partial = self._partial_call(call)
        function = fields(call.get("function"))
        partial.id = partial.id or words(call.get("id"))
        partial.name = partial.name or words(function.get("name"))
        if len(partial.arguments) <= LARGEST_INPUT:
            partial.arguments += words(function.get("arguments"))

    def _partial_call(self, call: Mapping[str, object]) -> PartialCall:
        """Return the call that a piece belongs to. Some servers send no index, or the same one for every call."""
        id, index = words(call.get("id")), call.get("index")
        place = index if isinstance(index, int) else len(self.calls) - (0 if id else 1)
        known = self._at.get(place)
        if known is None or (id and known.id and id != known.id):
            known = PartialCall()
            self.calls.append(known)
            self._at[place] = known
        return known

    def draft(self) -> PartialReply:
        if not self.done or not self.finish:
            raise BrokenStream("it ended too early")
        if self.finish == "content_filter":
            raise RequestError("the provider's filter stopped the response", "refused")
        if self.finish not in STOPS:
            raise BrokenStream(f"it finished for an unknown reason, {self.finish!r}")
        stop = STOPS[self.finish]
        if stop != "length":
            stop = "calls" if self.calls else "done"
        return PartialReply("".join(self.text), self.calls, self.usage, stop)


def usage_of(usage: Mapping[str, object]) -> Usage:
    details = fields(usage.get("prompt_tokens_details"))
    return Usage(
        input=count(usage.get("prompt_tokens")),
        output=count(usage.get("completion_tokens")),
        cache_read=count(details.get("cached_tokens")),
        cache_write=count(details.get("cache_write_tokens")),
    )
