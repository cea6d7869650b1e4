"""Examine a SQLite file that was not closed in order, and make it anew from the log files when it is damaged.

For somebody who is alone with the file. The damaged one is moved aside as it is, never opened for writing. The new
one appears under its name only when it is complete, so a crash at any point here is followed by another try.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.storage.connection import Damaged, SqliteConnection
from donewhen.storage.migrations import migrate
from donewhen.storage.mirror import Head, Mirror, mirrors
from donewhen.storage.record import Written
from donewhen.storage.tables import add_session, head_of, pages, restore_records, rows

_PARTS = ("-wal", "-shm", "")
"""The journal goes first: one that is left alone would be taken for the journal of whatever comes after."""


def settle(database: Path, logs: Path) -> list[str]:
    """Make sure that the file is sound, or that there is a sound one in its place; what had to be done, in words."""
    complete = _beside(database, "rebuilt")
    if complete.exists() and not database.exists():
        move_aside(database, "left")
        complete.rename(database)
    for unfinished in (complete, _beside(database, "rebuilding")):
        _remove(unfinished)
    if not database.exists() or database.stat().st_size == 0:
        return _rebuild(database, logs, "was missing") if mirrors(logs) else []
    why = _damage(database, logs)
    return _rebuild(database, logs, why) if why else []


def make_private(database: Path) -> None:
    """A new, empty file that only its owner can read."""
    os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def _damage(database: Path, logs: Path) -> str:
    try:
        connection = SqliteConnection(database, read_only=True)
    except Damaged:
        return "was damaged"
    try:
        found = connection.run("PRAGMA quick_check(1)")[0][0]
        return "was damaged" if found != "ok" else _lack(connection, logs)
    except Damaged:
        return "was damaged"
    finally:
        connection.close()


def _lack(connection: SqliteConnection, logs: Path) -> str:
    """A journal that was cut or lost leaves a sound database, which has forgotten the newest records."""
    knows = connection.has_table("donewhen_sessions")
    for mirror in mirrors(logs):
        known = head_of(connection, mirror.session) if knows else None
        if mirror.last() > (known[1] if known else -1):
            return "had lost records"
    return ""


def _rebuild(database: Path, logs: Path, why: str) -> list[str]:
    fresh, warnings = _beside(database, "rebuilding"), list[str]()
    make_private(fresh)
    connection = SqliteConnection(fresh)
    try:
        migrate(connection)
        with connection.transaction(sync=True):
            taken = sum(_take_from_mirror(connection, mirror, warnings) for mirror in mirrors(logs))
            _take_from_damaged(connection, database)
    finally:
        connection.close()
    complete = fresh.rename(_beside(database, "rebuilt"))
    aside = move_aside(database, "damaged")
    complete.rename(database)
    kept = f"; the old one was kept as {aside}" if aside else ""
    return [f"{database} {why} and was rebuilt from {taken} records in {logs}{kept}", *warnings]


def _take_from_mirror(connection: SqliteConnection, mirror: Mirror, warnings: list[str]) -> int:
    entries = mirror.entries(warnings)
    first = next(entries, None)
    if first is None:
        return 0
    head = replace(first, session=mirror.session) if isinstance(first, Head) else _head_from_records(mirror, first)
    add_session(connection, head, owner="")
    rest = entries if isinstance(first, Head) else chain([first], entries)
    return restore_records(connection, head.session, (entry for entry in rest if isinstance(entry, Written)))


def _head_from_records(mirror: Mirror, first: Written) -> Head:
    """The first line was lost: what the session said when it started will have to do."""
    said = (entry for entry in mirror.records(0) if entry.kind == "session_started")
    body = next(said, first).read(mirror.session).body
    return Head(mirror.session, str(body.get("repo", "")), str(body.get("intent", "")), first.at)


def _take_from_damaged(connection: SqliteConnection, database: Path) -> None:
    """Whatever can still be read there, and is not in the log files. A copy is read: reading may write."""
    if not database.exists():
        return
    place = _beside(database, "reading")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    try:
        for part in _PARTS:
            if os.path.exists(f"{database}{part}"):
                shutil.copy(f"{database}{part}", f"{place / database.name}{part}")
        _read_what_can_be(connection, place / database.name)
    finally:
        shutil.rmtree(place)


def _read_what_can_be(connection: SqliteConnection, copy: Path) -> None:
    try:
        damaged = SqliteConnection(copy)
    except MachineryBroke:
        return
    try:
        for row in rows(damaged, None, None):
            add_session(connection, Head(row.id, row.repo, row.title, row.created_at), owner="")
            restore_records(connection, row.id, _readable(damaged, row.id))
    except MachineryBroke:
        return
    finally:
        damaged.close()


def _readable(damaged: SqliteConnection, session: str) -> Iterator[Written]:
    try:
        for page in pages(damaged, session, "position", 0):
            yield from (record for record, whole in page if whole)
    except MachineryBroke:
        return


def move_aside(database: Path, word: str) -> Path | None:
    """Out of the way, with its journal; where it lies now, None when there was nothing."""
    number = 1
    while any(os.path.lexists(f"{_beside(database, f'{word}-{number}')}{part}") for part in _PARTS):
        number += 1
    aside, moved = _beside(database, f"{word}-{number}"), False
    for part in _PARTS:
        if os.path.lexists(f"{database}{part}"):
            os.rename(f"{database}{part}", f"{aside}{part}")
            moved = True
    return aside if moved else None


def _remove(database: Path) -> None:
    for part in _PARTS:
        Path(f"{database}{part}").unlink(missing_ok=True)


def _beside(database: Path, word: str) -> Path:
    return database.with_name(f"{database.name}.{word}")
