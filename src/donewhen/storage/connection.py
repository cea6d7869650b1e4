"""One connection to one database, with the same words for SQLite and PostgreSQL. Statements in, rows out.

What is stored is not known here. Statements are written with `?` for values; what a database says when it fails
becomes one line. Everything is synchronous: a commit costs less than handing it to a thread.
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
PATIENCE = 5.0
"""Seconds that a statement waits for others who hold a lock."""


class Busy(MachineryBroke):
    """Somebody else holds the database for longer than anybody should."""


class Damaged(MachineryBroke):
    """The file is no longer what was written."""


class Connection(ABC):
    text: ClassVar[str]
    """The type of a text column, compared byte by byte."""
    word_table: ClassVar[str]
    word_columns: ClassVar[str]
    """What stands before and behind the name in a statement that makes a table of words (see `words`)."""
    word_value: ClassVar[str]
    """A value that is words, in such a table."""
    word_match: ClassVar[str]
    """The condition that the words of a row are asked with."""
    is_damaged = False
    """Whether a file has given itself away while it was read or written."""

    @abstractmethod
    def run(self, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        """The rows that a statement gives, none for one that gives no rows."""

    @abstractmethod
    def run_each(self, statement: str, rows: Iterable[Sequence[Value]]) -> None:
        """The same statement for every row of values."""

    @abstractmethod
    def word_query(self, beginnings: Sequence[str]) -> str:
        """The value of `word_match` that asks for rows which have a word with each of these beginnings."""

    @abstractmethod
    def transaction(self, sync: bool = False) -> AbstractContextManager[None]:
        """All or nothing. With `sync` it is on the disk when this returns, whatever happens to the power."""

    @abstractmethod
    def has_table(self, name: str) -> bool: ...

    @abstractmethod
    def lock_schema(self) -> None:
        """Inside a transaction: wait until nobody else changes the schema."""

    @abstractmethod
    def token(self) -> object:
        """Something cheap that changes whenever the content may have; None where there is no such thing."""

    @abstractmethod
    def close(self) -> None: ...


class SqliteConnection(Connection):
    text = "TEXT"
    word_table = "VIRTUAL TABLE"
    word_columns = "USING fts5(key UNINDEXED, words)"
    word_value = "?"
    word_match = "words MATCH ?"

    def __init__(self, path: Path, patience: float = PATIENCE, read_only: bool = False) -> None:
        self.path = path
        self._patience = patience
        self._commits = 0
        with self._explained():
            mode = "ro" if read_only else "rw"
            name = f"file:{_quoted(path)}?mode={mode}"
            self._raw = sqlite3.connect(name, timeout=patience, isolation_level=None, uri=True)
        # A damaged text must still come out, for its checksum to be looked at.
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
        with self._explained():
            return self._raw.execute(statement, values).fetchall()

    def run_each(self, statement: str, rows: Iterable[Sequence[Value]]) -> None:
        with self._explained():
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
        """A transaction that may write has the whole database for itself already."""

    def token(self) -> object:
        """The number of changes by others says nothing about our own."""
        return self.run("PRAGMA data_version")[0][0], self._commits

    def close(self) -> None:
        with self._explained():
            self._raw.close()

    @contextlib.contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explanation(error) from error

    def _explanation(self, error: sqlite3.Error) -> MachineryBroke:
        said = " ".join(str(error).split())
        match getattr(error, "sqlite_errorcode", 0) & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return Busy(f"{self.path} has been locked by another process for {self._patience:g} s")
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                self.is_damaged = True
                return Damaged(f"{self.path} is damaged ({said}); it is rebuilt when no other donewhen has it open")
            case sqlite3.SQLITE_FULL:
                return MachineryBroke(f"no room is left on the disk for {self.path}; nothing was written")
            case _:
                return MachineryBroke(f"{self.path}: {said}")


def _quoted(path: Path) -> str:
    """As a file address has it: every byte that is not plain is escaped."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in os.fsencode(path.absolute()))
