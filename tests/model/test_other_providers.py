"""Providers without a wire of ours go through pydantic-ai, with the same replies and kinds of failure."""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from talking import TWO_CALLS, World, after, first_turn

from donewhen.errors import BadInput
from donewhen.model.deadlines import Deadlines
from donewhen.model.interface import Call, Model, ModelFailed, ModelWaits, Usage, close_model
from donewhen.model.open_model import ModelConfig, open_model
from repositories import repository
from wire_server import Act, Answer, Cuts, Refuses, Says, Silent, Stalls, WireServer, serving

pytestmark = pytest.mark.anyio

FINE = Says(Answer(text="fine"))


@asynccontextmanager
async def other(
    monkeypatch: pytest.MonkeyPatch, world: World, *acts: Act, deadlines: Deadlines | None = None
) -> AsyncGenerator[tuple[Model, WireServer]]:
    """A model of the vLLM provider, which the library directs to the scripted server."""
    with serving(*acts, again=True) as server:
        monkeypatch.setenv("VLLM_BASE_URL", f"{server.url}/v1")
        model = open_model("vllm:m", ModelConfig(deadlines=deadlines or Deadlines()), {}, world.outside())
        try:
            yield model, server
        finally:
            await close_model(model)


async def test_a_conversation_works_through_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    acts = Says(Answer(text="I look.", calls=TWO_CALLS, cache_read=40)), Says(Answer(text="Done."))
    async with other(monkeypatch, World(), *acts) as (model, server):
        turn = first_turn()
        first = await model.reply(turn, heard.append)
        second = await model.reply(after(turn, first))
    assert (first.text, first.stop, first.usage, first.cost_usd) == ("I look.", "calls", Usage(100, 10, 40), None)
    assert first.calls == (
        Call("c1", "read_file", {"path": "a.py"}),
        Call("c2", "shell", {"command": "echo ü 😀"}),
    )
    assert (second.text, first.model, "".join(heard)) == ("Done.", "vllm:m", "I look.")
    body = json.loads(server.received[1].body)
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool"]
    assert body["temperature"] == 0


@pytest.mark.parametrize(
    "fault",
    [
        Refuses(500),
        Refuses(429),
        Cuts(Answer(text="half", calls=TWO_CALLS), 4),
        Silent(),
        Stalls(Answer(text="x" * 9), 2),
    ],
    ids=["500", "429", "cut", "silent", "stalled"],
)
async def test_a_temporary_failure_of_a_library_provider_is_retried(
    monkeypatch: pytest.MonkeyPatch, fault: Act
) -> None:
    soon = Deadlines(first_event=1.0, silence=0.5)
    # The library retries a refused request itself, before we see it.
    faults = [fault] * (4 if isinstance(fault, Refuses) else 1)
    async with other(monkeypatch, World(), *faults, FINE, deadlines=soon) as (model, _):
        assert (await model.reply(first_turn())).text == "fine"


async def test_a_refused_key_of_a_library_provider_waits_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    async with other(monkeypatch, World(), Refuses(401)) as (model, _):
        with pytest.raises(ModelWaits) as waits:
            await model.reply(first_turn())
    assert waits.value.kind == "sign_in"


async def test_a_bad_request_to_a_library_provider_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    async with other(monkeypatch, World(), Refuses(400), FINE) as (model, server):
        with pytest.raises(ModelFailed) as failed:
            await model.reply(first_turn())
    assert (failed.value.kind, failed.value.final, len(server.received)) == ("bad_request", True, 1)


@pytest.mark.parametrize("name", ["vllm:m", "litellm:m", "deepseek:m", "together:m"])
async def test_a_configured_address_counts_for_every_provider_of_the_library(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://127.0.0.1:9/elsewhere")
    for variable in ("DEEPSEEK_API_KEY", "TOGETHER_API_KEY"):
        monkeypatch.setenv(variable, "k")
    with serving(FINE) as server:
        model = open_model(name, ModelConfig(base_url=f"{server.url}/v1"), {}, World().outside())
        try:
            assert (await model.reply(first_turn())).text == "fine"
        finally:
            await close_model(model)
    assert [request.path for request in server.received] == ["/v1/chat/completions"]


def test_a_fallback_with_another_provider_keeps_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    config = ModelConfig(base_url="http://127.0.0.1:9/v1", fallback=("vllm:m",))
    with pytest.raises(BadInput, match="VLLM_BASE_URL"):
        open_model("openai-chat:m", config, {})


def test_an_invalid_address_is_refused_for_library_providers_too() -> None:
    with pytest.raises(BadInput, match=r"^model\.base_url: not an http or https address$"):
        open_model("vllm:m", ModelConfig(base_url="localhost:8000"), {})


def test_an_unknown_provider_is_named_with_how_to_find_one() -> None:
    with pytest.raises(BadInput, match=r"^nope:m: unknown provider 'nope'; see: donewhen models$"):
        open_model("nope:m", ModelConfig(), {})


@pytest.mark.parametrize("name", ["no-such-provider:m", "mistral:m", "deepseek:deepseek-chat"])
def test_a_provider_that_is_unknown_or_not_usable_is_one_line(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    with pytest.raises(BadInput, match=name) as wrong:
        open_model(name, ModelConfig(), {})
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize(
    ("model", "library", "remedy"),
    [
        ("google-cloud:gemini-2.5-pro", "google.genai", "install donewhen[google]"),
        ("bedrock:nova", "boto3", "install pydantic-ai-slim[bedrock]"),
    ],
)
def test_a_library_that_is_not_installed_is_named_in_one_line(
    tmp_path: Path, model: str, library: str, remedy: str
) -> None:
    repo = repository(tmp_path / "repo", {"a.txt": "a\n"})
    without = f"import sys; sys.modules[{library!r}] = None; from donewhen.cli.app import main; main()"
    words = ["run", "make a.txt longer", "--model", model, "--check", "longer=grep aa a.txt"]
    ran = subprocess.run([sys.executable, "-c", without, *words], cwd=repo, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, f"donewhen: --model: {model}: {remedy}\n")
