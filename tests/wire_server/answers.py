"""One reply of a model in the events of each provider. Pure: bytes out, no sockets.

The shapes are those that the official libraries read; a test drives each of them against this server.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Wire = Literal["openai-chat", "openai-responses", "anthropic", "google"]
PATHS: dict[Wire, str] = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    "anthropic": "/messages",
    "google": ":streamGenerateContent",
}


@dataclass(frozen=True)
class SaidCall:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    text: str = ""
    calls: tuple[SaidCall, ...] = ()
    thinking: str = ""
    """The model's reasoning; its signature or encrypted form is derived from it."""
    input: int = 100
    output: int = 10
    cache_read: int = 0
    cache_write: int = 0
    stop: str = ""
    """The provider's own finish reason; empty for the usual one."""
    number: int = 1
    """Part of its id, for programs that distinguish replies by it; the server counts."""


def wire_of(path: str) -> Wire | None:
    plain = path.partition("?")[0].replace(":generateContent", ":streamGenerateContent")
    return next((wire for wire, end in PATHS.items() if plain.endswith(end)), None)


def frames(wire: Wire, answer: Answer) -> list[bytes]:
    """The events of a reply, each as its bytes; the last one is the end marker."""
    match wire:
        case "openai-chat":
            return [*(_data(chunk) for chunk in _chat(answer)), b"data: [DONE]\n\n"]
        case "openai-responses":
            return [_typed({"sequence_number": n, **event}) for n, event in enumerate(_responses(answer))]
        case "anthropic":
            return [_typed(event) for event in _anthropic(answer)]
        case "google":
            return [_data(chunk, "\r\n") for chunk in _google(answer)]


def _data(value: Any, newline: str = "\n") -> bytes:
    return f"data: {json.dumps(value)}{newline}{newline}".encode()


def _typed(event: dict[str, Any]) -> bytes:
    return f"event: {event['type']}\n".encode() + _data(event)


def pieces(text: str) -> Iterator[str]:
    """A streamed text: in up to three parts."""
    size = max(1, -(-len(text) // 3))
    yield from (text[start : start + size] for start in range(0, len(text), size))


# -- OpenAI, chat completions --


def _chat(answer: Answer) -> Iterator[dict[str, Any]]:
    yield _chat_chunk({"role": "assistant", "content": "" if answer.text else None})
    yield from (_chat_chunk({"content": piece}) for piece in pieces(answer.text))
    for index, call in enumerate(answer.calls):
        start = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield _chat_chunk({"tool_calls": [start]})
        for piece in pieces(call.arguments):
            yield _chat_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield _chat_chunk({}, answer.stop or ("tool_calls" if answer.calls else "stop"))
    yield {**_chat_base(), "choices": [], "usage": _chat_usage(answer)}


def _chat_base() -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1763251200, "model": "scripted"}


def _chat_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**_chat_base(), "choices": [choice], "usage": None}


def _chat_usage(answer: Answer) -> dict[str, Any]:
    return {
        "prompt_tokens": answer.input,
        "completion_tokens": answer.output,
        "total_tokens": answer.input + answer.output,
        "prompt_tokens_details": {"cached_tokens": answer.cache_read, "cache_write_tokens": answer.cache_write},
    }


# -- OpenAI, responses --


def _responses(answer: Answer) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": _response(answer, "in_progress", [])}
    yield {"type": "response.in_progress", "response": _response(answer, "in_progress", [])}
    items: list[dict[str, Any]] = []
    if answer.thinking:
        items.append({"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": f"enc {answer.thinking}"})
        yield from _whole_item(0, items[0])
    if answer.text:
        items.append(_message_item(answer.text))
        yield from _text_item(len(items) - 1, answer.text)
    for call in answer.calls:
        items.append(_call_item(call))
        yield from _call_events(len(items) - 1, call)
    status = "incomplete" if answer.stop else "completed"
    yield {"type": f"response.{status}", "response": _response(answer, status, items)}


def _response(answer: Answer, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": answer.input,
        "input_tokens_details": {"cached_tokens": answer.cache_read, "cache_write_tokens": answer.cache_write},
        "output_tokens": answer.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input + answer.output,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1763251200,
        "status": status,
        "model": "scripted",
        "output": output,
        "incomplete_details": {"reason": answer.stop} if status == "incomplete" else None,
        "error": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None if status == "in_progress" else usage,
    }


def _whole_item(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _message_item(text: str) -> dict[str, Any]:
    content: list[Any] = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}


def _text_item(index: int, text: str) -> Iterator[dict[str, Any]]:
    place = {"output_index": index, "content_index": 0, "item_id": "msg_1"}
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    begun: dict[str, Any] = {**_message_item(text), "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    yield {"type": "response.content_part.added", **place, "part": part}
    for piece in pieces(text):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": {**part, "text": text}}
    yield {"type": "response.output_item.done", "output_index": index, "item": _message_item(text)}


def _call_item(call: SaidCall) -> dict[str, Any]:
    return {
        "id": f"fc_{call.id}",
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }


def _call_events(index: int, call: SaidCall) -> Iterator[dict[str, Any]]:
    place = {"output_index": index, "item_id": f"fc_{call.id}"}
    begun = {**_call_item(call), "status": "in_progress", "arguments": ""}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    for piece in pieces(call.arguments):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    done = {"type": "response.function_call_arguments.done", **place, "name": call.name, "arguments": call.arguments}
    yield done
    yield {"type": "response.output_item.done", "output_index": index, "item": _call_item(call)}


# -- Anthropic --


def _anthropic(answer: Answer) -> Iterator[dict[str, Any]]:
    usage = {
        "input_tokens": answer.input - answer.cache_read - answer.cache_write,
        "cache_creation_input_tokens": answer.cache_write,
        "cache_read_input_tokens": answer.cache_read,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    yield {"type": "ping"}
    for index, (block, deltas) in enumerate(_blocks(answer)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    stop = answer.stop or ("tool_use" if answer.calls else "end_turn")
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": answer.output}}
    yield {"type": "message_stop"}


def _blocks(answer: Answer) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if answer.thinking:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(answer.thinking)]
        signature = {"type": "signature_delta", "signature": f"sig {answer.thinking}"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if answer.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(answer.text)]
    for call in answer.calls:
        block: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(call.arguments)]


# -- Google --


def _google(answer: Answer) -> Iterator[dict[str, Any]]:
    for piece in pieces(answer.text):
        yield _google_chunk([{"text": piece}])
    for place, call in enumerate(answer.calls):
        try:
            arguments: Any = json.loads(call.arguments)
        except (ValueError, RecursionError):
            arguments = call.arguments
        part: dict[str, Any] = {"functionCall": {"name": call.name, "args": arguments}}
        if call.id:
            part["functionCall"]["id"] = call.id
        if answer.thinking and not place:
            part["thoughtSignature"] = base64.b64encode(f"sig {answer.thinking}".encode()).decode()
        yield _google_chunk([part])
    usage = {
        "promptTokenCount": answer.input,
        "candidatesTokenCount": answer.output,
        "cachedContentTokenCount": answer.cache_read,
        "totalTokenCount": answer.input + answer.output,
    }
    yield {**_google_chunk([{"text": ""}], answer.stop or "STOP"), "usageMetadata": usage}


def _google_chunk(parts: list[dict[str, Any]], finish: str = "") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "scripted", "responseId": "r1"}
