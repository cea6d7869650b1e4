"""PostgreSQL connection. Import it only if a PostgreSQL address is configured: the driver is large and optional.

The server keeps its own journal and backups, so there are no log files and no rebuild here.
"""

import contextlib
from collections.abc import Generator, Iterable, Sequence
from functools import cache
from typing import Any

import psycopg
from psycopg import conninfo, errors

from donewhen.errors import BadInput, MachineryBroke
from donewhen.storage.connection import LOCK_TIMEOUT, Busy, Connection, Value

_SCHEMA_LOCK = 0x646F6E65
"""An arbitrary number: the same in every donewhen, and unlikely to be used by other programs."""


class PostgresConnection(Connection):
    text = 'TEXT COLLATE "C"'
    word_table = "TABLE"
    word_columns = "(key TEXT PRIMARY KEY, words TSVECTOR NOT NULL)"
    word_value = "array_to_tsvector(string_to_array(?, ' '))"
    word_match = "words @@ CAST(? AS tsquery)"

    def __init__(self, url: str, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._url = url
        self._lock_timeout = lock_timeout
        self._name = _name(url)
        self._inside = False
        self._connection = self._connect()

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        with self._translate_errors():
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10, client_encoding="utf8")
            connection.execute("SELECT set_config('lock_timeout', %s, false)", (f"{int(self._lock_timeout * 1000)}",))
            return connection

    @property
    def _raw(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Reconnect after a server restart, but never inside a transaction."""
        if self._connection.closed and not self._inside:
            self._connection = self._connect()
        return self._connection

    def run(self, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        with self._translate_errors():
            cursor = self._raw.execute(_translate(statement), values)
            return cursor.fetchall() if cursor.description else []

    def run_each(self, statement: str, rows: Iterable[Sequence[Value]]) -> None:
        with self._translate_errors(), self._raw.cursor() as cursor:
            cursor.executemany(_translate(statement), rows)

    def word_query(self, beginnings: Sequence[str]) -> str:
        return " & ".join(f"'{one}':*" for one in beginnings)

    @contextlib.contextmanager
    def transaction(self, sync: bool = False) -> Generator[None]:
        with self._translate_errors(), self._raw.transaction():
            self._inside = True
            try:
                if sync:
                    self.run("SET LOCAL synchronous_commit TO ON")
                yield
            finally:
                self._inside = False

    def has_table(self, name: str) -> bool:
        return self.run("SELECT to_regclass(?)", name)[0][0] is not None

    def lock_schema(self) -> None:
        self.run("SELECT pg_advisory_xact_lock(?)", _SCHEMA_LOCK)

    def token(self) -> object:
        return None

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _translate_errors(self) -> Generator[None]:
        try:
            yield
        except errors.LockNotAvailable as error:
            raise Busy(f"{self._name} has been locked by another process for {self._lock_timeout:g} s") from error
        except errors.DiskFull as error:
            raise MachineryBroke(f"the disk of {self._name} is full; nothing was written") from error
        except psycopg.Error as error:
            raise MachineryBroke(f"{self._name}: {' '.join(str(error).split())}") from error


def _name(url: str) -> str:
    """Return a name for messages. Neither it nor the error about an invalid address may contain part of a password."""
    refused = BadInput("storage.url is not a valid postgresql:// address (special characters must be escaped)")
    try:
        known = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise refused from None
    host, name = str(known.get("host", "the local server")), str(known.get("dbname", ""))
    if "@" in host + name or not str(known.get("port", "1")).replace(",", "").isdigit():
        raise refused  # part of a password with an unescaped slash or colon was parsed as host, port or name
    return f"the database {name} at {host}"


@cache
def _translate(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()
