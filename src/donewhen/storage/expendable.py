"""A SQLite file of which nothing else depends: one that is damaged is set aside, and a new one takes its place.

Nobody mends it and nothing is copied beside it. Several processes may open it; who finds it damaged makes sure of that
alone, under a lock, so that a new one is never taken for the old.
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
from donewhen.storage.rebuild import move_aside

FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
STEP = 0.005


def connected(file: Path, schema: Schema, patience: float) -> SqliteConnection:
    """A connection to the file, which is made if need be. `Damaged` when it is no database any more."""
    with _alone(file, patience), contextlib.ExitStack() as unless_migrated:
        # Two who make a file at the same time would be in each other's way, and SQLite does not wait then.
        os.close(os.open(file, FLAGS, 0o600))
        connection = SqliteConnection(file, patience)
        unless_migrated.callback(connection.close)
        connection.run("PRAGMA secure_delete = ON")  # what is removed because of what it says must not stay readable
        migrate(connection, schema)
        unless_migrated.pop_all()
    return connection


def purge_journal(connection: Connection) -> None:
    """After something was removed: it is not left in the journal either, unless somebody else is reading there."""
    if isinstance(connection, SqliteConnection):
        connection.run("PRAGMA wal_checkpoint(TRUNCATE)")


def set_aside(file: Path, patience: float) -> Path | None:
    """Move a damaged file out of the way; where it lies now, None when it was not damaged (any more)."""
    with _alone(file, patience):
        if not file.exists() or _is_sound(file):
            return None
        return move_aside(file, "damaged")


@contextlib.contextmanager
def _alone(file: Path, patience: float) -> Generator[None]:
    """Nobody else opens the file or sets it aside meanwhile. What the system refuses is told of the file."""
    try:
        descriptor = os.open(file.with_name(f"{file.name}.lock"), FLAGS, 0o600)
        try:
            _lock(descriptor, file, patience)
            yield
        finally:
            os.close(descriptor)
    except OSError as error:
        raise MachineryBroke(f"{file}: {error.strerror}") from error


def _lock(descriptor: int, file: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while True:
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.monotonic() > deadline:
            raise Busy(f"{file} is being opened by another process for {patience:g} s by now")
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
