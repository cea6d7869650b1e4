"""SQL statements for the tables of the loops, the same text for every database. Which changes belong together, and who
may make them, is decided in `loop_store`.
"""

import datetime
from collections.abc import Iterable
from typing import Any

from donewhen.loops.loop_records import (
    FAILED,
    SCHEDULE,
    Decided,
    FindingStatus,
    LoopFinding,
    LoopState,
    LoopUsage,
    LoopWork,
    Occurrence,
    OccurrenceStatus,
    RunningRound,
    WorkStatus,
)
from donewhen.session.outcome import STOPPED
from donewhen.storage.connection import Connection, Value
from donewhen.storage.owner import Owner
from donewhen.storage.record import storable

MOST_ROWS = 1000
"""Occurrences that are kept for a loop."""
MOST_FINDINGS = 2000
KEPT_ROUNDS = datetime.timedelta(days=2)
"""Younger rounds are kept above that number: a budget for a day counts them."""
MOST_WORKS = 100
"""Works of a loop that are kept: more than any promotion asks for."""
MICROS = 1_000_000
_STATE = (
    "repo, loop, paused, due_at, schedule, looked_at, failures, backoff_until,"
    " level, level_reason, level_of, level_since"
)
_RUNNING = "running_key, running_session, owner"
_OCCURRENCE = (
    "key, due_at, origin, status, reason, session, attempts, coalesced_into, outcome, finding, input_tokens,"
    " output_tokens, usd_micros, started_at, finished_at"
)
_WORK = "session, action, onto, made, verified, status, seen_at, at"
_SUMS = (
    "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(usd_micros), 0),"
    " coalesce(sum(CASE WHEN usd_micros IS NULL THEN 1 ELSE 0 END), 0) FROM donewhen_loop_occurrences"
    " WHERE repo = ? AND loop = ?"
)


def text_of(moment: datetime.datetime | None) -> str:
    """Return a moment as a text that sorts by time; empty for None."""
    if moment is None:
        return ""
    return moment.astimezone(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def moment_of(text: str) -> datetime.datetime | None:
    return datetime.datetime.fromisoformat(text) if text else None


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


# -- the state of a loop --


def lock_state(connection: Connection, repo: str, loop: str) -> LoopState:
    """Return the state of a loop, created if needed. Other processes wait until the transaction ends.

    After a loss of the records a loop is paused until a person resumes it: it may have been paused or demoted before.
    """
    connection.run(
        f"INSERT INTO donewhen_loop_states ({_STATE}, {_RUNNING},"
        " old_input_tokens, old_output_tokens, old_usd_micros, old_unpriced)"
        " SELECT ?, ?, coalesce(max(reason), ''), '', '', '', 0, '', '', '', '', '', '', '', '', 0, 0, 0, 0"
        " FROM donewhen_loop_losses WHERE true ON CONFLICT DO NOTHING",
        *(repo, loop),
    )
    rows = connection.run(
        "UPDATE donewhen_loop_states SET failures = failures WHERE repo = ? AND loop = ?"
        f" RETURNING {_STATE}, {_RUNNING}",
        *(repo, loop),
    )
    return _state(rows[0])


def note_loss(connection: Connection, reason: str) -> None:
    connection.run("INSERT INTO donewhen_loop_losses (reason) VALUES (?)", storable(reason))


def loss(connection: Connection) -> str:
    """Return why a loop without a state is paused; empty if no records were lost."""
    return connection.run("SELECT coalesce(max(reason), '') FROM donewhen_loop_losses")[0][0]


def repos(connection: Connection) -> list[str]:
    return [row[0] for row in connection.run("SELECT DISTINCT repo FROM donewhen_loop_states ORDER BY repo")]


def states(connection: Connection, repo: str, loop: str | None = None) -> list[LoopState]:
    only, values = ("", ()) if loop is None else (" AND loop = ?", (loop,))
    statement = f"SELECT {_STATE}, {_RUNNING} FROM donewhen_loop_states WHERE repo = ?{only} ORDER BY loop"
    return [_state(row) for row in connection.run(statement, repo, *values)]


def _state(row: tuple[Any, ...]) -> LoopState:
    repo, loop, paused, due_at, schedule, looked_at, failures, backoff_until, *levels, key, session, owner = row
    level, level_reason, level_of, level_since = levels
    running = RunningRound(repo=repo, loop=loop, key=key, session=session, owner=Owner.read(owner)) if key else None
    return LoopState(
        repo=repo,
        loop=loop,
        paused=paused,
        due_at=moment_of(due_at),
        schedule=schedule,
        looked_at=moment_of(looked_at),
        failures=failures,
        backoff_until=moment_of(backoff_until),
        level=level,
        level_reason=level_reason,
        level_of=level_of,
        level_since=moment_of(level_since),
        running=running,
    )


def change_state(connection: Connection, repo: str, loop: str, **columns: Value) -> None:
    changes = ", ".join(f"{name} = ?" for name in columns)
    values = [storable(value) if isinstance(value, str) else value for value in columns.values()]
    connection.run(f"UPDATE donewhen_loop_states SET {changes} WHERE repo = ? AND loop = ?", *values, repo, loop)


def look(connection: Connection, repo: str, loops: Iterable[str], now: datetime.datetime) -> None:
    connection.run_each(
        "UPDATE donewhen_loop_states SET looked_at = ? WHERE repo = ? AND loop = ?",
        [(text_of(now), repo, loop) for loop in loops],
    )


def see(connection: Connection, repo: str, loop: str, seen: Iterable[tuple[str, str]]) -> None:
    connection.run_each(
        "INSERT INTO donewhen_loop_seen (repo, loop, origin, state) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (repo, loop, origin) DO UPDATE SET state = excluded.state",
        [(repo, loop, storable(trigger), storable(state)) for trigger, state in seen],
    )


def seen(connection: Connection, repo: str, loop: str) -> dict[str, str]:
    rows = connection.run("SELECT origin, state FROM donewhen_loop_seen WHERE repo = ? AND loop = ?", repo, loop)
    return {row[0]: row[1] for row in rows}


def forget_seen(connection: Connection, repo: str, loop: str) -> None:
    connection.run("DELETE FROM donewhen_loop_seen WHERE repo = ? AND loop = ?", repo, loop)


# -- occurrences --


def status_of(connection: Connection, repo: str, loop: str, key: str) -> OccurrenceStatus | None:
    rows = connection.run(
        "SELECT status FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? AND key = ?", repo, loop, key
    )
    return OccurrenceStatus(rows[0][0]) if rows else None


def add_row(connection: Connection, repo: str, loop: str, row: Decided, session: str = "", started: str = "") -> bool:
    """Add an occurrence. Return False if it has a row already."""
    return bool(
        connection.run(
            f"INSERT INTO donewhen_loop_occurrences (repo, loop, number, {_OCCURRENCE})"
            " SELECT ?, ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ?, 1, ?, '', '', 0, 0, NULL, ?, ''"
            " FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? ON CONFLICT DO NOTHING RETURNING key",
            *(repo, loop, storable(row.key), text_of(row.due_at), storable(row.trigger), row.status.value),
            *(storable(row.reason), session, storable(row.coalesced_into), started, repo, loop),
        )
    )


def change_row(connection: Connection, repo: str, loop: str, key: str, **columns: Value) -> None:
    changes = ", ".join(f"{name} = ?" for name in columns)
    values = [storable(value) if isinstance(value, str) else value for value in columns.values()]
    connection.run(
        f"UPDATE donewhen_loop_occurrences SET {changes} WHERE repo = ? AND loop = ? AND key = ?",
        *(*values, repo, loop, key),
    )


def occurrences(connection: Connection, repo: str, loop: str, limit: int) -> list[Occurrence]:
    """Return the occurrences, the newest first."""
    rows = connection.run(
        f"SELECT {_OCCURRENCE} FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? ORDER BY number DESC LIMIT ?",
        *(repo, loop, limit),
    )
    return [_occurrence(row) for row in rows]


def occurrence(connection: Connection, repo: str, loop: str, key: str) -> Occurrence | None:
    statement = f"SELECT {_OCCURRENCE} FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? AND key = ?"
    rows = connection.run(statement, repo, loop, key)
    return _occurrence(rows[0]) if rows else None


def keys_of(connection: Connection, repo: str, loop: str, session: str, status: OccurrenceStatus) -> list[str]:
    """Return the keys of the occurrences that a session has run."""
    rows = connection.run(
        "SELECT key FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? AND session = ? AND status = ?",
        *(repo, loop, session, status.value),
    )
    return [row[0] for row in rows]


def _occurrence(row: tuple[Any, ...]) -> Occurrence:
    key, due_at, trigger, status, reason, session, attempts, into, outcome, finding, *rest = row
    input_tokens, output_tokens, micros, started_at, finished_at = rest
    return Occurrence(
        key=key,
        due_at=_moment(due_at),
        trigger=trigger,
        status=OccurrenceStatus(status),
        reason=reason,
        session=session,
        attempts=attempts,
        coalesced_into=into,
        outcome=outcome,
        finding=finding,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        usd=None if micros is None else micros / MICROS,
        started_at=moment_of(started_at),
        finished_at=moment_of(finished_at),
    )


def outcomes(connection: Connection, repo: str, loop: str, count: int) -> list[str]:
    """Return the outcomes of the last rounds, the oldest first; `stopped` for one that a person stopped."""
    rows = connection.run(
        "SELECT CASE WHEN outcome = ? AND reason = ? THEN 'stopped' ELSE outcome END"
        " FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? AND status = 'ran' ORDER BY number DESC LIMIT ?",
        *(FAILED, STOPPED, repo, loop, count),
    )
    return [row[0] for row in reversed(rows)]


def drop_future(connection: Connection, repo: str, loop: str, now: datetime.datetime) -> None:
    """Remove occurrences of the schedule that are not due yet by the present clock and for which no round was run.

    What was put together with one of them, and is due before, was missed.
    """
    connection.run(
        "DELETE FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? AND due_at > ? AND session = ''"
        " AND origin = ?",
        *(repo, loop, text_of(now), SCHEDULE),
    )
    connection.run(
        "UPDATE donewhen_loop_occurrences SET status = ?, reason = ?, coalesced_into = '' WHERE repo = ? AND loop = ?"
        " AND origin = ? AND coalesced_into > ? AND coalesced_into NOT IN"
        " (SELECT key FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ?)",
        *(OccurrenceStatus.MISSED.value, "nobody looked by the right clock", repo, loop),
        *(SCHEDULE, text_of(now), repo, loop),
    )


def evict(connection: Connection, repo: str, loop: str, now: datetime.datetime) -> None:
    """Remove the oldest occurrences above the limit. What they used is added to the state of the loop."""
    where = (
        " AND status <> 'running' AND (session = '' OR finished_at < ?) AND number < (SELECT number"
        " FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ? ORDER BY number DESC LIMIT 1 OFFSET ?)"
    )
    values = (repo, loop, text_of(now - KEPT_ROUNDS), repo, loop, MOST_ROWS - 1)
    used = connection.run(f"{_SUMS} AND session <> ''{where}", *values)[0]
    connection.run(f"DELETE FROM donewhen_loop_occurrences WHERE repo = ? AND loop = ?{where}", *values)
    connection.run(
        "UPDATE donewhen_loop_states SET old_input_tokens = old_input_tokens + ?,"
        " old_output_tokens = old_output_tokens + ?, old_usd_micros = old_usd_micros + ?,"
        " old_unpriced = old_unpriced + ? WHERE repo = ? AND loop = ?",
        *(*map(int, used), repo, loop),
    )


def usage(connection: Connection, repo: str, loop: str, since: datetime.datetime | None) -> LoopUsage:
    ended = f"{_SUMS} AND status = 'ran' AND started_at >= ?"
    sums = list(map(int, connection.run(ended, repo, loop, text_of(since))[0]))
    if since is None:
        old = connection.run(
            "SELECT old_input_tokens, old_output_tokens, old_usd_micros, old_unpriced FROM donewhen_loop_states"
            " WHERE repo = ? AND loop = ?",
            *(repo, loop),
        )
        sums = [one + int(more) for one, more in zip(sums, old[0] if old else (0, 0, 0, 0), strict=True)]
    known = sums[2] / MICROS
    usd = None if sums[3] else known
    return LoopUsage(input_tokens=sums[0], output_tokens=sums[1], usd=usd, known_usd=known)


# -- findings --


def put_finding(connection: Connection, repo: str, loop: str, finding: LoopFinding) -> None:
    """Store a finding, or replace its status. Above the limit, the oldest that nobody waits for or refused go."""
    connection.run(
        "INSERT INTO donewhen_loop_findings (repo, loop, key, status, session, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (repo, loop, key) DO UPDATE SET status = excluded.status, session = excluded.session,"
        " reason = excluded.reason, at = excluded.at",
        *(
            repo,
            loop,
            finding.key,
            finding.status.value,
            finding.session,
            storable(finding.reason),
            text_of(finding.at),
        ),
    )
    connection.run(
        "DELETE FROM donewhen_loop_findings WHERE repo = ? AND loop = ? AND key IN (SELECT key"
        " FROM donewhen_loop_findings WHERE repo = ? AND loop = ? AND status NOT IN ('open', 'refused')"
        " ORDER BY at DESC, key LIMIT 1000 OFFSET ?)",
        *(repo, loop, repo, loop, MOST_FINDINGS),
    )


def findings(connection: Connection, repo: str, loop: str, column: str, value: str) -> list[LoopFinding]:
    """Return the findings with this `key` or `status`, the newest first."""
    rows = connection.run(
        f"SELECT key, status, session, reason, at FROM donewhen_loop_findings WHERE repo = ? AND loop = ?"
        f" AND {column} = ? ORDER BY at DESC, key",
        *(repo, loop, value),
    )
    return [
        LoopFinding(key=key, status=FindingStatus(status), session=session, reason=reason, at=_moment(at))
        for key, status, session, reason, at in rows
    ]


# -- works --


def put_work(connection: Connection, repo: str, loop: str, work: LoopWork) -> None:
    """Store the work of a round, or replace what is known about it."""
    connection.run(
        f"INSERT INTO donewhen_loop_works (repo, loop, {_WORK}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (repo, loop, session) DO UPDATE SET action = excluded.action, onto = excluded.onto,"
        " made = excluded.made, verified = excluded.verified, status = excluded.status, seen_at = excluded.seen_at",
        *(repo, loop, work.session, work.action, storable(work.onto), work.made),
        *(int(work.is_verified), work.status.value, work.seen_at, text_of(work.at)),
    )
    connection.run(
        "DELETE FROM donewhen_loop_works WHERE repo = ? AND loop = ? AND session IN (SELECT session"
        " FROM donewhen_loop_works WHERE repo = ? AND loop = ? ORDER BY at DESC, session LIMIT 1000 OFFSET ?)",
        *(repo, loop, repo, loop, MOST_WORKS),
    )


def works(connection: Connection, repo: str, loop: str) -> list[LoopWork]:
    """Return the works of a loop, the newest first."""
    rows = connection.run(
        f"SELECT {_WORK} FROM donewhen_loop_works WHERE repo = ? AND loop = ? ORDER BY at DESC, session", repo, loop
    )
    return [
        LoopWork(
            session=session,
            action=action,
            onto=onto,
            made=made,
            is_verified=bool(verified),
            status=WorkStatus(status),
            seen_at=seen_at,
            at=_moment(at),
        )
        for session, action, onto, made, verified, status, seen_at, at in rows
    ]
