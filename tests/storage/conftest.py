"""Databases for the storage tests: a directory, or a schema of a real PostgreSQL server."""

import itertools
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from places import Place

from postgres import running

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Generator[str]:
    """The address of a server for these tests."""
    with running() as port:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


@pytest.fixture
def schema(server: str) -> str:
    """The address of an empty schema."""
    name = f"test{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}?options=-csearch_path%3D{name}"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, directory: Path) -> Generator[Place]:
    """Each test with this fixture runs on both databases."""
    url = str(request.getfixturevalue("schema")) if request.param == "postgresql" else ""
    with ExitStack() as stack:
        yield Place(directory, url, stack)


@pytest.fixture
def sqlite(directory: Path) -> Generator[Place]:
    with ExitStack() as stack:
        yield Place(directory, "", stack)
