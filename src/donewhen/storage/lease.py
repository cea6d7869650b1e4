"""The lease of a session: the right of one process to write its log.

Every write carries the generation of its lease, so a writer that was replaced while it was suspended can no longer
write. This module does not decide what is written.
"""

import datetime
from collections.abc import Mapping
from typing import Any

from donewhen.errors import MachineryBroke
from donewhen.events import Event
from donewhen.storage.connection import Connection
from donewhen.storage.log_file import LogFile
from donewhen.storage.owner import Owner
from donewhen.storage.record import Record, Written, encode, summary
from donewhen.storage.tables import Batch, add_records, head_of, holder_of, pages, reserve_numbers, restore_records

Note = tuple[str, Mapping[str, Any]]


class LeaseLost(MachineryBroke):
    """This process may no longer write: the session was claimed by another owner, released or deleted."""


class Lease:
    def __init__(
        self, connection: Connection, log_file: LogFile | None, warnings: list[str], session: str, generation: int
    ) -> None:
        self.session = session
        self.generation = generation
        self._connection = connection
        self._log_file = log_file
        self._warnings = warnings
        self._copied = -1
        self._is_released = False
        if log_file is not None:
            self._copy_missing(log_file)

    def write(self, *events: Event, note: Note | None = None, sync: bool = False) -> list[Record]:
        """Write the note and then the events, with consecutive numbers, in one transaction.

        With `sync` the records also survive a power loss right after this call.
        """
        emitted = [(event.type(), event.fields()) for event in events]
        parts = [(kind, encode(body)) for kind, body in ([note] if note else []) + emitted]
        if not parts:
            return []
        changes: dict[str, str] = {}
        for kind, body in emitted:
            changes |= summary(kind, body)
        batch = Batch(len(parts), len(events), now(), changes)
        with self._connection.transaction(sync):
            records = self._assign_numbers(batch, parts)
            add_records(self._connection, self.session, records)
        self._copy(records)
        return [record.read(self.session) for record in records]

    def release(self) -> None:
        """Give up ownership. The next process that claims the session gets the next generation."""
        self._is_released = True
        self._connection.run(
            "UPDATE donewhen_sessions SET owner = '' WHERE id = ? AND generation = ?", self.session, self.generation
        )

    def _assign_numbers(self, batch: Batch, parts: list[tuple[str, str]]) -> list[Written]:
        numbers = None
        if not self._is_released:
            numbers = reserve_numbers(self._connection, self.session, self.generation, batch)
        if numbers is None:
            holder = holder_of(self._connection, self.session)
            owner = Owner.read(holder[1]) if holder else None
            why = f"belongs to {owner} now" if owner else "was deleted" if holder is None else "was released"
            raise LeaseLost(f"session {self.session} {why}; this process cannot write to it any more")
        position, seq, at = numbers[0] - batch.records, numbers[1] - batch.events, numbers[2]
        notes = batch.records - batch.events
        return [
            Written(position + n, None if n <= notes else seq + n - notes, at, self.generation, kind, body)
            for n, (kind, body) in enumerate(parts, 1)
        ]

    # The log file next to the database. It is a copy: if it cannot be written, the write to the database still counts.

    def _copy(self, records: list[Written]) -> None:
        if self._log_file is None:
            return
        if records[0].position != self._copied + 1:
            self._copy_missing(self._log_file)
            return
        try:
            self._log_file.append(records)
            self._copied = records[-1].position
        except FileNotFoundError:
            self._copy_missing(self._log_file)
        except OSError as error:
            self._warn_behind(self._log_file, error)

    def _copy_missing(self, log_file: LogFile) -> None:
        """Bring the log file up to date, in whatever state a crash or a full disk left it."""
        known = head_of(self._connection, self.session)
        if known is None:
            return
        try:
            last = log_file.last_position()
            if last < 0:
                log_file.begin(known[0])
            else:
                self._warnings.extend(log_file.repair_end())
            if last > known[1]:
                self._restore_lost(log_file, known[1])
            for page in pages(self._connection, self.session, "position", max(last, 0)):
                log_file.append(record for record, is_valid in page if is_valid)
            self._copied = max(last, known[1])
        except (OSError, MachineryBroke) as error:
            self._warn_behind(log_file, error)

    def _warn_behind(self, log_file: LogFile, error: OSError | MachineryBroke) -> None:
        warning = f"{log_file.path} is behind the database: {error.strerror if isinstance(error, OSError) else error}"
        if warning not in self._warnings:
            self._warnings.append(warning)
        self._copied = -1

    def _restore_lost(self, log_file: LogFile, position: int) -> None:
        """Restore records that the database lost from the log file."""
        with self._connection.transaction():
            count = restore_records(self._connection, self.session, log_file.records(position))
        self._warnings.append(f"{count} records of session {self.session} were restored from {log_file.path}")


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
