"""The provider of `model.base_url`: what each source of settings says, and what is refused."""

from pathlib import Path

import pytest

from donewhen.errors import BadInput
from donewhen.model.providers import PROVIDERS
from donewhen.session.settings import settings
from donewhen.session.settings.model_server import MODEL_OPTION, ModelServer, server_of
from donewhen.session.settings.settings import Settings
from donewhen.session.settings.trust import TrustBook

URL = "http://localhost:8000/v1"
LOCAL = f'[model]\nuse = "openai:local"\nbase_url = "{URL}"\n'
ALONE = f'[model]\nbase_url = "{URL}"\n'
NAMED = {"DONEWHEN__MODEL__USE": "openai:local", "DONEWHEN__MODEL__BASE_URL": URL}


def loaded(
    place: Path, user: str = "", repository: str = "", variables: dict[str, str] | None = None, model: str = ""
) -> Settings:
    """The settings of a user's file, a trusted repository's file, the environment and `--model`."""
    for file, text in (("config/donewhen/config.toml", user), ("repository/donewhen.toml", repository)):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text)
    top, trust = place / "repository", TrustBook(place)
    trust.accept(top / "donewhen.toml", (top / "donewhen.toml").read_bytes())
    found = settings.load(top, top, {"XDG_CONFIG_HOME": str(place / "config"), **(variables or {})}, trust)
    return found.with_value("model", "use", model, MODEL_OPTION) if model else found


@pytest.mark.parametrize(
    ("user", "repository", "variables", "model"),
    [
        (LOCAL, "", {}, ""),
        (LOCAL, "", {}, "openai:gpt-5"),
        (LOCAL, "", {}, "anthropic:claude"),
        (LOCAL, "", {}, "auto"),
        (LOCAL, '[model]\nuse = "anthropic:claude"\n', {}, ""),
        (LOCAL, "", {"DONEWHEN__MODEL__USE": "google:g"}, ""),
        ("", LOCAL, {}, "anthropic:claude"),
        ('[model]\nuse = "anthropic:claude"\n', LOCAL, {}, ""),
        ("", "", NAMED, "anthropic:claude"),
        (LOCAL.replace(URL, "http://other"), "", NAMED, ""),
        ("", "", {"DONEWHEN__MODEL__BASE_URL": URL}, "openai:gpt-5"),
        (LOCAL.replace("openai", "google"), "", {"DONEWHEN__MODEL__BASE_URL": URL}, "openai:gpt-5"),
    ],
)
def test_the_server_belongs_to_the_provider_named_next_to_it(
    tmp_path: Path, user: str, repository: str, variables: dict[str, str], model: str
) -> None:
    server = server_of(loaded(tmp_path, user, repository, variables, model), "openai", "anthropic")
    assert server == ModelServer(URL, "openai")
    for provider in (*PROVIDERS, "deepseek", "openai-decisions", "fake", ""):
        owned = provider in ("openai", "openai-chat", "openai-responses")
        assert server.url_for(provider) == (URL if owned else "")


@pytest.mark.parametrize(
    ("user", "repository", "variables", "model"),
    [
        (ALONE, "", {}, ""),
        (ALONE, "", {}, "openai:gpt-5"),
        (f'{ALONE}use = "auto"\n', "", {}, "openai:gpt-5"),
        (ALONE, '[model]\nuse = "openai:x"\n', {}, ""),
        ('[model]\nuse = "openai:x"\n', ALONE, {}, ""),
        ("", "", {"DONEWHEN__MODEL__BASE_URL": URL}, ""),
        ("", "", {"DONEWHEN__MODEL__BASE_URL": URL}, "auto"),
        ('[model]\nuse = "openai:x"\n', "", {"DONEWHEN__MODEL__BASE_URL": URL}, ""),
        ("", '[model]\nuse = "openai:x"\n', {"DONEWHEN__MODEL__BASE_URL": URL}, ""),
    ],
)
def test_a_server_without_a_named_provider_is_refused_when_a_model_is_used(
    tmp_path: Path, user: str, repository: str, variables: dict[str, str], model: str
) -> None:
    found = loaded(tmp_path, user, repository, variables, model)
    source = found.get("model", "base_url").source
    with pytest.raises(BadInput) as refused:
        server_of(found, "scripted", "openai")
    assert str(refused.value).startswith(f"{source}: 'model.base_url' ") and "\n" not in str(refused.value)
    assert server_of(found, "scripted", "replay") == server_of(found) == ModelServer()


def test_without_a_base_url_there_is_no_server(tmp_path: Path) -> None:
    found = loaded(tmp_path, '[model]\nuse = "openai:x"\n')
    assert server_of(found, "openai").url_for("openai") == ""


def test_a_user_can_disable_the_server_of_the_file_for_one_call(tmp_path: Path) -> None:
    found = loaded(tmp_path, LOCAL, variables={"DONEWHEN__MODEL__BASE_URL": '""'})
    assert server_of(found, "openai").url_for("openai") == ""
