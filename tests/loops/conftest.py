"""Loop stores for the tests: a directory, or a schema of a real PostgreSQL server."""

import itertools
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from donewhen.loops.loop_store import LoopStore
from postgres import running

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Generator[str]:
    with running() as port:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Each test with this fixture runs on both databases; the address of a file is empty."""
    if request.param == "sqlite":
        return ""
    server, name = str(request.getfixturevalue("server")), f"loops{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}?options=-csearch_path%3D{name}"


@pytest.fixture
def open_store(url: str, tmp_path: Path) -> Generator[Callable[[], LoopStore]]:
    """Opens one more store on the same database; all are closed at the end."""
    with ExitStack() as stack:

        def open_one() -> LoopStore:
            store = LoopStore(tmp_path, url)
            stack.callback(store.close)
            return store

        yield open_one


@pytest.fixture
def store(open_store: Callable[[], LoopStore]) -> LoopStore:
    return open_store()
