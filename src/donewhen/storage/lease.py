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
from donewhen.storage.record import Record, Written, encoded, summary
from donewhen.storage.tables import Batch, add_records, head_of, held, pages, restore_records, take_numbers

Note = tuple[str, Mapping[str, Any]]


class LeaseLost(MachineryBroke):
    """This process may no longer write: the session was claimed by another owner, released or deleted."""


class Lease:
    def __init__(
        self, connection: Connection, mirror: LogFile | None, warnings: list[str], session: str, generation: int
    ) -> None:
        self.session = session
        self.generation = generation
        self._connection = connection
        self._mirror = mirror
        self._warnings = warnings
        self._copied = -1
        self._is_released = False
        if mirror is not None:
            self._copy_missing(mirror)

    def write(self, *events: Event, note: Note | None = None, sync: bool = False) -> list[Record]:
        """Write the note and then the events, with consecutive numbers, in one transaction.

        With `sync` the records also survive a power loss right after this call.
        """
        told = [(event.type(), event.fields()) for event in events]
        parts = [(kind, encoded(body)) for kind, body in ([note] if note else []) + told]
        if not parts:
            return []
        changes: dict[str, str] = {}
        for kind, body in told:
            changes |= summary(kind, body)
        batch = Batch(len(parts), len(events), now(), changes)
        with self._connection.transaction(sync):
            records = self._numbered(batch, parts)
            add_records(self._connection, self.session, records)
        self._copy(records)
        return [record.read(self.session) for record in records]

    def release(self) -> None:
        """Give up ownership. The next process that claims the session gets the next generation."""
        self._is_released = True
        self._connection.run(
            "UPDATE donewhen_sessions SET owner = '' WHERE id = ? AND generation = ?", self.session, self.generation
        )

    def _numbered(self, batch: Batch, parts: list[tuple[str, str]]) -> list[Written]:
        numbers = None
        if not self._is_released:
            numbers = take_numbers(self._connection, self.session, self.generation, batch)
        if numbers is None:
            now_held = held(self._connection, self.session)
            owner = Owner.read(now_held[1]) if now_held else None
            why = f"belongs to {owner} now" if owner else "was deleted" if now_held is None else "was given up"
            raise LeaseLost(f"session {self.session} {why}; nothing more can be written to it from here")
        position, seq, at = numbers[0] - batch.records, numbers[1] - batch.events, numbers[2]
        notes = batch.records - batch.events
        return [
            Written(position + n, None if n <= notes else seq + n - notes, at, self.generation, kind, body)
            for n, (kind, body) in enumerate(parts, 1)
        ]

    # The log file next to the database. It is a copy: if it cannot be written, the write to the database still counts.

    def _copy(self, records: list[Written]) -> None:
        if self._mirror is None:
            return
        if records[0].position != self._copied + 1:
            self._copy_missing(self._mirror)
            return
        try:
            self._mirror.append(records)
            self._copied = records[-1].position
        except FileNotFoundError:
            self._copy_missing(self._mirror)
        except OSError as error:
            self._miss(self._mirror, error)

    def _copy_missing(self, mirror: LogFile) -> None:
        """Bring the log file up to date, in whatever state a crash or a full disk left it."""
        known = head_of(self._connection, self.session)
        if known is None:
            return
        try:
            last = mirror.last()
            if last < 0:
                mirror.begin(known[0])
            else:
                self._warnings.extend(mirror.mend())
            if last > known[1]:
                self._regain(mirror, known[1])
            for page in pages(self._connection, self.session, "position", max(last, 0)):
                mirror.append(record for record, whole in page if whole)
            self._copied = max(last, known[1])
        except (OSError, MachineryBroke) as error:
            self._miss(mirror, error)

    def _miss(self, mirror: LogFile, error: OSError | MachineryBroke) -> None:
        warning = f"{mirror.path} is behind the database: {error.strerror if isinstance(error, OSError) else error}"
        if warning not in self._warnings:
            self._warnings.append(warning)
        self._copied = -1

    def _regain(self, mirror: LogFile, position: int) -> None:
        """Restore records that the database lost from the log file."""
        with self._connection.transaction():
            count = restore_records(self._connection, self.session, mirror.records(position))
        self._warnings.append(f"{count} records of session {self.session} were taken back from {mirror.path}")


def now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
