"""The same conversation over every wire: the same replies, the same leading bytes, everything sent back."""

import base64
import json
import re
from itertools import pairwise
from typing import Any

import pytest
from talking import ENVIRONMENT, KEY, TWO_CALLS, WIRES, World, after, first_turn, talking

from donewhen.model.interface import Call, ModelFailed, Reply, Usage, User, close_model
from donewhen.model.open_model import ModelConfig, open_model
from donewhen.model.wires.anthropic import Anthropic
from donewhen.model.wires.google import Google
from donewhen.model.wires.openai_chat import OpenAIChat
from donewhen.model.wires.openai_responses import OpenAIResponses
from donewhen.model.wires.wire import Opening
from wire_server import Answer, Refuses, SaidCall, Says, Sends, Wire, serving

pytestmark = pytest.mark.anyio

every_wire = pytest.mark.parametrize("wire", WIRES)
MESSAGES = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages", "google": "contents"}


@every_wire
async def test_the_same_conversation_gives_the_same_replies_on_every_wire(wire: Wire) -> None:
    heard: list[str] = []
    acts = Says(Answer(text="I look.", calls=TWO_CALLS, cache_read=40)), Says(Answer(text="Done."))
    with serving(*acts) as server:
        async with talking(server, wire) as model:
            turn = first_turn()
            first = await model.reply(turn, heard.append)
            second = await model.reply(after(turn, first), heard.append)
    assert (first.text, first.stop, first.usage) == ("I look.", "calls", Usage(100, 10, 40, 0))
    assert first.calls == (
        Call("c1", "read_file", {"path": "a.py"}),
        Call("c2", "shell", {"command": "echo ü 😀"}),
    )
    assert (second.text, second.calls, second.stop, second.raw) == ("Done.", (), "done", None)
    assert first.model == f"{wire}:scripted"
    assert "".join(heard) == "I look.Done."


@every_wire
async def test_each_request_starts_with_the_previous_one(wire: Wire) -> None:
    acts = [Says(Answer(text=f"step {n}", calls=TWO_CALLS, thinking="hm")) for n in range(4)]
    with serving(*acts) as server:
        async with talking(server, wire) as model:
            turn = first_turn()
            for _ in acts:
                turn = after(turn, await model.reply(turn))
    bodies = [unmarked(received.body) for received in server.received]
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}"))
        assert len(json.loads(later)[MESSAGES[wire]]) > len(json.loads(earlier)[MESSAGES[wire]])


def unmarked(body: bytes) -> bytes:
    """A body without the cache marks on its messages, which move; those before the messages stay."""
    head, messages, rest = body.partition(b'"messages":[')
    return head + messages + rest.replace(b',"cache_control":{"type":"ephemeral"}', b"")


@every_wire
async def test_all_turns_use_one_connection(wire: Wire) -> None:
    with serving(Says(Answer(text="hello")), again=True) as server:
        async with talking(server, wire) as model:
            for _ in range(3):
                await model.reply(first_turn())
    assert len({received.connection for received in server.received}) == 1


@every_wire
async def test_a_message_is_encoded_once(wire: Wire) -> None:
    """A conversation that restarts, or changes at its end, is sent as it is now."""
    with serving(Says(Answer(text="hello")), again=True) as server:
        async with talking(server, wire) as model:
            for text in ("one", "two", "one"):
                await model.reply(first_turn(text))
    bodies = [received.body for received in server.received]
    assert bodies[0] == bodies[2]
    assert b"two" in bodies[1]
    assert b"one" not in bodies[1]


# -- provider data to send back --


async def second_request(wire: Wire, answer: Answer, model_name: str = "") -> tuple[Reply, dict[str, Any]]:
    """The reply, and the request after it; in between the reply was stored as JSON and loaded again."""
    with serving(Says(answer), Says(Answer(text="Done."))) as server:
        async with talking(server, wire, name=model_name) as model:
            turn = first_turn()
            reply = await model.reply(turn)
            await model.reply(after(turn, Reply.load(json.loads(json.dumps(reply.plain())))))
    return reply, json.loads(server.received[1].body)


async def test_anthropic_receives_its_signed_thinking_again() -> None:
    _, body = await second_request("anthropic", Answer(text="I look.", calls=TWO_CALLS, thinking="hm"))
    assert body["messages"][1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig hm"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.py"}},
            {"type": "tool_use", "id": "c2", "name": "shell", "input": {"command": "echo ü 😀"}},
        ],
    }
    assert [block["tool_use_id"] for block in body["messages"][2]["content"]] == ["c1", "c2"]


async def test_openai_responses_receive_their_encrypted_reasoning_again_and_store_nothing() -> None:
    answer = Answer(calls=TWO_CALLS, thinking="hm")
    _, body = await second_request("openai-responses", answer, "openai-responses:gpt-5")
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert "temperature" not in body
    kinds = [item.get("type", item.get("role")) for item in body["input"]]
    assert kinds == ["user", "reasoning", "function_call", "function_call", *["function_call_output"] * 2]
    assert body["input"][1] == {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "enc hm"}


async def test_google_receives_its_signature_on_the_same_part() -> None:
    _, body = await second_request("google", Answer(text="I look.", calls=TWO_CALLS, thinking="hm"))
    text, first, second = body["contents"][1]["parts"]
    assert text == {"text": "I look."}
    assert base64.b64decode(first["thoughtSignature"]) == b"sig hm"
    assert "thoughtSignature" not in second
    answers = [part["functionResponse"] for part in body["contents"][2]["parts"]]
    assert [(answer["id"], answer["name"]) for answer in answers] == [("c1", "read_file"), ("c2", "shell")]


@every_wire
async def test_the_provider_form_of_another_wire_is_not_sent(wire: Wire) -> None:
    foreign = {"wire": "elsewhere", "model": "scripted", "items": [{"type": "secret"}]}
    with serving(Says(Answer(text="Done."))) as server:
        async with talking(server, wire) as model:
            turn = first_turn()
            reply = Reply(text="I look.", calls=(Call("c1", "shell", {}),), raw=foreign)
            await model.reply(after(turn, reply))
    assert b"secret" not in server.received[0].body
    assert b"I look." in server.received[0].body


@every_wire
async def test_odd_ids_names_and_texts_of_a_model_do_not_break_the_next_request(wire: Wire) -> None:
    odd = Reply(calls=(Call("i1/t2:ü" * 20, "rm -rf /", {}, problem="not JSON"), Call("c2", "", {})))
    with serving(Says(Answer(text="Done."))) as server:
        async with talking(server, wire) as model:
            turn = after(first_turn(""), odd, User("half \ud800 a character"))
            await model.reply(after(turn, Reply(text=""), User("")))
    body = json.loads(server.received[0].body)
    text = json.dumps(body)
    assert '"rm -rf /"' not in text
    ids = re.findall(r'"(i1_t2[^"]*)"', text)
    assert len(ids) == 2
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", ids[0])
    assert ids[0] == ids[1], "the call and its answer have the same id"
    assert all(message.get("content", "x") != [] for message in body[MESSAGES[wire]])


@every_wire
async def test_repeated_call_ids_are_left_for_the_engine_to_assign(wire: Wire) -> None:
    again = Says(Answer(calls=(SaidCall("c1", "shell", "{}"),)))
    with serving(again, again) as server:
        async with talking(server, wire) as model:
            turn = first_turn()
            first = await model.reply(turn)
            second = await model.reply(after(turn, first))
    assert [first.calls[0].id, second.calls[0].id] == ["c1", ""]


# -- caches and optional fields --


async def test_anthropic_gets_at_most_four_cache_marks() -> None:
    acts = [Says(Answer(text=f"step {n}", calls=TWO_CALLS)) for n in range(5)]
    with serving(*acts) as server:
        async with talking(server, "anthropic") as model:
            turn = first_turn()
            for _ in acts:
                turn = after(turn, await model.reply(turn))
    body = json.loads(server.received[-1].body)
    assert server.received[-1].body.count(b"cache_control") == 4
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body["system"][-1]
    marked = [place for place, message in enumerate(body["messages"]) if "cache_control" in message["content"][-1]]
    assert marked == [len(body["messages"]) - 3, len(body["messages"]) - 1]


def test_openai_gets_a_cache_key_for_related_requests() -> None:
    opening = Opening("maker", "You repair code.", (), 4096)
    chat, responses = OpenAIChat("gpt-4.1", is_official=True), OpenAIResponses("gpt-4.1")
    keys = {json.loads(wire.opening(opening) + b"{}]}")["prompt_cache_key"] for wire in (chat, responses)}
    assert keys == {opening.cache_key}
    assert opening.cache_key != Opening("checker", "You repair code.", (), 4096).cache_key


@every_wire
async def test_temperature_is_zero_until_a_server_refuses_it(wire: Wire) -> None:
    refusal = b'{"error": {"message": "Unsupported value: \'temperature\' does not support 0 with this model."}}'
    world = World()
    with serving(Refuses(400, refusal), Says(Answer(text="a")), Says(Answer(text="b"))) as server:
        async with talking(server, wire, world) as model:
            assert (await model.reply(first_turn())).text == "a"
            assert (await model.reply(first_turn())).text == "b"
    assert [b'"temperature":0' in received.body for received in server.received] == [True, False, False]
    assert world.pauses == []


async def test_a_server_with_another_name_for_the_token_limit_gets_that_name() -> None:
    refusal = b'{"error": {"message": "\'max_tokens\' is not supported. Use \'max_completion_tokens\' instead."}}'
    with serving(Refuses(400, refusal), Says(Answer(text="a"))) as server:
        async with talking(server, "openai-chat") as model:
            await model.reply(first_turn())
    first, second = (json.loads(received.body) for received in server.received)
    assert (first["max_tokens"], second["max_completion_tokens"]) == (4096, 4096)
    assert "max_tokens" not in second


async def test_a_field_that_is_refused_although_it_was_left_out_is_a_failure() -> None:
    refusal = Refuses(400, b'{"error": {"message": "temperature is bad"}}')
    with serving(refusal, again=True) as server:
        async with talking(server, "anthropic") as model:
            with pytest.raises(ModelFailed) as failed:
                await model.reply(first_turn())
    assert (failed.value.kind, failed.value.final) == ("bad_request", True)
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "model", ["o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5.2-pro", "gpt-6.1-sol", "gpt-5-codex", "openai/gpt-5"]
)
def test_reasoning_models_get_no_temperature(model: str) -> None:
    assert b"temperature" not in OpenAIChat(model).opening(Opening("maker", "", (), 1))


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4.1", "gpt-5-chat-latest", "llama3", "qwen3-coder", "gpt-oss:20b"])
def test_other_models_get_a_temperature_of_zero(model: str) -> None:
    assert b'"temperature":0' in OpenAIChat(model).opening(Opening("maker", "", (), 1))


@pytest.mark.parametrize("wire", [OpenAIChat("gpt-4.1"), OpenAIResponses("gpt-4.1"), Anthropic("m"), Google("g")])
def test_a_configured_temperature_is_sent(wire: OpenAIChat | OpenAIResponses | Anthropic | Google) -> None:
    assert b'"temperature":0.2' in wire.opening(Opening("planner", "", (), 1, temperature=0.2))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("claude-sonnet-4-5-20250929", True),
        ("claude-opus-4-6", True),
        ("claude-3-7-sonnet-latest", True),
        ("claude-opus-4-8", False),
        ("claude-opus-5", False),
        ("claude-sonnet-5-5", False),
        ("claude-haiku-5-5", False),
    ],
)
def test_newer_models_of_anthropic_get_no_temperature(model: str, told: bool) -> None:
    assert (b'"temperature":0' in Anthropic(model).opening(Opening("maker", "", (), 1))) is told


def test_a_turn_without_system_or_tools_has_no_empty_blocks() -> None:
    body = json.loads(Anthropic("m").opening(Opening("maker", "", (), 1)) + b"]}")
    assert body.keys() == {"model", "stream", "max_tokens", "temperature", "messages"}


# -- which wire, which key --


async def test_an_openai_compatible_server_is_called_over_the_wire_that_it_supports() -> None:
    """`openai:` is the newer wire at OpenAI itself; elsewhere it is the older one, or the one that exists."""
    with serving(Says(Answer(text="chat")), Refuses(404, b"not found"), Says(Answer(text="responses"))) as server:
        async with talking(server, "openai-chat", name="openai:local") as model:
            assert (await model.reply(first_turn())).text == "chat"
        async with talking(server, "openai-chat", name="openai:local") as model:
            assert (await model.reply(first_turn())).text == "responses"
    paths = ["/v1/chat/completions", "/v1/chat/completions", "/v1/responses"]
    assert [received.path for received in server.received] == paths


async def test_a_missing_model_is_not_tried_on_another_wire() -> None:
    missing = Refuses(404, b'{"error": {"message": "model \'local\' not found"}}')
    with serving(missing) as server:
        async with talking(server, "openai-chat", name="openai:local") as model:
            with pytest.raises(ModelFailed, match="model 'local' not found") as failed:
                await model.reply(first_turn())
    assert (failed.value.kind, failed.value.final) == ("not_found", True)


@every_wire
async def test_the_key_is_sent_in_the_providers_header_and_shown_nowhere(wire: Wire) -> None:
    echo = Refuses(400, f'{{"error": {{"message": "bad key {KEY}"}}}}'.encode())
    with serving(echo) as server:
        async with talking(server, wire) as model:
            with pytest.raises(ModelFailed) as failed:
                await model.reply(first_turn())
            assert KEY not in repr(model)
    assert KEY not in str(failed.value)
    header = {"anthropic": "x-api-key", "google": "x-goog-api-key"}.get(wire, "authorization")
    assert server.received[0].headers[header].endswith(KEY)


async def test_ollama_is_found_through_its_own_variable_and_needs_no_key() -> None:
    with serving(Says(Answer(text="local"))) as server:
        environment = {"OLLAMA_HOST": server.url.removeprefix("http://")}
        model = open_model("ollama:llama3", ModelConfig(), environment)
        reply = await model.reply(first_turn())
        await close_model(model)
    assert (reply.text, reply.cost_usd, reply.model) == ("local", None, "ollama:llama3")
    assert server.received[0].path == "/v1/chat/completions"
    assert "authorization" not in server.received[0].headers


async def test_a_known_model_has_a_cost_and_an_unknown_one_none() -> None:
    with serving(Says(Answer(text="a", input=1000, output=100)), again=True) as server:
        async with talking(server, "openai-chat", name="openai-chat:gpt-4.1") as model:
            known = await model.reply(first_turn())
        async with talking(server, "openai-chat") as model:
            unknown = await model.reply(first_turn())
    assert known.cost_usd is not None
    assert 0 < known.cost_usd < 1
    assert unknown.cost_usd is None


# -- nearly compatible servers --


async def test_calls_without_distinct_indexes_are_kept_apart() -> None:
    def chunk(*calls: dict[str, Any]) -> bytes:
        return b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": list(calls)}}]}).encode() + b"\n\n"

    one = {"id": "c1", "function": {"name": "a", "arguments": '{"x": 1}'}}
    two = {"id": "c2", "function": {"name": "b", "arguments": '{"x": 2}'}}
    end = b'data: {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}\n\ndata: [DONE]\n\n'
    bodies = [chunk(one) + chunk(two) + end, chunk({**one, "index": 0}) + chunk({**two, "index": 0}) + end]
    with serving(*map(Sends, bodies)) as server:
        async with talking(server, "openai-chat") as model:
            for _ in bodies:
                reply = await model.reply(first_turn())
                assert [(call.id, call.name, call.input) for call in reply.calls] == [
                    ("c1", "a", {"x": 1}),
                    ("c2", "b", {"x": 2}),
                ]


async def test_interleaved_chunks_of_two_calls_are_assembled() -> None:
    def chunk(index: int, **call: Any) -> bytes:
        delta = {"tool_calls": [{"index": index, **call}]}
        return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"

    body = b"".join(
        [
            chunk(0, id="c1", function={"name": "a", "arguments": '{"x"'}),
            chunk(1, id="c2", function={"name": "b", "arguments": '{"y"'}),
            chunk(0, function={"arguments": ": 1}"}),
            chunk(1, function={"arguments": ": 2}"}),
            b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
        ]
    )
    with serving(Sends(body)) as server:
        async with talking(server, "openai-chat") as model:
            reply = await model.reply(first_turn())
    assert [call.input for call in reply.calls] == [{"x": 1}, {"y": 2}]
    assert reply.stop == "calls"


def test_the_environment_of_these_tests_has_a_key_for_every_wire() -> None:
    for wire in WIRES:
        assert open_model(f"{wire}:m", ModelConfig(), ENVIRONMENT).name == f"{wire}:m"
