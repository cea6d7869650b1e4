"""From a repository and its settings to its forge: what a caller does before an action."""

import os
from pathlib import Path

import pytest

from donewhen.errors import BadInput, NeedsPerson
from donewhen.loops.forge.connect import open_forge, place_of, token_for
from donewhen.loops.forge.remote import ForgePlace
from donewhen.session.settings.settings import load
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.git.repo import open_repo
from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.state_dir import state_root
from forge_server import ME, ForgeServer
from repositories import git, repository

pytestmark = pytest.mark.anyio


async def place_in(root: Path, environment: dict[str, str]) -> ForgePlace:
    trust = TrustBook(state_root(os.environ))
    async with Launcher.open() as launcher:
        return place_of(await open_repo(launcher, root), load(root, root, environment, trust))


async def test_a_clone_finds_its_forge_and_its_token(server: ForgeServer, tmp_path: Path) -> None:
    root = repository(tmp_path / "clone")
    git(root, "remote", "add", "origin", server.git_url)
    place = await place_in(root, {"DONEWHEN__FORGE__URL": server.url, "DONEWHEN__FORGE__TOKEN_ENV": "MY_TOKEN"})
    assert place.git_url == server.git_url
    async with open_forge(place, token_for(place, {"MY_TOKEN": server.token})) as forge:
        assert (await forge.me()).login == ME.login


async def test_github_needs_no_settings(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone")
    git(root, "remote", "add", "origin", "git@github.com:octo/widgets.git")
    place = await place_in(root, {})
    assert (place.api_url, place.git_url) == ("https://api.github.com", "https://github.com/octo/widgets.git")
    with pytest.raises(BadInput, match="the variable GITHUB_TOKEN is not set: it must contain a token for"):
        token_for(place, {})


async def test_a_file_of_the_repository_cannot_send_the_token_elsewhere(tmp_path: Path) -> None:
    root = repository(tmp_path / "clone", {"donewhen.toml": '[forge]\nurl = "https://evil.example.org"\n'})
    git(root, "remote", "add", "origin", "https://evil.example.org/octo/widgets.git")
    with pytest.raises(NeedsPerson, match=r"forge\.url"):
        await place_in(root, {})
    (root / "donewhen.toml").write_text('[forge]\napi = "forgejo"\n')
    with pytest.raises(BadInput, match=r"the remote is at evil.example.org: set 'forge.url'"):
        await place_in(root, {})
