"""The one hand that writes a session's log while it runs, and tells whoever watches. What was told is durable.

The story is kept in step with the log, so that nobody has to read back what was just written. How long somebody worked
is told from the times in the log; where the machine's clock was moved meanwhile, a note puts that right.
"""

import contextlib
import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from donewhen.engines.base import Note
from donewhen.events import Event, StateChanged
from donewhen.session.story import CLOCK, Story
from donewhen.storage.lease import Lease
from donewhen.storage.record import Record

Told = Callable[[Record], None]
Barrier = Callable[[str], None]
"""Called around every write with "before" or "after" and what is written: where tests let a process die."""


JUMP_SECS = 5.0
"""By so much the times in the log and the time that went by may differ."""


def nobody(record: Record) -> None:
    """For a log that is written while nobody watches."""
    del record


def no_barrier(point: str) -> None:
    del point


class Recorder:
    def __init__(
        self,
        lease: Lease,
        story: Story,
        told: Told,
        barrier: Barrier = no_barrier,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session = lease.session
        self.story = story
        self.last = clock()
        """When something was written last."""
        self.also_told: Told = nobody
        """Somebody else who is to hear of every event."""
        self._lease = lease
        self._told = told
        self._barrier = barrier
        self._clock = clock
        self._began: tuple[float, str] | None = None
        """When the first record of this owner was written, by both clocks."""
        self._corrected = 0.0

    def write(self, *events: Event, note: tuple[str, Mapping[str, Any]] | None = None, sync: bool = False) -> None:
        """All of it or nothing. With `sync` it also survives a loss of power."""
        what = " ".join([note[0] if note else "", *(event.type() for event in events)])
        self._barrier(f"before {what}")
        records = self._lease.write(*events, note=note, sync=sync)
        self._barrier(f"after {what}")
        self.last = self._clock()
        for record in records:
            self.story.take(record)
        if records:
            self._compare_clocks(records[-1].at)
        for record in records:
            if record.seq is not None:
                with contextlib.suppress(OSError):  # a terminal that is gone, or a full disk: the work goes on
                    self._told(record)
                self.also_told(record)

    def _compare_clocks(self, at: str) -> None:
        if self._began is None:
            self._began = self.last, at
            return
        since, then = self._began
        shown = datetime.datetime.fromisoformat(at) - datetime.datetime.fromisoformat(then)
        differs = self.last - since - shown.total_seconds()
        if abs(differs - self._corrected) > JUMP_SECS:
            missing, self._corrected = differs - self._corrected, differs
            self.write(note=(CLOCK, {"secs": round(missing, 3)}))

    def emit(self, event: Event) -> None:
        self.write(event)

    def move(self, to: str) -> None:
        """Change the session's state."""
        if self.story.state != to:
            self.write(StateChanged(from_=self.story.state, to=to))


class RungNotebook:
    """What one engine writes down, kept apart from the notes of the others."""

    def __init__(self, recorder: Recorder, rung: str) -> None:
        self._recorder = recorder
        self._rung = rung

    def notes(self) -> Sequence[Note]:
        return tuple(self._recorder.story.notes.get(self._rung, ()))

    def write(self, note: Note | None, *events: Event) -> None:
        self._recorder.write(*events, note=(f"{self._rung}.{note.kind}", note.body) if note else None)

    def turns(self, role: str) -> int:
        return self._recorder.story.turns[role]
