"""Our requests have the shape that the providers' own libraries declare: no unknown field, each message valid.

Each test imports its library: all of them take seconds, and every worker imports this file.
"""

import json
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter
from talking import TWO_CALLS, after, first_turn, talking

from donewhen.model.interface import User
from wire_server import Answer, Says, Wire, serving

pytestmark = pytest.mark.anyio


async def sent(wire: Wire, name: str = "") -> dict[str, Any]:
    """The third request of a conversation with thinking, two calls, one answer that is an error, and another task."""
    acts = Says(Answer(text="I look.", calls=TWO_CALLS, thinking="hm")), Says(Answer(text="Done.")), Says(Answer())
    with serving(*acts) as server:
        async with talking(server, wire, name=name) as model:
            turn = first_turn()
            turn = after(turn, await model.reply(turn))
            turn = after(turn, await model.reply(turn), User("now the other one"))
            await model.reply(turn)
    return json.loads(server.received[2].body)


def validated(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Return a value as the validator reads it. The validator must live as long as its result is read."""
    return whole(adapter.validate_python(value))


def whole(value: Any) -> Any:
    """Return a validator's result with all its lazily validated parts."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - any JSON
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [whole(item) for item in value]
    return value


@pytest.mark.parametrize("name", ["openai-chat:gpt-4.1", "openai-chat:gpt-5"])
async def test_chat_completion_requests_match_the_openai_library(name: str) -> None:
    from openai.types.chat import ChatCompletionMessageParam, completion_create_params

    body = await sent("openai-chat", name)
    assert body.keys() <= get_type_hints(completion_create_params.CompletionCreateParamsStreaming).keys()
    messages = validated(TypeAdapter(list[ChatCompletionMessageParam]), body["messages"])
    assert [message["role"] for message in messages] == [
        *("system", "user", "assistant", "tool", "tool", "assistant", "user")
    ]


@pytest.mark.parametrize("name", ["openai-responses:gpt-4.1", "openai-responses:gpt-5"])
async def test_responses_requests_match_the_openai_library(name: str) -> None:
    from openai.types.responses import ResponseInputItemParam, response_create_params

    body = await sent("openai-responses", name)
    assert body.keys() <= get_type_hints(response_create_params.ResponseCreateParamsStreaming).keys()
    items = validated(TypeAdapter(list[ResponseInputItemParam]), body["input"])
    assert len(items) == 9


async def test_messages_requests_match_the_anthropic_library() -> None:
    from anthropic.types import MessageParam, message_create_params

    body = await sent("anthropic", "anthropic:claude-sonnet-5-5")
    assert body.keys() <= get_type_hints(message_create_params.MessageCreateParamsStreaming).keys()
    messages = validated(TypeAdapter(list[MessageParam]), body["messages"])
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]


async def test_contents_requests_match_the_google_library() -> None:
    from google.genai import types

    body = await sent("google")
    assert body.keys() == {"generationConfig", "systemInstruction", "tools", "contents"}
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    assert [content.role for content in contents] == ["user", "model", "user", "model", "user"]
    types.GenerationConfig.model_validate(body["generationConfig"])
    types.Content.model_validate(body["systemInstruction"])
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
