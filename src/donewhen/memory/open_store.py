"""Opens the repair store on first use: a SQLite file next to the sessions, or their PostgreSQL server.

A damaged file is moved aside with a one-line warning, and a new one is created. Only hints are lost with it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from donewhen.errors import MachineryBroke
from donewhen.memory.repair_store import RepairStore
from donewhen.memory.schema import MEMORY
from donewhen.storage.connection import Connection, Damaged
from donewhen.storage.disposable_db import connect, set_aside
from donewhen.storage.migrations import migrate
from donewhen.storage.open_server import connect_server

T = TypeVar("T")
FILE = "memory.db"
LOCK_TIMEOUT = 0.5
"""Seconds to wait for other writers. Short, because the waiting process has other work to do."""


class RepairStoreHandle:
    """The location of the repair store. Nothing is created or opened before the first use."""

    def __init__(self, directory: Path, url: str = "", lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._file = directory / FILE
        self._url = url
        self._lock_timeout = lock_timeout
        self._store: RepairStore | None = None
        self._server: Connection | None = None
        self.warnings: list[str] = []
        """What was damaged and what was done about it, for a person to read."""

    def read(self, ask: Callable[[RepairStore], T], nothing: T) -> T:
        """Return the result of `ask`; `nothing` if there is no store yet. It does not create one."""
        return self.write(ask) if self._store is not None or self._exists() else nothing

    def write(self, change: Callable[[RepairStore], T]) -> T:
        try:
            return change(self._open())
        except Damaged as damage:
            self.close()
            aside = set_aside(self._file, self._lock_timeout)
            if aside is not None:
                self.warnings.append(f"{self._file} was damaged and is kept as {aside}; the memory is empty now")
            try:
                return change(self._open())
            except Damaged:
                raise MachineryBroke(f"{self._file} is damaged and could not be moved away") from damage

    def close(self) -> None:
        """Close the store. A second call does nothing."""
        store, self._store = self._store, None
        server, self._server = self._server, None
        for one in (store, server):
            if one is not None:
                one.close()

    def _open(self) -> RepairStore:
        self._store = self._store or RepairStore(self._connection())
        return self._store

    def _exists(self) -> bool:
        if self._url:
            return self._on_server().has_table(MEMORY.table)
        try:
            self._file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise MachineryBroke(f"{self._file}: {error.strerror}") from error
        return True

    def _connection(self) -> Connection:
        if not self._url:
            return connect(self._file, MEMORY, self._lock_timeout)
        migrate(self._on_server(), MEMORY)
        return self._on_server()

    def _on_server(self) -> Connection:
        self._server = self._server or connect_server(self._url, self._lock_timeout)
        return self._server
