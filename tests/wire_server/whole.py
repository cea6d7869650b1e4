"""One reply of a model in one piece, for programs that do not ask for a stream; and other lookups. Pure.

The server decides which request is answered so, and which act it uses.
"""

import json
from typing import Any, cast

from .answers import Answer, Wire

MODEL = "scripted"
CREATED = 1763251200


def whole(wire: Wire, answer: Answer) -> bytes:
    """The body of a reply that is not streamed."""
    match wire:
        case "openai-chat":
            value = _chat(answer)
        case "openai-responses":
            value = _response(answer)
        case "anthropic":
            value = _message(answer)
        case "google":
            value = _candidate(answer)
    return json.dumps(value).encode()


def aside(path: str) -> bytes | None:
    """The answer to a request that is not a turn: the list of models, the number of tokens of a text."""
    plain = path.partition("?")[0]
    if plain.endswith(":countTokens"):
        return b'{"totalTokens": 10}'
    if plain.endswith("/count_tokens"):
        return b'{"input_tokens": 10}'
    if plain.endswith("/models"):
        model = {"id": MODEL, "object": "model", "created": CREATED, "owned_by": "tests", "type": "model"}
        return json.dumps({"object": "list", "data": [model], "models": [], "has_more": False}).encode()
    return None


def streams(path: str, body: bytes) -> bool:
    """True if the request asks for a stream of events."""
    return ":streamGenerateContent" in path or _asked(body).get("stream") is True


def offers_tools(body: bytes) -> bool:
    return bool(_asked(body).get("tools"))


def _asked(body: bytes) -> dict[str, Any]:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _chat(answer: Answer) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.calls
    ]
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    message |= {"tool_calls": calls} if calls else {}
    finish = answer.stop or ("tool_calls" if calls else "stop")
    usage = {"prompt_tokens": answer.input, "completion_tokens": answer.output}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": CREATED,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {**usage, "total_tokens": answer.input + answer.output},
    }


def _response(answer: Answer) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": []}
    said: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [text],
    }
    calls = [
        {"id": f"fc_{call.id}", "type": "function_call", "call_id": call.id, "name": call.name}
        | {"status": "completed", "arguments": call.arguments}
        for call in answer.calls
    ]
    usage = {"input_tokens": answer.input, "output_tokens": answer.output}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "model": MODEL,
        "output": [*([said] if answer.text else []), *calls],
        "usage": {**usage, "total_tokens": answer.input + answer.output},
    }


def _message(answer: Answer) -> dict[str, Any]:
    text = [{"type": "text", "text": answer.text}] if answer.text else []
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}
        for call in answer.calls
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [*text, *calls],
        "stop_reason": answer.stop or ("tool_use" if calls else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": answer.input, "output_tokens": answer.output},
    }


def _candidate(answer: Answer) -> dict[str, Any]:
    text = [{"text": answer.text}] if answer.text else []
    calls = [{"functionCall": {"name": call.name, "args": json.loads(call.arguments)}} for call in answer.calls]
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [*text, *calls]}, "index": 0}
    usage = {"promptTokenCount": answer.input, "candidatesTokenCount": answer.output}
    return {
        "candidates": [{**candidate, "finishReason": answer.stop or "STOP"}],
        "modelVersion": MODEL,
        "usageMetadata": {**usage, "totalTokenCount": answer.input + answer.output},
    }
