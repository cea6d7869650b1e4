"""Which name opens which model, the target of its requests and their key; one line for errors."""

import pytest
from talking import ENVIRONMENT, KEY

from donewhen.errors import BadInput
from donewhen.model.fallback import Fallback
from donewhen.model.native_model import NativeModel
from donewhen.model.open_model import ModelConfig, open_model


def wired(name: str, environment: dict[str, str] | None = None, **config: str) -> NativeModel:
    model = open_model(name, ModelConfig(**config), ENVIRONMENT | (environment or {}))  # pyright: ignore[reportArgumentType] - texts only
    assert isinstance(model, NativeModel)
    return model


def address(model: NativeModel) -> str:
    return model.endpoint.url + model.wires[0].path


@pytest.mark.parametrize(
    ("name", "goes_to"),
    [
        ("anthropic:m", "https://api.anthropic.com/v1/messages"),
        ("openai:m", "https://api.openai.com/v1/responses"),
        ("openai-responses:m", "https://api.openai.com/v1/responses"),
        ("openai-chat:m", "https://api.openai.com/v1/chat/completions"),
        ("google:m", "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("google-gla:m", "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("ollama:m:7b", "http://localhost:11434/v1/chat/completions"),
    ],
)
def test_a_provider_is_called_at_its_own_address(name: str, goes_to: str) -> None:
    model = wired(name)
    assert (address(model), model.name) == (goes_to, name)


@pytest.mark.parametrize(
    ("name", "variable", "value", "goes_to"),
    [
        ("openai-chat:m", "OPENAI_BASE_URL", "http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("openai:m", "OPENAI_BASE_URL", "http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("openai:m", "OPENAI_BASE_URL", "https://api.openai.com/v1", "https://api.openai.com/v1/responses"),
        ("anthropic:m", "ANTHROPIC_BASE_URL", "http://h:1", "http://h:1/v1/messages"),
        ("anthropic:m", "ANTHROPIC_BASE_URL", "http://h:1/v1", "http://h:1/v1/messages"),
        ("ollama:m", "OLLAMA_BASE_URL", "http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("ollama:m", "OLLAMA_HOST", "h", "http://h:11434/v1/chat/completions"),
        ("ollama:m", "OLLAMA_HOST", "0.0.0.0:5", "http://127.0.0.1:5/v1/chat/completions"),
        ("ollama:m", "OLLAMA_HOST", "https://h:5", "https://h:5/v1/chat/completions"),
        ("ollama:m", "OLLAMA_HOST", "[::1]:5", "http://[::1]:5/v1/chat/completions"),
    ],
)
def test_an_address_from_the_environment_counts_and_a_configured_one_wins(
    name: str, variable: str, value: str, goes_to: str
) -> None:
    assert address(wired(name, {variable: value})) == goes_to
    assert address(wired(name, {variable: value}, base_url="http://configured/v1")).startswith("http://configured/v1")


@pytest.mark.parametrize(
    ("name", "environment", "complaint"),
    [
        ("", {}, "not a model: ''"),
        ("gpt-4", {}, "not a model: 'gpt-4'"),
        ("openai:", {}, "not a model: 'openai:'"),
        (":m", {}, "not a model: ':m'"),
        ("openai:a b", {}, "not a model"),
        ("anthropic:m", {}, "needs a key: set ANTHROPIC_API_KEY"),
        ("anthropic:m", {"ANTHROPIC_API_KEY": "  "}, "needs a key: set ANTHROPIC_API_KEY"),
        ("google:m", {}, "set GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("openai:m", {"OPENAI_API_KEY": "secret\nkey"}, "OPENAI_API_KEY contains characters that no key has"),
        ("openai:m", {"OPENAI_API_KEY": "sécret"}, "OPENAI_API_KEY contains characters that no key has"),
        ("openai:m", {"OPENAI_BASE_URL": "ftp://h"}, "OPENAI_BASE_URL: not an http or https address"),
        ("openai:m", {"OPENAI_BASE_URL": "http://h:99999"}, "OPENAI_BASE_URL: not an http or https address"),
        ("ollama:m", {"OLLAMA_HOST": "h:port"}, "OLLAMA_HOST: not an http or https address"),
    ],
)
def test_a_model_that_cannot_be_opened_is_one_line_without_a_key(
    name: str, environment: dict[str, str], complaint: str
) -> None:
    with pytest.raises(BadInput) as wrong:
        open_model(name, ModelConfig(), environment)
    assert complaint in str(wrong.value)
    assert "\n" not in str(wrong.value)
    assert "cret" not in str(wrong.value)


def test_a_local_server_needs_no_key() -> None:
    model = open_model("openai:m", ModelConfig(base_url="http://localhost:8000/v1"), {})
    assert isinstance(model, NativeModel)
    assert model.endpoint.key == ""


def test_the_newer_variable_of_google_wins_over_the_older() -> None:
    assert wired("google:m", {"GOOGLE_API_KEY": "new"}).endpoint.key == "new"


def test_keys_are_not_in_any_repr() -> None:
    for name in ("anthropic:m", "openai:m", "google:m"):
        model = wired(name)
        assert model.endpoint.key == KEY
        assert KEY not in repr(model) + str(model)


def test_fallbacks_keep_their_own_address_unless_they_are_of_the_same_provider() -> None:
    config = ModelConfig(base_url="http://h/v1", fallback=("openai:small", "anthropic:m"))
    model = open_model("openai:big", config, ENVIRONMENT)
    assert isinstance(model, Fallback)
    assert [address(one) for one in model.models if isinstance(one, NativeModel)] == [
        "http://h/v1/chat/completions",
        "http://h/v1/chat/completions",
        "https://api.anthropic.com/v1/messages",
    ]
    retries = [one.retries.budget.per_turn for one in model.models if isinstance(one, NativeModel)]
    assert retries == [0, 0, 5], "only the last one is asked again"
