"""Wire of Google's Gemini API: content parts, and thought signatures that belong to the part they came with."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from donewhen.model.interface import Answers, Assistant, Call, Message, OnText, Usage, User
from donewhen.model.partial_reply import PartialCall, PartialReply, Stop
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
from donewhen.readers.json import count, fields, items, words
from donewhen.records import frozen

TAG = "google"
STOPS: Mapping[str, Stop] = {"STOP": "done", "MAX_TOKENS": "length"}
REFUSALS = ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")


@frozen
class Google:
    model: str
    tag: str = TAG
    optional: tuple[str, ...] = ("temperature",)

    @property
    def path(self) -> str:
        return f"/v1beta/models/{quote(self.model.removeprefix('models/'), safe='')}:streamGenerateContent?alt=sse"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def opening(self, opening: Opening) -> bytes:
        settings = {"maxOutputTokens": opening.max_tokens, **opening.optional(temperature=opening.temperature)}
        body: dict[str, Any] = {"generationConfig": settings}
        if opening.system:
            body["systemInstruction"] = {"parts": [{"text": opening.system}]}
        if opening.tools:
            declared = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": dict(tool.parameters)}
                for tool in opening.tools
            ]
            body["tools"] = [{"functionDeclarations": declared}]
        return open_body(body, "contents")

    def message(self, message: Message) -> bytes:
        match message:
            case User(text):
                return encode({"role": "user", "parts": [{"text": text or NO_TEXT}]})
            case Assistant():
                return encode(
                    {"role": "model", "parts": _original_parts(message, self.model) or _in_plain_form(message)}
                )
            case Answers(answers):
                parts = [
                    {
                        "functionResponse": {
                            "id": wire_id(answer.call_id),
                            "name": wire_name(answer.name),
                            "response": {"output" if answer.ok else "error": answer.text},
                        }
                    }
                    for answer in answers
                ]
                return encode({"role": "user", "parts": parts})

    def marked(self, messages: Sequence[bytes]) -> Sequence[bytes]:
        return messages

    def listener(self, on_text: OnText | None) -> "GoogleListener":
        return GoogleListener(on_text)


def _in_plain_form(message: Assistant) -> list[dict[str, Any]]:
    calls = [{"functionCall": _function_call(call)} for call in message.calls]
    return calls if calls and not message.text else [{"text": message.text or NO_TEXT}, *calls]


def _function_call(call: Call) -> dict[str, Any]:
    return {"id": wire_id(call.id), "name": wire_name(call.name), "args": dict(call.input)}


def _original_parts(message: Assistant, model: str) -> list[dict[str, Any]]:
    """Return the original parts in order, with the ids and inputs of our calls."""
    calls = iter(message.calls)
    found = original_items(message, TAG, model) or ()
    return [{**part, "functionCall": _function_call(next(calls))} if "functionCall" in part else part for part in found]


@dataclass(slots=True)
class GoogleListener:
    """Listener for a wire without a final event: a reply is complete if it has a finish reason when the bytes end."""

    on_text: OnText | None = None
    done: bool = False
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    _parts: list[dict[str, object]] = field(default_factory=list[dict[str, object]], init=False)

    def receive(self, event: ServerEvent) -> bool:
        chunk = event_object(event)
        if "error" in chunk:
            raise classify_stream_error(fields(chunk["error"]))
        if blocked := words(fields(chunk.get("promptFeedback")).get("blockReason")):
            raise RequestError(f"the provider rejected the prompt: {blocked}", "refused", final=True)
        if usage := fields(chunk.get("usageMetadata")):
            self.usage = usage_of(usage)
        for candidate in map(fields, items(chunk.get("candidates"))[:1]):
            for part in map(fields, items(fields(candidate.get("content")).get("parts"))):
                self._part(part)
            self.finish = words(candidate.get("finishReason")) or self.finish
        return True

    def _part(self, part: dict[str, object]) -> None:
        if self.finish:
            raise BrokenStream("it continued after its end")
        if part.get("thought") is True:
            return
        text = words(part.get("text"))
        if part.keys() == {"text"} and not text:
            return
        if self.on_text and text:
            self.on_text(text)
        last = self._parts[-1] if self._parts else {}
        if part.keys() == {"text"} and last.keys() == {"text"}:
            last["text"] = words(last["text"]) + text
        else:
            self._parts.append(dict(part))

    def draft(self) -> PartialReply:
        if not self.finish:
            raise BrokenStream("it ended too early")
        if self.finish in REFUSALS:
            raise RequestError(f"the provider stopped the response: {self.finish}", "refused")
        if self.finish not in STOPS:
            raise BrokenStream(f"it finished for an unknown reason, {self.finish!r}")
        calls = [_partial_call(fields(part["functionCall"])) for part in self._parts if "functionCall" in part]
        text = "".join(words(part.get("text")) for part in self._parts)
        stop = STOPS[self.finish]
        if stop != "length":
            stop = "calls" if calls else "done"
        signed = any("thoughtSignature" in part for part in self._parts)
        return PartialReply(text, calls, self.usage, stop, self._parts if signed else None)


def _partial_call(call: Mapping[str, object]) -> PartialCall:
    arguments = call.get("args", {})
    return PartialCall(words(call.get("id")), words(call.get("name")), json.dumps(arguments, ensure_ascii=False))


def usage_of(usage: Mapping[str, object]) -> Usage:
    return Usage(
        input=count(usage.get("promptTokenCount")) + count(usage.get("toolUsePromptTokenCount")),
        output=count(usage.get("candidatesTokenCount")) + count(usage.get("thoughtsTokenCount")),
        cache_read=count(usage.get("cachedContentTokenCount")),
    )
