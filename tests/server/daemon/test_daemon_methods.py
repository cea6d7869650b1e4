"""The methods of interface.md 7 over the unix socket of a real daemon, each with its effect."""

import time
from collections.abc import Generator
from pathlib import Path

import pytest

from runs.scenes import RIGHT, scene, script
from server.daemon_program import Client, Daemon, serving


@pytest.fixture
def daemon() -> Generator[Daemon]:
    with serving() as daemon:
        yield daemon


@pytest.fixture
def client(daemon: Daemon) -> Generator[Client]:
    with daemon.client() as client:
        yield client


def test_x(client: Client, daemon: Daemon, tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    t = time.time()
    id = client.ask("session.start", intent="say right", repo=str(repo), model=script(tmp_path / "s.json", RIGHT))["id"]
    print(time.time() - t)
    events, status = client.follow(id)
    print(time.time() - t)
    print(status, daemon.left(), daemon.log)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert status["outcome"] == "verified"
