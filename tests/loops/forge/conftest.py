"""A forge, where it is, and a client of it that does not wait long."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.connect import open_forge
from donewhen.loops.forge.forge import Forge
from donewhen.loops.forge.remote import ForgePlace, Remote, forge_place
from forge_server import ForgeServer, running_forge

QUICK = Patience(tries=3, first_wait_secs=0.01, longest_wait_secs=0.5, timeout_secs=5.0)


@pytest.fixture
def server(tmp_path: Path) -> Generator[ForgeServer]:
    with running_forge(tmp_path / "forge") as server:
        yield server


@pytest.fixture
def place(server: ForgeServer) -> ForgePlace:
    return forge_place(Remote("127.0.0.1", server.owner, server.name), server.url, "FORGE_TOKEN", "github")


@pytest.fixture
def token(server: ForgeServer) -> Token:
    return Token("FORGE_TOKEN", server.token)


@pytest.fixture
async def forge(place: ForgePlace, token: Token) -> AsyncGenerator[Forge]:
    async with open_forge(place, token, QUICK) as forge:
        yield forge
