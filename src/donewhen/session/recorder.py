"""The one hand that writes a session's log while it runs, and tells whoever watches. What was told is durable.

The story is kept in step with the log, so that nobody has to read back what was just written.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from donewhen.engines.base import Note
from donewhen.events import Event, StateChanged
from donewhen.session.story import Story
from donewhen.storage.lease import Lease
from donewhen.storage.record import Record

Told = Callable[[Record], None]
Barrier = Callable[[str], None]
"""Called around every write with "before" or "after" and what is written: where tests let a process die."""


def nobody(record: Record) -> None:
    """For a log that is written while nobody watches."""
    del record


def no_barrier(point: str) -> None:
    del point


class Recorder:
    def __init__(self, lease: Lease, story: Story, told: Told, barrier: Barrier = no_barrier) -> None:
        self.story = story
        self.last = time.monotonic()
        """When something was written last."""
        self._lease = lease
        self._told = told
        self._barrier = barrier

    def write(self, *events: Event, note: tuple[str, Mapping[str, Any]] | None = None, sync: bool = False) -> None:
        """All of it or nothing. With `sync` it also survives a loss of power."""
        what = " ".join([note[0] if note else "", *(event.type() for event in events)])
        self._barrier(f"before {what}")
        records = self._lease.write(*events, note=note, sync=sync)
        self._barrier(f"after {what}")
        self.last = time.monotonic()
        for record in records:
            self.story.take(record)
        for record in records:
            if record.seq is not None:
                self._told(record)

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
