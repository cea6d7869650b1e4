"""The schema: made once, refused when it is newer, and every released one still opens."""

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from golden_scene import EVENTS, ROWS
from places import SAID, Place

from donewhen.storage.archive import Archive
from donewhen.storage.migrations import STEPS, NewerSchema
from donewhen.storage.record import Record

GOLDEN = Path(__file__).parent / "golden"


def test_a_database_of_a_newer_schema_is_refused_in_one_line_and_not_changed(place: Place) -> None:
    archive = place.open()
    archive.create("a", "/r", "title").write(SAID)
    archive._connection.run("INSERT INTO donewhen_migrations (number) VALUES (?)", len(STEPS) + 1)  # pyright: ignore[reportPrivateUsage] - as a newer program would
    archive.close()
    for _ in range(2):
        with pytest.raises(NewerSchema, match=r"^the sessions were written by a newer donewhen \(schema \d+, "):
            place.open()
    assert not list(place.directory.glob("sessions.db.*[0-9]"))


def kept(archive: Archive) -> list[Record]:
    return [replace(record, at="") for row in archive.sessions() for record in archive.records(row.id)]


def holds_the_scene_and_goes_on(archive: Archive) -> bool:
    assert [(row.id, row.repo, row.title, row.state, row.outcome) for row in archive.sessions()] == ROWS
    assert kept(archive) == EVENTS
    archive.claim("first", force=True).write(SAID)
    return archive.warnings == []


def test_there_is_a_golden_database_for_every_released_schema() -> None:
    for kind in ("sqlite.db", "postgresql.sql"):
        assert {path.name for path in GOLDEN.glob(f"*.{kind}")} == {f"v{n}.{kind}" for n in range(1, len(STEPS) + 1)}


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.sqlite.db")), ids=lambda path: path.name)
def test_a_sqlite_file_of_a_released_schema_still_opens(golden: Path, sqlite: Place) -> None:
    sqlite.directory.mkdir()
    shutil.copy(golden, sqlite.database)
    assert holds_the_scene_and_goes_on(sqlite.open())


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.postgresql.sql")), ids=lambda path: path.name)
def test_a_postgresql_dump_of_a_released_schema_still_opens(golden: Path, schema: str, tmp_path: Path) -> None:
    with psycopg.connect(schema, autocommit=True) as connection:
        connection.execute(golden.read_bytes())
    archive = Archive.open(tmp_path, schema)
    try:
        assert holds_the_scene_and_goes_on(archive)
    finally:
        archive.close()


def test_the_sqlite_settings_are_the_promised_ones(sqlite: Place) -> None:
    archive = sqlite.open()
    run = archive._connection.run  # pyright: ignore[reportPrivateUsage] - settings of this very connection
    assert run("PRAGMA journal_mode") == [("wal",)]
    assert run("PRAGMA synchronous") == [(1,)] and run("PRAGMA foreign_keys") == [(1,)]
    with archive._connection.transaction(sync=True):  # pyright: ignore[reportPrivateUsage] - nothing outside shows it
        assert run("PRAGMA synchronous") == [(2,)]
    assert run("PRAGMA synchronous") == [(1,)]
    for path in [sqlite.directory, *sqlite.directory.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_sqlite_of_this_machine_supports_all_used_statements() -> None:
    assert sqlite3.sqlite_version_info >= (3, 35)
