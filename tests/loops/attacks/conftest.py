"""A forge for the attacks."""

from collections.abc import Generator
from pathlib import Path

import pytest
from loop_probe import TOKEN

from forge_server import ForgeServer, running_forge


@pytest.fixture
def server(tmp_path: Path) -> Generator[ForgeServer]:
    with running_forge(tmp_path / "forge") as server:
        server.token = TOKEN
        yield server
