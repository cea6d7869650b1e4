"""The database of the loops: a SQLite file in the state directory, or the PostgreSQL server of the sessions.

It opens on first use. A damaged file is moved aside with a one-line warning, and a new one is created.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from donewhen.errors import MachineryBroke
from donewhen.loops.loop_rows import note_loss
from donewhen.loops.store_schema import LOOPS
from donewhen.storage.connection import Connection, Damaged
from donewhen.storage.disposable_db import connect, set_aside
from donewhen.storage.migrations import migrate
from donewhen.storage.open_server import connect_server

T = TypeVar("T")
FILE = "loops.db"


class LoopDatabase:
    def __init__(self, directory: Path, url: str, lock_timeout: float) -> None:
        self._file = directory / FILE
        self._url = url
        self._lock_timeout = lock_timeout
        self._connection: Connection | None = None
        self.warnings: list[str] = []
        """What was damaged and what was done about it, for a person to read."""

    def read(self, ask: Callable[[Connection], T]) -> T:
        try:
            return ask(self._open())
        except Damaged as damage:
            self._replace(damage)
            return ask(self._open())

    def write(self, change: Callable[[Connection], T], sync: bool = False) -> T:
        """Run `change` as one transaction. With `sync` its result survives a power loss right after this call."""

        def in_transaction(connection: Connection) -> T:
            with connection.transaction(sync):
                return change(connection)

        return self.read(in_transaction)

    def close(self) -> None:
        """Close the database. A second call does nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> Connection:
        self._connection = self._connection or (self._on_server() if self._url else self._in_file())
        return self._connection

    def _on_server(self) -> Connection:
        with ExitStack() as unless_migrated:
            connection = connect_server(self._url, self._lock_timeout)
            unless_migrated.callback(connection.close)
            migrate(connection, LOOPS)
            unless_migrated.pop_all()
        return connection

    def _in_file(self) -> Connection:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise MachineryBroke(f"{self._file.parent}: {error.strerror}") from error
        return connect(self._file, LOOPS, self._lock_timeout)

    def _replace(self, damage: Damaged) -> None:
        """Move the damaged file aside. Another process may have done so already."""
        self.close()
        aside = set_aside(self._file, self._lock_timeout)
        if aside is not None:
            self.warnings.append(
                f"{self._file} was damaged and is kept as {aside}; the loops have no history now and are paused"
            )
        try:
            connection = self._open()
            if aside is not None:
                note_loss(connection, f"its records were damaged and are kept as {aside}")
        except Damaged:
            raise MachineryBroke(f"{self._file} is damaged and could not be moved away") from damage
