"""Databases for the tests of the memory: a directory, or a schema of a real PostgreSQL server."""

import itertools
from collections.abc import Generator
from pathlib import Path

import psycopg
import pytest

from donewhen.memory.open_store import FILE, RepairStoreHandle
from donewhen.memory.repair_store import RepairStore
from donewhen.memory.schema import MEMORY
from donewhen.storage.connection import Connection
from donewhen.storage.disposable_db import connect
from donewhen.storage.migrations import migrate
from donewhen.storage.postgres import PostgresConnection
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
    server, name = str(request.getfixturevalue("server")), f"memory{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}?options=-csearch_path%3D{name}"


@pytest.fixture
def handle(url: str, tmp_path: Path) -> Generator[RepairStoreHandle]:
    handle = RepairStoreHandle(tmp_path, url)
    yield handle
    handle.close()


@pytest.fixture
def connection(url: str, tmp_path: Path) -> Generator[Connection]:
    """With the tables of the memory, for a separate store."""
    connection = PostgresConnection(url) if url else connect(tmp_path / FILE, MEMORY, 1.0)
    migrate(connection, MEMORY)
    yield connection
    connection.close()


@pytest.fixture
def store(handle: RepairStoreHandle) -> RepairStore:
    return handle.write(lambda store: store)
