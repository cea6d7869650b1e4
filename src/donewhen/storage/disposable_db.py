"""Disposable SQLite file: nothing else depends on it, so a damaged one is moved aside and replaced by a new one.

It is never repaired and has no second copy. Several processes may open it. A process that finds it damaged checks that
again under an exclusive lock, so that a new file is never mistaken for the damaged one.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from pathlib import Path

from donewhen.errors import MachineryBroke
from donewhen.storage.connection import Busy, Connection, Damaged, SqliteConnection
from donewhen.storage.migrations import Schema, migrate
from donewhen.storage.rebuild import make_private, move_aside

FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
STEP = 0.005


def connect(file: Path, schema: Schema, lock_timeout: float) -> SqliteConnection:
    """Return a connection to the file, creating it if needed. Raise `Damaged` if it is not a valid database."""
    with _exclusive(file, lock_timeout), contextlib.ExitStack() as unless_migrated:
        # Two processes that create a file at the same time would conflict, and SQLite does not wait then.
        make_private(file)
        connection = SqliteConnection(file, lock_timeout)
        unless_migrated.callback(connection.close)
        connection.run("PRAGMA secure_delete = ON")  # sensitive content that is deleted must not stay readable
        migrate(connection, schema)
        unless_migrated.pop_all()
    return connection


def purge_journal(connection: Connection) -> None:
    """Empty the journal, so that deleted content is not left there either, unless another process is reading it."""
    if isinstance(connection, SqliteConnection):
        connection.run("PRAGMA wal_checkpoint(TRUNCATE)")


def set_aside(file: Path, lock_timeout: float) -> Path | None:
    """Move a damaged file aside. Return its new path; None if it was not damaged (any more)."""
    with _exclusive(file, lock_timeout):
        if not file.exists() or _is_sound(file):
            return None
        return move_aside(file, "damaged")


@contextlib.contextmanager
def _exclusive(file: Path, lock_timeout: float) -> Generator[None]:
    """Hold the lock under which the file is opened or moved aside. Report system errors with the file's path."""
    try:
        descriptor = os.open(file.with_name(f"{file.name}.lock"), FLAGS, 0o600)
        try:
            _lock(descriptor, file, lock_timeout)
            yield
        finally:
            os.close(descriptor)
    except OSError as error:
        raise MachineryBroke(f"{file}: {error.strerror}") from error


def _lock(descriptor: int, file: Path, lock_timeout: float) -> None:
    deadline = time.monotonic() + lock_timeout
    while True:
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.monotonic() > deadline:
            raise Busy(f"{file} has been locked by another process for {lock_timeout:g} s")
        time.sleep(STEP)


def _is_sound(file: Path) -> bool:
    try:
        connection = SqliteConnection(file)
    except Damaged:
        return False
    try:
        return connection.run("PRAGMA integrity_check(1)")[0][0] == "ok"
    except Damaged:
        return False
    finally:
        connection.close()
