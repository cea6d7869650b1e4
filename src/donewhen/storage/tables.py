"""SQL statements for the two tables, the same text for every database. Rules about who may write are not here."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from donewhen.records import frozen
from donewhen.storage.connection import Connection
from donewhen.storage.log_file import LogHeader
from donewhen.storage.record import SUMMARY_EVENTS, SessionRow, Written, checksum, summary

PAGE = 100
"""Maximum number of records in memory at a time."""

_ADD = (
    "INSERT INTO donewhen_records (session, position, seq, at, generation, kind, body, checksum)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_ROW = "id, repo, title, created_at, last_at, state, outcome, reason, seq"


@frozen
class Batch:
    """One write: the number of records, how many of them are events, and the changed columns of the session's row."""

    records: int
    events: int
    now: str
    changes: Mapping[str, str]


def add_session(connection: Connection, head: LogHeader, owner: str) -> bool:
    """Insert a session. Return False if the id already exists."""
    return bool(
        connection.run(
            "INSERT INTO donewhen_sessions (id, repo, title, created_at, last_at, state, outcome, reason, generation,"
            " owner, position, seq) VALUES (?, ?, ?, ?, ?, 'created', '', '', 1, ?, 0, 0)"
            " ON CONFLICT DO NOTHING RETURNING id",
            head.session,
            head.repo,
            head.title,
            head.created_at,
            head.created_at,
            owner,
        )
    )


def add_records(connection: Connection, session: str, records: Iterable[Written]) -> None:
    connection.run_each(_ADD, ((session, *record, checksum(record.payload())) for record in records))


def restore_records(connection: Connection, session: str, records: Iterator[Written]) -> int:
    """Add the missing records with their original numbers. Return how many records were passed in."""
    count, position, seq, at = 0, 0, 0, ""
    while batch := list(islice(records, PAGE)):
        rows = ((session, *record, checksum(record.payload())) for record in batch)
        connection.run_each(f"{_ADD} ON CONFLICT DO NOTHING", rows)
        count += len(batch)
        for record in batch:
            position, seq, at = max(position, record.position), max(seq, record.seq or 0), max(at, record.at)
    changes: dict[str, str] = {}
    for page in pages(connection, session, "position", 0, SUMMARY_EVENTS):
        for record, _ in page:
            changes |= summary(record.kind, record.read(session).body)
    columns = "".join(f", {name} = ?" for name in changes)
    connection.run(
        "UPDATE donewhen_sessions SET position = CASE WHEN position > ? THEN position ELSE ? END,"
        " seq = CASE WHEN seq > ? THEN seq ELSE ? END, last_at = CASE WHEN last_at > ? THEN last_at ELSE ? END"
        f"{columns} WHERE id = ?",
        *(position, position, seq, seq, at, at, *changes.values(), session),
    )
    return count


def reserve_numbers(connection: Connection, session: str, generation: int, batch: Batch) -> tuple[int, int, str] | None:
    """Reserve numbers for a batch. Return its last position, its last seq and its time; None if the lease is lost.

    The row stays locked until the transaction ends, so numbers become visible in order.
    """
    columns = "".join(f", {name} = ?" for name in batch.changes)
    rows = connection.run(
        "UPDATE donewhen_sessions SET position = position + ?, seq = seq + ?,"
        f" last_at = CASE WHEN last_at > ? THEN last_at ELSE ? END{columns}"
        " WHERE id = ? AND generation = ? RETURNING position, seq, last_at",
        *(batch.records, batch.events, batch.now, batch.now, *batch.changes.values(), session, generation),
    )
    return (rows[0][0], rows[0][1], rows[0][2]) if rows else None


def head_of(connection: Connection, session: str) -> tuple[LogHeader, int] | None:
    """Return the header of a session and its last position."""
    rows = connection.run("SELECT repo, title, created_at, position FROM donewhen_sessions WHERE id = ?", session)
    return (LogHeader(session, *rows[0][:3]), rows[0][3]) if rows else None


def holder_of(connection: Connection, session: str) -> tuple[int, str] | None:
    """Return generation and owner text of a session; None if it does not exist."""
    rows = connection.run("SELECT generation, owner FROM donewhen_sessions WHERE id = ?", session)
    return (rows[0][0], rows[0][1]) if rows else None


def hand_over(connection: Connection, session: str, current: tuple[int, str], owner: str) -> bool:
    """Give the session to `owner` with the next generation. Return False if `current` is no longer current."""
    return bool(
        connection.run(
            "UPDATE donewhen_sessions SET generation = generation + 1, owner = ?"
            " WHERE id = ? AND generation = ? AND owner = ? RETURNING id",
            *(owner, session, *current),
        )
    )


def last_seq(connection: Connection, session: str) -> int | None:
    rows = connection.run("SELECT seq FROM donewhen_sessions WHERE id = ?", session)
    return rows[0][0] if rows else None


def rows(connection: Connection, repo: str | None, limit: int | None) -> list[SessionRow]:
    """Return the sessions, newest first."""
    where, values = ("", ()) if repo is None else (" WHERE repo = ?", (repo,))
    most, count = ("", ()) if limit is None else (" LIMIT ?", (limit,))
    found = connection.run(
        f"SELECT {_ROW} FROM donewhen_sessions{where} ORDER BY created_at DESC, id{most}", *values, *count
    )
    return [SessionRow(*row) for row in found]


def ids_with_prefix(connection: Connection, prefix: str, repo: str | None) -> list[str]:
    where, values = ("", ()) if repo is None else (" AND repo = ?", (repo,))
    found = connection.run(
        f"SELECT id FROM donewhen_sessions WHERE substr(id, 1, ?) = ?{where} ORDER BY created_at DESC, id",
        *(len(prefix), prefix, *values),
    )
    return [row[0] for row in found]


def pages(
    connection: Connection, session: str, by: str, after: int, kinds: Collection[str] | None = None
) -> Iterator[list[tuple[Written, bool]]]:
    """Yield pages of records in order of `position` or `seq`, each with True if its checksum matches.

    No statement stays open between pages, so a slow reader does not block database maintenance.
    """
    if kinds is not None and not kinds:
        return
    only = "" if kinds is None else f" AND kind IN ({', '.join('?' * len(kinds))})"
    statement = (
        "SELECT position, seq, at, generation, kind, body, checksum FROM donewhen_records"
        f" WHERE session = ? AND {by} > ?{only} ORDER BY {by} LIMIT {PAGE}"
    )
    while page := connection.run(statement, session, after, *(kinds or ())):
        yield [_with_checksum_result(row) for row in page]
        last = page[-1][0 if by == "position" else 1]
        if not isinstance(last, int) or last <= after:  # only in a damaged file; prevents an endless loop
            return
        after = last


def _with_checksum_result(row: tuple[Any, ...]) -> tuple[Written, bool]:
    record = Written(*row[:6])
    is_valid = isinstance(record.kind, str) and checksum(record.payload()) == row[6]  # pyright: ignore[reportUnnecessaryIsInstance] - a damaged file gives anything
    return record, is_valid
