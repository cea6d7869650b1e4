"""The shipped profiles: complete, with known placeholders, and nothing that would reveal a key."""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import pytest

from donewhen.engines.external import streams
from donewhen.engines.external.discover.profile import GOVERNANCE, PLACEHOLDER, PREFERRED, Profile, from_table, shipped
from donewhen.model.providers import PROVIDERS

KNOWN = {"task", "config", "gateway", "key", "model", "turns", "mcp_url", "conversation", "provider"}
TABLES = [one for one in files("donewhen.engines.external.discover.profiles").iterdir() if one.name.endswith(".toml")]
HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+")


def words_of(value: Any) -> Iterator[str]:
    """Every text in a table, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in cast("dict[str, Any]", value).items():
            yield name
            yield from words_of(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from words_of(one)


@pytest.fixture(params=sorted(shipped()))
def profile(request: pytest.FixtureRequest) -> Profile:
    return shipped()[str(request.param)]


@pytest.mark.parametrize("name", sorted(one.name for one in TABLES))
def test_a_profile_uses_only_known_placeholders(name: str) -> None:
    table = tomllib.loads((files("donewhen.engines.external.discover.profiles") / name).read_text("utf-8"))
    used = {found[1] for word in words_of(table) for found in PLACEHOLDER.finditer(word)}
    assert used <= KNOWN
    assert from_table(table).name == name.removesuffix(".toml")


def test_every_preferred_agent_has_a_profile() -> None:
    assert set(PREFERRED) <= set(shipped())
    assert [name for name in shipped() if name in PREFERRED] == list(PREFERRED)


def test_a_profile_names_its_tested_version_and_who_counts_turns(profile: Profile) -> None:
    assert profile.title
    assert re.search(r"\d+\.\d+", profile.tried)
    assert profile.interfaces
    for way in profile.interfaces.values():
        assert way.counted
        assert way.governance in GOVERNANCE


def test_every_command_line_has_a_stream_reader_and_gets_the_task(profile: Profile) -> None:
    way = profile.interfaces.get("cli")
    if way is not None:
        assert way.stream in streams.SHAPES
        assert streams.reader(way.stream)
        assert any("{task}" in word for word in (*way.argv, *way.task))


def test_only_an_interface_that_asks_for_permission_is_fully_governed(profile: Profile) -> None:
    assert {kind for kind, way in profile.interfaces.items() if way.governance == "full"} <= {"acp"}


def test_an_agent_gets_only_a_placeholder_key(profile: Profile) -> None:
    for provider in profile.providers:
        assert PROVIDERS[provider.name].url.startswith("https://")
        for variable in provider.keys:
            assert provider.env.get(variable, profile.env.get(variable, "{key}")) in ("{key}", "")


def test_a_sign_in_names_plain_hosts_and_a_path_for_each_file(profile: Profile) -> None:
    sign_in = profile.sign_in
    assert all(HOST.fullmatch(host) for host in sign_in.hosts)
    assert len(sign_in.inside) in (0, len(sign_in.files))
    assert not [name for name in sign_in.files if Path(name).is_absolute()]


def test_hidden_paths_of_a_profile_are_inside_the_repository(profile: Profile) -> None:
    assert not [path for path in profile.project if path.startswith(("/", "~")) or ".." in Path(path).parts]
