"""Messages about a failed request: which key, which server, which address. Never the secret."""

import subprocess
import sys

import pytest
from talking import KEY, World, first_turn, talking

from donewhen.model.deadlines import RetryBudget
from donewhen.model.interface import ModelFailed, ModelWaits, close_model
from donewhen.model.open_model import ModelConfig, open_model
from wire_server import Act, Refuses, serving

pytestmark = pytest.mark.anyio

ONCE = RetryBudget(per_turn=0)


async def words(name: str, base_url: str, environment: dict[str, str]) -> str:
    model = open_model(name, ModelConfig(base_url=base_url, retry=ONCE), environment, World().outside())
    try:
        with pytest.raises((ModelFailed, ModelWaits)) as failed:
            await model.reply(first_turn())
    finally:
        await close_model(model)
    return str(failed.value)


@pytest.mark.parametrize(
    ("name", "environment", "told"),
    [
        ("anthropic:m", {"ANTHROPIC_API_KEY": KEY}, "the key is from ANTHROPIC_API_KEY"),
        ("google:m", {"GEMINI_API_KEY": KEY}, "the key is from GEMINI_API_KEY"),
        ("openai-chat:m", {}, "no key was sent: set OPENAI_API_KEY"),
    ],
    ids=["anthropic", "second variable", "none"],
)
async def test_a_refused_key_is_named_by_its_variable(name: str, environment: dict[str, str], told: str) -> None:
    with serving(Refuses(401, b'{"error": {"message": "bad key"}}')) as server:
        assert await words(name, server.url, environment) == f"bad key (HTTP 401); {told}"


@pytest.mark.parametrize("act", [Refuses(404, b"404 page not found"), Refuses(404, b'{"error": {"message": "no m"}}')])
async def test_a_missing_model_is_reported_with_its_server(act: Act) -> None:
    with serving(act, again=True) as server:
        address = server.url.replace("http://", "http://me:secret@") + "/elsewhere"
        said = await words("openai-chat:m", address, {})
        assert said.endswith(
            f"(HTTP 404); the request went to {server.url.removeprefix('http://')}/elsewhere/chat/completions"
        )
    assert "secret" not in said


async def test_a_server_that_cannot_be_reached_is_named() -> None:
    said = await words("anthropic:m", "http://me:secret@127.0.0.1:1", {"ANTHROPIC_API_KEY": KEY})
    assert said.startswith("no connection to 127.0.0.1:1: ")
    assert "secret" not in said


ASKS_ONCE = """
import sys, threading, anyio
from donewhen.model.interface import Turn, User
from donewhen.model.open_model import ModelConfig, open_model
from wire_server import Answer, Decides, Says, serving

begins, answers = threading.Event(), []

def hook(event, given):
    if event == "import" and given[0].startswith("genai_prices"):
        begins.set()

sys.addaudithook(hook)

def answer(received):
    answers.append(begins.wait(30))
    return Says(Answer(text="fine"))

async def main():
    with serving(Decides(answer)) as server:
        model = open_model("anthropic:claude-sonnet-4-5", ModelConfig(base_url=server.url), {"ANTHROPIC_API_KEY": "k"})
        assert not begins.is_set()
        reply = await model.reply(Turn(role="maker", number=0, system="", messages=(User("hi"),)))
        assert reply.cost_usd, reply

anyio.run(main)
print(*answers)
"""


def test_prices_are_loaded_while_waiting_for_the_first_reply() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", ASKS_ONCE], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True
    )
    assert (shown.stdout, shown.returncode) == (b"True\n", 0), shown.stderr


async def test_a_request_that_is_refused_while_prices_are_loaded_fails_as_any_other() -> None:
    with serving(Refuses(400)) as server:
        async with talking(server, "anthropic", name="anthropic:claude-sonnet-4-5") as model:
            with pytest.raises(ModelFailed) as failed:
                await model.reply(first_turn())
    assert failed.value.kind == "bad_request"
