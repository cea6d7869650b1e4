"""The scripted server speaks the true wires: each provider's own library understands it, including faults.

Tests against the scripted server are useful only if the providers' libraries read it in the same way. Each test imports
its library: all of them take seconds, and every worker imports this file.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from talking import KEY, TWO_CALLS

from wire_server import Answer, Refuses, Says, WireServer, serving

if TYPE_CHECKING:
    import openai
    from google import genai
    from google.genai import types

ANSWER = Answer(text="I look.", calls=TWO_CALLS, thinking="hm", input=100, output=10, cache_read=40)
CALLS = [(call.id, call.name, json.loads(call.arguments)) for call in TWO_CALLS]
OVERLOADED = Refuses(503, b'{"error": {"message": "busy", "code": 503, "status": "UNAVAILABLE"}}')


def openai_client(server: WireServer) -> "openai.OpenAI":
    import openai

    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=KEY, max_retries=0)


def test_the_openai_library_reads_the_chat_completions_of_the_test_server() -> None:
    import openai

    with serving(Says(ANSWER), OVERLOADED) as server, openai_client(server) as client:
        with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "hi"}]) as stream:
            completion = stream.get_final_completion()
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
    message = completion.choices[0].message
    assert message.content == "I look."
    assert completion.choices[0].finish_reason == "tool_calls"
    assert completion.usage is not None
    assert completion.usage.prompt_tokens_details is not None
    assert completion.usage.prompt_tokens_details.cached_tokens == 40
    calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    assert calls == CALLS


def test_the_openai_library_reads_the_responses_of_the_test_server() -> None:
    import openai

    with serving(Says(ANSWER), OVERLOADED) as server, openai_client(server) as client:
        with client.responses.stream(model="m", input="hi") as stream:
            response = stream.get_final_response()
        with pytest.raises(openai.InternalServerError):
            client.responses.create(model="m", input="hi")
    assert (response.status, response.output_text) == ("completed", "I look.")
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    calls = [
        (item.call_id, item.name, json.loads(item.arguments))
        for item in response.output
        if item.type == "function_call"
    ]
    assert calls == CALLS
    assert response.usage is not None
    assert response.usage.input_tokens_details.cached_tokens == 40


def test_the_anthropic_library_reads_the_messages_of_the_test_server() -> None:
    import anthropic

    with serving(Says(ANSWER), OVERLOADED) as server:
        with anthropic.Anthropic(base_url=server.url, api_key=KEY, max_retries=0) as client:
            with client.messages.stream(
                model="m", max_tokens=100, messages=[{"role": "user", "content": "hi"}]
            ) as stream:
                message = stream.get_final_message()
            with pytest.raises(anthropic.InternalServerError):
                client.messages.create(model="m", max_tokens=100, messages=[{"role": "user", "content": "hi"}])
    assert message.stop_reason == "tool_use"
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "tool_use"]
    calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
    assert calls == CALLS
    signatures = [block.signature for block in message.content if block.type == "thinking"]
    assert signatures == ["sig hm"]
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (60, 40)
    assert message.usage.output_tokens == 10


def asked(client: "genai.Client") -> "Iterator[types.GenerateContentResponse]":
    return client.models.generate_content_stream(model="m", contents="hi")  # pyright: ignore[reportUnknownMemberType] - it also takes images, which are untyped


def test_the_google_library_reads_the_contents_of_the_test_server() -> None:
    from google import genai
    from google.genai import errors, types

    with serving(Says(ANSWER), OVERLOADED) as server:
        options = types.HttpOptions(base_url=server.url, retry_options=types.HttpRetryOptions(attempts=1))
        with genai.Client(api_key=KEY, http_options=options) as client:
            chunks = list(asked(client))
            with pytest.raises(errors.ServerError):
                list(asked(client))
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or ()]
    parts = [part for candidate in candidates if candidate.content for part in candidate.content.parts or ()]
    assert "".join(part.text or "" for part in parts) == "I look."
    calls = [(call.id, call.name, call.args) for part in parts if (call := part.function_call)]
    assert calls == CALLS
    assert candidates[-1].finish_reason == types.FinishReason.STOP
    usage = chunks[-1].usage_metadata
    assert usage is not None
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (100, 40)
    assert any(part.thought_signature for part in parts)
