"""A running daemon with MCP, and a repository whose contract is met when `answer.txt` says "right"."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_daemon import McpDaemon, running

from runs.scenes import scene


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.fixture
def daemon(repo: Path) -> Iterator[McpDaemon]:
    with running(repo.parent) as one:
        yield one
