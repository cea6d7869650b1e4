"""A server that repeats its key: no part of the key is in what a person reads, for every client."""

import json

import pytest
from talking import World, first_turn

from donewhen.errors import BadInput
from donewhen.model.deadlines import RetryBudget
from donewhen.model.interface import ModelFailed, ModelWaits, close_model
from donewhen.model.open_model import ModelConfig, open_model
from donewhen.model.request_error import LONGEST_MESSAGE, RequestError
from wire_server import Act, Answer, Refuses, Says, Sends, serving

pytestmark = pytest.mark.anyio

LONG_KEY = "sk-" + "".join(f"{number:03}" for number in range(100, 124))
VARIABLES = {
    "openai-chat:m": "OPENAI_API_KEY",
    "openai-responses:m": "OPENAI_API_KEY",
    "anthropic:m": "ANTHROPIC_API_KEY",
    "google:m": "GEMINI_API_KEY",
    "deepseek:m": "DEEPSEEK_API_KEY",
    "vllm:m": "VLLM_API_KEY",
    "together:m": "TOGETHER_API_KEY",
}
"""Our own wires, then providers of the library."""
every_model = pytest.mark.parametrize("name", VARIABLES)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES.values():
        monkeypatch.setenv(variable, LONG_KEY)


async def words(name: str, *acts: Act, user: str = "") -> str:
    with serving(*acts, again=True) as server:
        url = server.url.replace("http://", f"http://{user}@" if user else "http://")
        config = ModelConfig(base_url=url, retry=RetryBudget(per_turn=0))
        model = open_model(name, config, clock=World().outside())
        try:
            assert LONG_KEY not in repr(model)
            with pytest.raises((ModelFailed, ModelWaits)) as failed:
                await model.reply(first_turn())
        finally:
            await close_model(model)
    return str(failed.value)


def parts_of(secret: str, text: str) -> list[str]:
    """Return the parts of a secret in a text: none of 8 characters may be there."""
    return [part for place in range(len(secret) - 7) if (part := secret[place : place + 8]) in text]


def refusal(status: int, message: str) -> Refuses:
    return Refuses(status, json.dumps({"error": {"message": message, "type": "invalid", "code": "x"}}).encode())


@every_model
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_a_key_repeated_in_a_refusal_is_removed_and_the_other_text_is_shown(name: str, status: int) -> None:
    shown = await words(name, refusal(status, f"Incorrect API key provided: {LONG_KEY}. You can find yours elsewhere."))
    assert not parts_of(LONG_KEY, shown)
    assert "Incorrect API key provided: …. You can find yours elsewhere." in shown and f"(HTTP {status})" in shown


@every_model
@pytest.mark.parametrize("before", [240, LONGEST_MESSAGE - 8, LONGEST_MESSAGE - 1])
async def test_a_key_at_the_cut_of_a_message_is_not_shown_in_part(name: str, before: int) -> None:
    shown = await words(name, refusal(401, "x" * before + LONG_KEY))
    assert not parts_of(LONG_KEY, shown)
    assert "x" * before in shown


@every_model
@pytest.mark.parametrize("gap", [1990, 70_000])
async def test_a_key_in_a_long_text_that_is_not_json_is_not_shown(name: str, gap: int) -> None:
    shown = await words(name, Refuses(401, f"bad key {' ' * gap}{LONG_KEY}".encode()))
    assert not parts_of(LONG_KEY, shown)
    assert "bad key" in shown


@every_model
async def test_the_start_of_a_key_cut_by_the_server_is_not_shown(name: str) -> None:
    shown = await words(name, refusal(401, f"bad key {LONG_KEY[:40]}"))
    assert not parts_of(LONG_KEY, shown) and "bad key …" in shown


@pytest.mark.parametrize("name", list(VARIABLES)[:4])
@pytest.mark.parametrize("before", ["", "because ", "z" * 220])
async def test_a_key_in_the_finish_reason_of_a_stream_is_not_shown(name: str, before: str) -> None:
    shown = await words(name, Says(Answer(text="half", stop=f"{before}{LONG_KEY}")))
    assert not parts_of(LONG_KEY, shown) and f"it finished for an unknown reason, '{before}…" in shown


@every_model
async def test_a_key_in_an_invalid_stream_is_not_shown(name: str) -> None:
    error = json.dumps({"type": "error", "error": {"type": "api_error", "message": f"{'y' * 260} {LONG_KEY}"}})
    shown = await words(name, Sends(lambda _: f"event: error\ndata: {error}\n\n".encode()))
    assert not parts_of(LONG_KEY, shown)
    shown = await words(name, Sends(lambda _: f"data: {LONG_KEY}\n\n".encode()))
    assert not parts_of(LONG_KEY, shown)


@pytest.mark.parametrize("name", ["openai-chat:m", "vllm:m", "deepseek:m"])
async def test_a_repeated_password_of_the_address_is_not_shown(name: str) -> None:
    shown = await words(name, refusal(400, "no user with pass%wort123 or pass%25wort123"), user="me:pass%25wort123")
    assert "wort123" not in shown and "no user with … or …" in shown


def test_a_message_without_a_secret_is_shown_unchanged() -> None:
    setback = RequestError("bad model: ollama", "bad_request")
    setback.clean(("ollama", LONG_KEY, ""))
    assert setback.message == "bad model: ollama", "what is shorter than any key is a word like others"


def test_a_provider_that_cannot_be_opened_does_not_show_the_password_of_its_address() -> None:
    with pytest.raises(BadInput) as refused:
        open_model("vllm:m", ModelConfig(base_url="http://me:secret-word@[::1"), {})
    assert "secret-word" not in str(refused.value)
