"""A key is sent only to the server of its own provider: every pair of provider and configured server, over sockets."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from inspect import getsource
from itertools import product

import httpx2
import openai
import pytest
from pydantic_ai.providers import infer_provider_class
from talking import World, first_turn

from donewhen.errors import BadInput
from donewhen.model.deadlines import RetryBudget
from donewhen.model.interface import ModelFailed, close_model
from donewhen.model.open_model import ModelConfig, open_model
from donewhen.model.providers import PROVIDERS, is_same_provider
from donewhen.model.wires.pydantic import OtherModel
from wire_server import Answer, Refuses, Says, WireServer, serving

pytestmark = pytest.mark.anyio
ONCE = RetryBudget(per_turn=0)
VARIABLES = sorted({name for provider in PROVIDERS.values() for name in provider.key_variables})
KEYS = {name: f"key-of-{name}" for name in VARIABLES}
OTHERS = tuple(name for name in re.findall(r"'([a-z-]+)'", getsource(infer_provider_class)) if name not in PROVIDERS)
"""The providers that only the library knows."""
OTHER_KEYS = (
    "ALIBABA_API_KEY", "AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "CRUSOE_API_KEY", "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY", "GITHUB_COPILOT_API_KEY", "HEROKU_INFERENCE_KEY", "META_API_KEY", "MOONSHOTAI_API_KEY",
    "NEBIUS_API_KEY", "OPENROUTER_API_KEY", "OVHCLOUD_API_KEY", "SAMBANOVA_API_KEY", "SNOWFLAKE_TOKEN",
    "TOGETHER_API_KEY", "VERCEL_AI_GATEWAY_API_KEY", "VLLM_API_KEY", "ZAI_API_KEY",
)  # fmt: skip
OPENAI_ONLY = {
    "OPENAI_CUSTOM_HEADERS": "x-secret: key-of-custom-headers",
    "OPENAI_ORG_ID": "key-of-organization",
    "OPENAI_PROJECT_ID": "key-of-project",
}
FINE = Says(Answer(text="fine"))


def keys_at(server: WireServer) -> set[str]:
    """Every key that arrived, in any field or path."""
    heard = "\n".join(f"{one.path} {one.headers}" for one in (*server.received, *server.asides))
    return set(re.findall(r"key-of-([A-Za-z_-]+)", heard))


def homes(server: WireServer) -> dict[str, str]:
    """An environment in which this server is the own server of every provider with a wire of ours, with its key."""
    addresses = {one.url_variables[0]: f"{server.url}/v1" for one in PROVIDERS.values()}
    return {**KEYS, **addresses}


async def ask(name: str, config: ModelConfig, environment: dict[str, str]) -> str:
    model = open_model(name, config, environment, World().outside())
    try:
        return (await model.reply(first_turn())).text
    finally:
        await close_model(model)


def own(provider: str) -> set[str]:
    return set(PROVIDERS[provider].key_variables[:1])


@pytest.mark.parametrize(("asked", "owner"), list(product(PROVIDERS, (*PROVIDERS, "deepseek"))))
async def test_a_server_gets_only_the_key_of_its_own_provider(asked: str, owner: str) -> None:
    with serving(FINE) as configured, serving(FINE) as home:
        config = ModelConfig(base_url=f"{configured.url}/v1", base_url_for=owner, retry=ONCE)
        assert await ask(f"{asked}:m", config, homes(home)) == "fine"
    reached, other = (configured, home) if is_same_provider(asked, owner) else (home, configured)
    assert keys_at(reached) == own(asked)
    assert other.received == other.asides == []


@pytest.mark.parametrize(("asked", "owner"), list(product(PROVIDERS, PROVIDERS)))
async def test_a_fallback_takes_its_key_to_the_server_of_its_own_provider(asked: str, owner: str) -> None:
    with serving(Refuses(500), Refuses(500), FINE) as configured, serving(Refuses(500), Refuses(500), FINE) as home:
        config = ModelConfig(
            base_url=f"{configured.url}/v1", base_url_for=owner, fallback=(f"{owner}:b", f"{asked}:c"), retry=ONCE
        )
        if is_same_provider(asked, owner):
            assert await ask(f"{asked}:a", config, homes(home)) == "fine"
            assert (keys_at(configured), keys_at(home)) == (own(asked), set())
        else:
            with pytest.raises(ModelFailed):
                await ask(f"{asked}:a", config, homes(home))
            assert (keys_at(configured), keys_at(home)) == (own(owner), own(asked))


@pytest.mark.parametrize("owner", PROVIDERS)
async def test_a_server_without_a_configured_provider_belongs_to_the_requested_model(owner: str) -> None:
    with serving(FINE) as configured, serving(FINE) as home:
        config = ModelConfig(base_url=f"{configured.url}/v1", retry=ONCE)
        assert await ask(f"{owner}:m", config, homes(home)) == "fine"
    assert (keys_at(configured), keys_at(home)) == (own(owner), set())


# -- providers of the library --


@pytest.fixture
def every_key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*VARIABLES, *OTHER_KEYS):
        monkeypatch.setenv(name, f"key-of-{name}")
    for name, value in {**OPENAI_ONLY, "OPENAI_API_VERSION": "2024-06-01"}.items():
        monkeypatch.setenv(name, value)
    yield
    assert {name: os.environ[name] for name in OPENAI_ONLY} == OPENAI_ONLY, "hidden for a moment only"


@pytest.mark.usefixtures("every_key")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OTHERS)
async def test_a_provider_of_the_library_sends_at_most_its_own_key(name: str) -> None:
    with serving(FINE) as server:
        with suppress(BadInput, ModelFailed):  # not installed, or not for conversations
            await ask(f"{name}:m", ModelConfig(base_url=f"{server.url}/v1", retry=ONCE), dict(os.environ))
    found = keys_at(server)
    assert len(found) <= 1 and found <= {*OTHER_KEYS, "GOOGLE_API_KEY"}
    assert "GOOGLE_API_KEY" not in found or name == "google-cloud"


@pytest.mark.usefixtures("every_key")
@pytest.mark.parametrize("name", ["deepseek:m", "vllm:m", "together:m", "azure:m"])
async def test_honest_use_of_a_provider_of_the_library_works_with_its_key(name: str) -> None:
    with serving(FINE) as server:
        assert await ask(name, ModelConfig(base_url=f"{server.url}/v1"), dict(os.environ)) == "fine"
    (key,) = keys_at(server)
    assert name.partition(":")[0] in key.lower()


@pytest.mark.usefixtures("every_key")
async def test_without_the_defence_the_library_sends_openai_headers_to_any_server() -> None:
    with serving(FINE) as server:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="own", max_retries=0) as client:
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    assert keys_at(server) == {"custom-headers", "organization", "project"}


@pytest.mark.usefixtures("every_key")
@pytest.mark.parametrize("name", ["deepseek:m", "together:m"])
async def test_a_provider_of_the_library_does_not_use_the_server_of_another(name: str) -> None:
    model = open_model(name, ModelConfig(base_url="http://127.0.0.1:9/v1", base_url_for="openai"), {})
    assert isinstance(model, OtherModel)
    assert "127.0.0.1" not in str(model.library.base_url)
    await close_model(model)


@pytest.mark.usefixtures("every_key")
@pytest.mark.parametrize("name", ["gateway/anthropic", "gateway/google", "gateway/openai"])
def test_the_gateway_names_of_the_library_are_refused_and_get_no_key(name: str) -> None:
    with serving(FINE) as server:
        with pytest.raises(BadInput, match=f"model.base_url has no effect on models of {name}"):
            open_model(f"{name}:m", ModelConfig(base_url=f"{server.url}/v1"), dict(os.environ))
    assert server.received == server.asides == []


# -- redirects --


@pytest.mark.usefixtures("every_key")
@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("name", [*PROVIDERS, "deepseek", "azure", "google-cloud", "vllm", "litellm"])
async def test_a_redirect_to_another_host_is_not_followed(name: str, status: int) -> None:
    with serving(FINE, again=True) as other:
        there = f"{other.url.replace('127.0.0.1', 'localhost')}/v1/chat/completions"
        with serving(Refuses(status, headers={"Location": there}), again=True) as server:
            with pytest.raises(ModelFailed):
                await ask(f"{name}:m", ModelConfig(base_url=f"{server.url}/v1", retry=ONCE), dict(os.environ))
    assert server.received and other.received == other.asides == []


async def test_a_client_that_followed_redirects_would_send_a_key_to_another_host() -> None:
    with serving(FINE) as other:
        there = f"{other.url.replace('127.0.0.1', 'localhost')}/v1/messages"
        with serving(Refuses(307, headers={"Location": there})) as server:
            async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as client:
                await client.post(f"{server.url}/v1/messages", headers={"x-api-key": "key-of-A"}, content=b"{}")
    assert keys_at(other) == {"A"}
