"""When a running agent is also ready: a key, or an account with a valid sign-in."""

import json
from pathlib import Path
from typing import Any

import pytest
from found_agents import ACCOUNT, BEGAN, MODEL_MAKER, Scene, program, robo
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.external.discover.profile import AgentProvider, SignIn
from donewhen.engines.external.discover.readiness import ModelChoice, provider_with_key, readiness

PAST, FUTURE = BEGAN - 60, BEGAN + 60
OTHER = AgentProvider(name="anthropic", keys=("ANTHROPIC_API_KEY",))


def sign_in(home: Path, content: object, name: str = ".robo/auth.json") -> None:
    file = home / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def status(home: Path, **variables: str) -> tuple[str, str]:
    said = readiness(robo(), {"HOME": str(home), **variables}, BEGAN)
    return said.status, said.reason


def test_without_key_and_account_the_reason_names_the_variable_or_login(home: Path) -> None:
    assert status(home) == ("not_configured", "set ROBO_KEY or OPENAI_API_KEY, or sign in: robo login")


def test_a_blank_key_does_not_count(home: Path) -> None:
    assert status(home, ROBO_KEY="  ")[0] == "not_configured"


def test_a_key_is_preferred_to_an_account(home: Path) -> None:
    sign_in(home, {"oauth": {"ends": PAST}})
    assert status(home, OPENAI_API_KEY="k") == ("ready", "OPENAI_API_KEY is set")


@pytest.mark.parametrize(
    ("oauth", "expected"),
    [
        ({"ends": FUTURE}, "ready"),
        ({"ends": FUTURE * 1000}, "ready"),
        ({"ends": PAST}, "expired"),
        ({"ends": int(PAST * 1000)}, "expired"),
        ({"ends": PAST, "refresh": "token"}, "ready"),
        ({"ends": PAST, "refresh": ""}, "expired"),
        ({"ends": "soon"}, "ready"),
        ({}, "ready"),
        ("a text", "ready"),
    ],
)
def test_a_sign_in_is_valid_until_it_expires_unless_it_can_be_renewed(home: Path, oauth: Any, expected: str) -> None:
    sign_in(home, {"oauth": oauth})
    assert status(home)[0] == expected


def test_an_expired_sign_in_names_its_file_and_the_fix_and_no_secret(home: Path) -> None:
    sign_in(home, {"oauth": {"ends": PAST, "access": "tok-secret"}})
    said = status(home)[1]
    assert "~/.robo/auth.json has expired" in said and "robo login" in said and "tok-secret" not in said


@pytest.mark.parametrize("content", ["{half", "\x00\x01", "[" * 100_000])
def test_an_unreadable_credential_file_is_not_a_sign_in(home: Path, content: str) -> None:
    sign_in(home, content)
    said = status(home)
    assert said[0] == "not_configured" and "cannot be read" in said[1]


def test_an_empty_credential_file_is_not_a_sign_in(home: Path) -> None:
    sign_in(home, "")
    assert status(home)[0] == "not_configured"


def test_any_one_of_the_credential_files_is_a_sign_in(home: Path) -> None:
    sign_in(home, "whatever", ".robo/other.json")
    assert status(home) == ("ready", "signed in (~/.robo/other.json)")


def test_an_agent_that_needs_neither_is_ready(home: Path) -> None:
    bare = robo(providers=(), sign_in=SignIn())
    assert readiness(bare, {"HOME": str(home)}, BEGAN).status == "ready"


def test_where_the_settings_name_a_provider_no_key_of_another_counts(home: Path) -> None:
    both = robo(providers=(OTHER, MODEL_MAKER), sign_in=SignIn())
    keys = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}
    assert (
        provider_with_key(both, keys)
        == provider_with_key(both, keys, ModelChoice("auto"))
        == (OTHER, "ANTHROPIC_API_KEY")
    )
    assert provider_with_key(both, keys, ModelChoice("openai")) == provider_with_key(
        both, keys, ModelChoice("openai-chat")
    )
    assert provider_with_key(both, keys, ModelChoice("openai")) == (MODEL_MAKER, "OPENAI_API_KEY")
    assert provider_with_key(both, {"ANTHROPIC_API_KEY": "a"}, ModelChoice("openai")) is None


def test_a_server_of_the_users_own_needs_no_key_where_its_provider_is_named(home: Path) -> None:
    variables = {"HOME": str(home)}
    said = readiness(robo(), variables, BEGAN, ModelChoice("openai", "http://localhost:1/v1"))
    assert (said.status, said.provider, said.key) == ("ready", "openai", "")
    assert readiness(robo(), variables, BEGAN, ModelChoice("auto", "http://localhost:1/v1")).status == "not_configured"
    assert readiness(robo(), variables, BEGAN, ModelChoice("openai")).status == "not_configured"


@pytest.mark.anyio
async def test_an_agent_that_runs_with_an_expired_sign_in_is_expired(home: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin")
    sign_in(home, {"oauth": {"ends": PAST}})
    found = await Scene(home, [tmp_path / "bin"]).one()
    assert (found.status, found.version, found.key) == ("expired", "1.2.3", "")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["oauth", "ends", "refresh"]), inner),
    max_leaves=8,
)


@given(content=JSON)
def test_any_credential_file_gives_one_readiness(tmp_path_factory: pytest.TempPathFactory, content: object) -> None:
    home = tmp_path_factory.mktemp("someone")
    sign_in(home, content if isinstance(content, str) and content else json.dumps(content))
    said = readiness(robo(sign_in=ACCOUNT), {"HOME": str(home)}, BEGAN)
    assert said.status in ("ready", "expired", "not_configured") and said.reason
