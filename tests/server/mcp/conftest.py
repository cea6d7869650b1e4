"""A running daemon with MCP, and a repository whose contract is met when `answer.txt` says "right"."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_daemon import McpDaemon, running

from runs.scenes import scene


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpDaemon]:
    """One daemon for the tests of a module: it takes seconds to start."""
    home = tmp_path_factory.mktemp("shared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        with running(home) as daemon:
            yield daemon


@pytest.fixture
def daemon(shared: McpDaemon, monkeypatch: pytest.MonkeyPatch) -> McpDaemon:
    """The daemon of the module. Programs that the test starts use its state."""
    monkeypatch.setenv("XDG_STATE_HOME", str(shared.state.parent))
    return shared


@pytest.fixture
def own_daemon(repo: Path) -> Iterator[McpDaemon]:
    """A daemon of this test alone."""
    with running(repo.parent) as one:
        yield one
