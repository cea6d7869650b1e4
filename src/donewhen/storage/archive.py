"""Archive of all sessions and their append-only logs in one database: SQLite in a directory, or PostgreSQL.

A writer must hold a lease; reading needs none. The archive does not interpret records, except for the few columns that
a list of sessions shows. With SQLite, each session also has a log file, from which a damaged database is rebuilt. With
PostgreSQL there are no log files; the server is responsible for its own recovery.
"""

import contextlib
import re
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path

from donewhen.errors import BadInput, MachineryBroke
from donewhen.storage.connection import LOCK_TIMEOUT, Connection, Damaged, SqliteConnection
from donewhen.storage.db_lock import DatabaseLock
from donewhen.storage.lease import Lease, now
from donewhen.storage.log_file import LogFile, LogHeader
from donewhen.storage.migrations import migrate
from donewhen.storage.open_server import connect_server
from donewhen.storage.owner import Owned, Owner
from donewhen.storage.read_records import read
from donewhen.storage.rebuild import ensure_sound, make_private
from donewhen.storage.record import Record, SessionRow, storable
from donewhen.storage.tables import PAGE, add_session, hand_over, holder_of, ids_with_prefix, last_seq, pages, rows

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SHOWN = 5
_FASTEST, _SLOWEST, _SLOWING = 0.005, 0.1, 1.5


class Archive:
    def __init__(self, connection: Connection, lock: DatabaseLock | None = None, logs: Path | None = None) -> None:
        """Private: use `Archive.open`."""
        self.warnings: list[str] = []
        """Messages for a person: what was damaged, and what was done about it."""
        self._connection = connection
        self._lock = lock
        self._logs = logs
        self._remove_stamp = lock.remove_stamp if lock else lambda: None

    @classmethod
    def open(cls, directory: Path, url: str = "", lock_timeout: float = LOCK_TIMEOUT) -> "Archive":
        """Open the sessions in `directory`, or those of a PostgreSQL server if `url` is given."""
        return _on_server(url, lock_timeout) if url else _in_directory(directory, lock_timeout)

    def close(self) -> None:
        """Close the archive. A second call does nothing."""
        self._connection.close()
        lock, self._lock = self._lock, None
        if lock:
            lock.release(sound=not self._connection.is_damaged)

    def create(self, session: str, repo: str, title: str, owner: Owner | None = None) -> Lease:
        """Create a session, owned by this process unless `owner` is given."""
        if not _ID.fullmatch(session):
            raise BadInput(f"{session!r} is not a valid session id")
        if (log_file := self._log_file(session)) and log_file.path.exists():
            raise BadInput(f"session {session} already has a log: {log_file.path}")
        self._remove_stamp()
        head = LogHeader(session, storable(repo), storable(title), now())
        if not add_session(self._connection, head, (owner or Owner.here()).text()):
            raise BadInput(f"session {session} already exists")
        return self._lease(session, 1)

    def claim(self, session: str, owner: Owner | None = None, force: bool = False) -> Lease:
        """Become the writer of a session, with the next generation. Raise `Owned` if the current owner is alive.

        `force` takes the session anyway: for an owner on another host that a person knows to be gone.
        """
        self._remove_stamp()
        while known := holder_of(self._connection, session):
            before = Owner.read(known[1])
            if before and not force and before.is_alive():
                raise Owned(session, before)
            if hand_over(self._connection, session, known, (owner or Owner.here()).text()):
                return self._lease(session, known[0] + 1)
        raise _unknown(session)

    def owner(self, session: str) -> Owner | None:
        known = holder_of(self._connection, session)
        return Owner.read(known[1]) if known else None

    def find(self, prefix: str, repo: str | None = None) -> str:
        """Return the only session id with this prefix. An empty prefix is an error, even with only one session."""
        if not prefix:
            raise BadInput("the id of a session is empty")
        if not _ID.fullmatch(prefix):
            raise _unknown(prefix)
        found = ids_with_prefix(self._connection, prefix, None if repo is None else storable(repo))
        if prefix in found or len(found) == 1:
            return prefix if prefix in found else found[0]
        if not found:
            raise _unknown(prefix)
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise BadInput(f"{prefix!r} is ambiguous; it matches these sessions: {', '.join(found[:_SHOWN])}{more}")

    def sessions(self, repo: str | None = None, limit: int | None = None) -> list[SessionRow]:
        """Return the sessions, newest first."""
        return rows(self._connection, None if repo is None else storable(repo), limit)

    def token(self) -> object:
        """Return a cheap value that changes whenever the content may have changed; None if the database has none."""
        return self._connection.token()

    def records(self, session: str, after: int = 0, kinds: Collection[str] | None = None) -> Iterator[Record]:
        """Yield events and notes after a position, page by page."""
        found = pages(self._connection, session, "position", after, kinds)
        return read(found, session, self._log_file(session), self.warnings)

    def events(self, session: str, after_seq: int = 0) -> Iterator[Record]:
        """Yield the public events. An event that can no longer be read is left out; the others keep their numbers."""
        found = pages(self._connection, session, "seq", after_seq)
        return read(found, session, self._log_file(session), self.warnings)

    async def follow(
        self, session: str, after_seq: int = 0, is_over: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[Record]:
        """Yield the existing events, then new ones, each once and in order.

        Stops when the session is deleted, or once `is_over()` was true at the start of a poll.
        """
        import anyio.lowlevel

        if last_seq(self._connection, session) is None:
            raise _unknown(session)
        seen, delay, token = after_seq, _FASTEST, object()
        while True:
            is_last_poll = is_over()
            before, token = token, self._connection.token()
            if token is None or token != before:
                newest = last_seq(self._connection, session)
                if newest is None:
                    return
                for record in self.events(session, seen) if newest > seen else ():
                    yield record
                    seen, delay = record.seq or seen, _FASTEST
                    if seen % PAGE == 0:
                        await anyio.lowlevel.checkpoint()  # let other tasks run during a long replay
                seen = max(seen, newest)
            if is_last_poll:
                return
            await anyio.sleep(delay)
            delay = min(delay * _SLOWING, _SLOWEST)

    def delete(self, session: str) -> None:
        """Delete a session completely. Raise `Owned` if another process owns it and is alive."""
        if holder_of(self._connection, session) is None:
            raise _unknown(session)
        owner = self.owner(session)
        if owner and owner != Owner.here() and owner.is_alive():
            raise Owned(session, owner)
        self._remove_stamp()
        if log_file := self._log_file(session):
            log_file.remove()  # first: a remaining log file would bring the session back in a later rebuild
        with self._connection.transaction():
            self._connection.run("DELETE FROM donewhen_sessions WHERE id = ?", session)

    def _lease(self, session: str, generation: int) -> Lease:
        return Lease(self._connection, self._log_file(session), self.warnings, session, generation)

    def _log_file(self, session: str) -> LogFile | None:
        return LogFile(self._logs / f"{session}.jsonl") if self._logs else None


def _unknown(session: str) -> BadInput:
    return BadInput(f"there is no session {session!r}")


def _on_server(url: str, lock_timeout: float) -> Archive:
    with ExitStack() as unless_opened:
        connection = connect_server(url, lock_timeout)
        unless_opened.callback(connection.close)
        migrate(connection)
        unless_opened.pop_all()
    return Archive(connection)


def _in_directory(directory: Path, lock_timeout: float) -> Archive:
    database, logs = directory / "sessions.db", directory / "logs"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as unless_opened:
            lock = DatabaseLock(database, lock_timeout)
            unless_opened.callback(lock.release, sound=False)
            connection, warnings = _open_sound(database, logs, lock_timeout, lock)
            lock.share()
            unless_opened.pop_all()
    except OSError as error:
        raise MachineryBroke(f"{error.filename or database}: {error.strerror}") from error
    archive = Archive(connection, lock, logs)
    archive.warnings += warnings
    return archive


def _open_sound(
    database: Path, logs: Path, lock_timeout: float, lock: DatabaseLock
) -> tuple[SqliteConnection, list[str]]:
    """Return a connection to a file without known damage, and warnings about repairs that were needed."""
    if not lock.acquire():
        return _connect(database, lock_timeout), []
    if lock.has_valid_stamp():
        with contextlib.suppress(Damaged):
            return _connect(database, lock_timeout), []
    lock.remove_stamp()
    warnings = ensure_sound(database, logs)
    make_private(database)
    return _connect(database, lock_timeout), warnings


def _connect(database: Path, lock_timeout: float) -> SqliteConnection:
    with ExitStack() as unless_migrated:
        connection = SqliteConnection(database, lock_timeout)
        unless_migrated.callback(connection.close)
        migrate(connection)
        unless_migrated.pop_all()
    return connection
