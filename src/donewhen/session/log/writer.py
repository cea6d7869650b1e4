"""The only writer of a session's log while the session runs. Watchers get a record after it is stored.

The state is updated with each write, so that nothing has to be read back. The working time is computed from the times
in the log. If the machine's clock was changed meanwhile, a note corrects this.
"""

import contextlib
import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from donewhen.engines.interface import Note
from donewhen.events import Event, StateChanged
from donewhen.session.log.notes import ClockChanged
from donewhen.session.log.state import SessionState
from donewhen.storage.lease import Lease
from donewhen.storage.record import Record

OnRecord = Callable[[Record], None]
Barrier = Callable[[str], None]
"""Called around every write with "before" or "after" and what is written. Tests use it to let a process die there."""


JUMP_SECS = 5.0
"""Allowed difference between the times in the log and the time that really passed."""


def ignore_record(record: Record) -> None:
    """Ignore a record: for a log that is written without a watcher."""
    del record


def no_barrier(point: str) -> None:
    del point


class LogWriter:
    def __init__(
        self,
        lease: Lease,
        state: SessionState,
        on_record: OnRecord,
        barrier: Barrier = no_barrier,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = lease.session
        self.state = state
        self.last = clock()
        """Time of the last write."""
        self.also_on_record: OnRecord = ignore_record
        """Second receiver of every event."""
        self._lease = lease
        self._on_record = on_record
        self._barrier = barrier
        self._clock = clock
        self._began: tuple[float, str] | None = None
        """Time of the first record of this owner, by both clocks."""
        self._corrected = 0.0

    def write(self, *events: Event, note: tuple[str, Mapping[str, Any]] | None = None, sync: bool = False) -> None:
        """Write all records or none. With `sync` they also survive a loss of power."""
        what = " ".join([note[0] if note else "", *(event.type() for event in events)])
        self._barrier(f"before {what}")
        records = self._lease.write(*events, note=note, sync=sync)
        self._barrier(f"after {what}")
        self.last = self._clock()
        for record in records:
            self.state.fold(record)
        if records:
            self._compare_clocks(records[-1].at)
        for record in records:
            if record.seq is not None:
                with contextlib.suppress(OSError):  # a closed terminal or a full disk must not stop the work
                    self._on_record(record)
                self.also_on_record(record)

    def _compare_clocks(self, at: str) -> None:
        if self._began is None:
            self._began = self.last, at
            return
        since, then = self._began
        shown = datetime.datetime.fromisoformat(at) - datetime.datetime.fromisoformat(then)
        differs = self.last - since - shown.total_seconds()
        if abs(differs - self._corrected) > JUMP_SECS:
            missing, self._corrected = differs - self._corrected, differs
            self.write(note=ClockChanged(secs=round(missing, 3)).note())

    def emit(self, event: Event) -> None:
        self.write(event)

    def move(self, to: str) -> None:
        """Change the session's state."""
        if self.state.run_state != to:
            self.write(StateChanged(from_=self.state.run_state, to=to))


class StepNotebook:
    """Notes of one engine, kept apart from the notes of the others."""

    def __init__(self, log: LogWriter, name: str) -> None:
        self._log = log
        self._name = name

    def notes(self) -> Sequence[Note]:
        return tuple(self._log.state.notes.get(self._name, ()))

    def write(self, note: Note | None, *events: Event) -> None:
        self._log.write(*events, note=(f"{self._name}.{note.kind}", note.body) if note else None)

    def turns(self, role: str) -> int:
        return self._log.state.turns[role]
