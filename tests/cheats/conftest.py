"""The cheat environment of this worker, and the variables of a user who works in it."""

from collections.abc import Generator
from pathlib import Path

import pytest
from cheat_workspace import CheatWorkspace, make_workspace

from needs import needs


@pytest.fixture(scope="session")
def workspace_of_worker(tmp_path_factory: pytest.TempPathFactory) -> CheatWorkspace:
    for program in ("bwrap", "git", "unshare"):
        needs(program)
    return make_workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def workspace(
    workspace_of_worker: CheatWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[CheatWorkspace]:
    """The cheat environment, with its home, state and PATH in the environment, and no variables of the test run."""
    del home  # made first, so that its variables are set again here
    monkeypatch.setenv("PATH", workspace_of_worker.path)
    monkeypatch.setenv("HOME", str(workspace_of_worker.home))
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace_of_worker.state))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(workspace_of_worker.home / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(workspace_of_worker.home / ".cache"))
    for variable in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(variable, raising=False)
    return (yield workspace_of_worker)
