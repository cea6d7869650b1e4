"""The cheat environment of this worker, and the variables of a user who works in it."""

from collections.abc import Generator
from pathlib import Path

import pytest
from cheat_yard import Yard, make_yard

from needs import needs


@pytest.fixture(scope="session")
def yard_of_worker(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    for program in ("bwrap", "git", "unshare"):
        needs(program)
    return make_yard(tmp_path_factory.mktemp("yard"))


@pytest.fixture
def yard(yard_of_worker: Yard, home: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Yard]:
    """The cheat environment, with its home, state and PATH in the environment, and no variables of the test run."""
    del home  # made first, so that its variables are set again here
    monkeypatch.setenv("PATH", yard_of_worker.path)
    monkeypatch.setenv("HOME", str(yard_of_worker.home))
    monkeypatch.setenv("XDG_STATE_HOME", str(yard_of_worker.state))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(yard_of_worker.home / ".config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(yard_of_worker.home / ".cache"))
    for variable in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(variable, raising=False)
    return (yield yard_of_worker)
