"""A daemon for the tests of a file, and a client of it for each test. Tests that kill a daemon start their own."""

import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest

from server.daemon_program import Client, Daemon, serving


@pytest.fixture(scope="module")
def own_home(homes: Iterator[Path]) -> Mapping[str, str]:
    """Return the variables of a home for all tests of a file."""
    home = next(homes)
    places = {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"}
    for place in places.values():
        (home / place).mkdir(parents=True)
    return {"HOME": str(home), **{variable: str(home / place) for variable, place in places.items()}}


@pytest.fixture(scope="module")
def shared_daemon(own_home: Mapping[str, str]) -> Generator[Daemon]:
    with serving(env=own_home) as daemon:
        yield daemon


@pytest.fixture
def daemon(shared_daemon: Daemon, own_home: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Daemon:
    """Return the daemon of this file. The test has the same home as it."""
    for variable, place in own_home.items():
        monkeypatch.setenv(variable, place)
    return shared_daemon


@pytest.fixture
def client(daemon: Daemon) -> Generator[Client]:
    with daemon.client() as client:
        client.ask("connection.enter", directory="/", variables=dict(os.environ))
        yield client
