"""Database connection with the same interface for SQLite and PostgreSQL: statements in, rows out.

This module does not know what is stored. Statements use `?` for values. A database error becomes a one-line message.
All calls are synchronous: a commit costs less than handing it to a thread.
"""

import contextlib
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from donewhen.errors import MachineryBroke

Value = str | int | None
LOCK_TIMEOUT = 5.0
"""Seconds that a statement waits for a lock that another process holds."""


class Busy(MachineryBroke):
    """Another process has held a lock on the database for too long."""


class Damaged(MachineryBroke):
    """The database file is corrupt."""


class Connection(ABC):
    text: ClassVar[str]
    """The type of a text column that is compared byte by byte."""
    word_table: ClassVar[str]
    word_columns: ClassVar[str]
    """The SQL before and after the table name in a statement that creates a word table (see `text_search`)."""
    word_value: ClassVar[str]
    """The SQL placeholder for a list of words in such a table."""
    word_match: ClassVar[str]
    """The SQL condition that selects rows by their words."""
    is_damaged = False
    """True if damage was found while the file was read or written."""

    @abstractmethod
    def run(self, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows; an empty list if it returns none."""

    @abstractmethod
    def run_each(self, statement: str, rows: Iterable[Sequence[Value]]) -> None:
        """Run the same statement for every row of values."""

    @abstractmethod
    def word_query(self, beginnings: Sequence[str]) -> str:
        """Return the value for `word_match` that selects rows with a word for each of these prefixes."""

    @abstractmethod
    def transaction(self, sync: bool = False) -> AbstractContextManager[None]:
        """Run the block as one transaction. With `sync` the result is on disk on return and survives a power loss."""

    @abstractmethod
    def has_table(self, name: str) -> bool: ...

    @abstractmethod
    def lock_schema(self) -> None:
        """Inside a transaction: wait until no other process changes the schema."""

    @abstractmethod
    def token(self) -> object:
        """Return a cheap value that changes whenever the content may have changed; None if the database has none."""

    @abstractmethod
    def close(self) -> None: ...


class SqliteConnection(Connection):
    text = "TEXT"
    word_table = "VIRTUAL TABLE"
    word_columns = "USING fts5(key UNINDEXED, words)"
    word_value = "?"
    word_match = "words MATCH ?"

    def __init__(self, path: Path, lock_timeout: float = LOCK_TIMEOUT, read_only: bool = False) -> None:
        self.path = path
        self._lock_timeout = lock_timeout
        self._commits = 0
        with self._translate_errors():
            mode = "ro" if read_only else "rw"
            name = f"file:{_quote(path)}?mode={mode}"
            self._raw = sqlite3.connect(name, timeout=lock_timeout, isolation_level=None, uri=True)
        # A damaged text must still be returned, so that its checksum can be compared.
        self._raw.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            self._set_up(read_only)
        except MachineryBroke:
            self._raw.close()
            raise

    def _set_up(self, read_only: bool) -> None:
        self.run("PRAGMA foreign_keys = ON")
        if not read_only:
            self.run("PRAGMA journal_mode = WAL")
            self.run("PRAGMA synchronous = NORMAL")

    def run(self, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        with self._translate_errors():
            return self._raw.execute(statement, values).fetchall()

    def run_each(self, statement: str, rows: Iterable[Sequence[Value]]) -> None:
        with self._translate_errors():
            self._raw.executemany(statement, rows)

    def word_query(self, beginnings: Sequence[str]) -> str:
        return " AND ".join(f'"{one}"*' for one in beginnings)

    @contextlib.contextmanager
    def transaction(self, sync: bool = False) -> Generator[None]:
        if sync:
            self.run("PRAGMA synchronous = FULL")
        try:
            self.run("BEGIN IMMEDIATE")
            yield
            self.run("COMMIT")
            self._commits += 1
        finally:
            if self._raw.in_transaction:
                self.run("ROLLBACK")
            if sync:
                self.run("PRAGMA synchronous = NORMAL")

    def has_table(self, name: str) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name))

    def lock_schema(self) -> None:
        """Do nothing: a write transaction already locks the whole database."""

    def token(self) -> object:
        """Return SQLite's change counter and our commit count: the counter does not include our own changes."""
        return self.run("PRAGMA data_version")[0][0], self._commits

    def close(self) -> None:
        with self._translate_errors():
            self._raw.close()

    @contextlib.contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._error_for(error) from error

    def _error_for(self, error: sqlite3.Error) -> MachineryBroke:
        message = " ".join(str(error).split())
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return Busy(f"{self.path} has been locked by another process for {self._lock_timeout:g} s")
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                self.is_damaged = True
                return Damaged(
                    f"{self.path} is damaged ({message}); it is rebuilt when no other donewhen process has it open"
                )
            case sqlite3.SQLITE_FULL:
                return MachineryBroke(f"the disk of {self.path} is full; nothing was written")
            case _:
                return MachineryBroke(f"{self.path}: {message}")


def _quote(path: Path) -> str:
    """Return the path for a `file:` URI: every byte that is not a safe character is escaped."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in os.fsencode(path.absolute()))
