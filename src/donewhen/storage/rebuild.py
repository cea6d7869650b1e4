"""Examination of a SQLite file that was not closed properly, and its rebuild from the log files if it is damaged.

The caller must be the only process that has the file open. The damaged file is moved aside unchanged and never opened
for writing. The new file gets the real name only when it is complete, so after a crash the next start tries again.
"""

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.storage.connection import Damaged, SqliteConnection
from donewhen.storage.log_file import LogFile, LogHeader, log_files
from donewhen.storage.migrations import migrate
from donewhen.storage.record import Written
from donewhen.storage.tables import add_session, head_of, pages, restore_records, rows

_PARTS = ("-wal", "-shm", "")
"""File name suffixes. The journal is first: a remaining journal would be applied to the next database file."""


def ensure_sound(database: Path, logs: Path) -> list[str]:
    """Ensure that the file is sound, or replace it by a sound one. Return warnings about what was done."""
    complete = _path_with_suffix(database, "rebuilt")
    if complete.exists() and not database.exists():
        move_aside(database, "left")
        complete.rename(database)
    for unfinished in (complete, _path_with_suffix(database, "rebuilding")):
        _remove(unfinished)
    if not database.exists() or database.stat().st_size == 0:
        return _rebuild(database, logs, "was missing") if log_files(logs) else []
    why = _damage(database, logs)
    return _rebuild(database, logs, why) if why else []


def make_private(database: Path) -> None:
    """Create the file for its owner alone, if it does not exist. Raise OSError for a link or a directory.

    A file that exists is not opened: when any descriptor of it is closed, all locks of this process on it are gone,
    also those of its other connections. Another process would then remove the journal that they write to.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    mode = database.lstat().st_mode
    if not stat.S_ISREG(mode):
        code = errno.ELOOP if stat.S_ISLNK(mode) else errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO
        raise OSError(code, os.strerror(code), str(database))


def _damage(database: Path, logs: Path) -> str:
    try:
        connection = SqliteConnection(database, read_only=True)
    except Damaged:
        return "was damaged"
    try:
        found = connection.run("PRAGMA quick_check(1)")[0][0]
        return "was damaged" if found != "ok" else _missing_records(connection, logs)
    except Damaged:
        return "was damaged"
    finally:
        connection.close()


def _missing_records(connection: SqliteConnection, logs: Path) -> str:
    """Return why the database is incomplete: a truncated or lost journal leaves a sound file without newest records."""
    has_sessions = connection.has_table("donewhen_sessions")
    for log_file in log_files(logs):
        known = head_of(connection, log_file.session) if has_sessions else None
        if log_file.last_position() > (known[1] if known else -1):
            return "had lost records"
    return ""


def _rebuild(database: Path, logs: Path, why: str) -> list[str]:
    fresh, warnings = _path_with_suffix(database, "rebuilding"), list[str]()
    make_private(fresh)
    connection = SqliteConnection(fresh)
    try:
        migrate(connection)
        with connection.transaction(sync=True):
            added = sum(_add_from_log(connection, log_file, warnings) for log_file in log_files(logs))
            _add_from_damaged(connection, database)
    finally:
        connection.close()
    complete = fresh.rename(_path_with_suffix(database, "rebuilt"))
    aside = move_aside(database, "damaged")
    complete.rename(database)
    kept = f"; the old one was kept as {aside}" if aside else ""
    return [f"{database} {why} and was rebuilt from {added} records in {logs}{kept}", *warnings]


def _add_from_log(connection: SqliteConnection, log_file: LogFile, warnings: list[str]) -> int:
    entries = log_file.entries(warnings)
    first = next(entries, None)
    if first is None:
        return 0
    head = (
        replace(first, session=log_file.session)
        if isinstance(first, LogHeader)
        else _head_from_records(log_file, first)
    )
    add_session(connection, head, owner="")
    rest = entries if isinstance(first, LogHeader) else chain([first], entries)
    return restore_records(connection, head.session, (entry for entry in rest if isinstance(entry, Written)))


def _head_from_records(log_file: LogFile, first: Written) -> LogHeader:
    """Build the header from the `session_started` event, because the first line was lost."""
    started = (entry for entry in log_file.records(0) if entry.kind == "session_started")
    body = next(started, first).read(log_file.session).body
    return LogHeader(log_file.session, str(body.get("repo", "")), str(body.get("intent", "")), first.at)


def _add_from_damaged(connection: SqliteConnection, database: Path) -> None:
    """Add what is still readable there and missing in the log files. Use a copy: reading may write to the file."""
    if not database.exists():
        return
    directory = _path_with_suffix(database, "reading")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    try:
        for part in _PARTS:
            if os.path.exists(f"{database}{part}"):
                shutil.copy(f"{database}{part}", f"{directory / database.name}{part}")
        _add_readable(connection, directory / database.name)
    finally:
        shutil.rmtree(directory)


def _add_readable(connection: SqliteConnection, copy: Path) -> None:
    try:
        damaged = SqliteConnection(copy)
    except MachineryBroke:
        return
    try:
        for row in rows(damaged, None, None):
            add_session(connection, LogHeader(row.id, row.repo, row.title, row.created_at), owner="")
            restore_records(connection, row.id, _readable(damaged, row.id))
    except MachineryBroke:
        return
    finally:
        damaged.close()


def _readable(damaged: SqliteConnection, session: str) -> Iterator[Written]:
    try:
        for page in pages(damaged, session, "position", 0):
            yield from (record for record, is_valid in page if is_valid)
    except MachineryBroke:
        return


def move_aside(database: Path, suffix: str) -> Path | None:
    """Move the file and its journal aside. Return the new path; None if there was nothing to move."""
    number = 1
    while any(os.path.lexists(f"{_path_with_suffix(database, f'{suffix}-{number}')}{part}") for part in _PARTS):
        number += 1
    aside, moved = _path_with_suffix(database, f"{suffix}-{number}"), False
    for part in _PARTS:
        if os.path.lexists(f"{database}{part}"):
            os.rename(f"{database}{part}", f"{aside}{part}")
            moved = True
    return aside if moved else None


def _remove(database: Path) -> None:
    for part in _PARTS:
        Path(f"{database}{part}").unlink(missing_ok=True)


def _path_with_suffix(database: Path, suffix: str) -> Path:
    return database.with_name(f"{database.name}.{suffix}")
