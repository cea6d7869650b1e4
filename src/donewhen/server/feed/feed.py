"""Follows the store for all subscribers: one look serves everybody, and each reader keeps its own position.

A reader pulls. What it has not read costs no memory: recent events are kept once for all readers, and older ones are
read from the store. Nothing depends on which process writes a session.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace

import anyio

from donewhen.records import frozen
from donewhen.server.feed.needs_you import NOTHING, NeedsYou, needs_you
from donewhen.session.log.notes import Discarded
from donewhen.session.log.start_record import NOTE_KIND
from donewhen.session.log.state import replay_log
from donewhen.storage.archive import Archive
from donewhen.storage.record import Record, SessionRow

FASTEST, SLOWEST, SLOWING = 0.004, 0.05, 1.3
"""Seconds between two looks at the store: short while something happens, longer when nothing does."""
OWNERS_SECS = 0.5
"""Seconds between two looks at whether the processes of unfinished sessions are alive."""
KEPT_EVENTS, KEPT_BYTES = 1000, 1 << 19
"""Recent events of a session that are kept for its readers: at least so many or so much, and at most twice that."""
KEPT_SESSIONS = 64
DECIDING = (
    NOTE_KIND,
    Discarded.KIND,
    "state_changed",
    "gate_opened",
    "gate_decided",
    "question_asked",
    "question_answered",
    "question_expired",
    "session_finished",
)
"""The records on which it depends what a session needs of a person."""


@frozen(kw_only=True)
class SessionStatus:
    """What is known about a session beside its events."""

    row: SessionRow
    live: bool
    needs_you: NeedsYou

    def is_like(self, other: "SessionStatus | None") -> bool:
        """Return True if they differ at most in how many events there are, and when."""
        if other is None or (self.live, self.needs_you) != (other.live, other.needs_you):
            return False
        return replace(self.row, last_at=other.row.last_at, events=other.row.events) == other.row

    def text(self) -> str:
        """Return it as a JSON object."""
        row, needs = self.row, self.needs_you
        return json.dumps(
            {
                "id": row.id,
                "repo": row.repo,
                "title": row.title,
                "created_at": row.created_at,
                "last_at": row.last_at,
                "state": row.state,
                "live": self.live,
                "outcome": row.outcome or None,
                "reason": row.reason or None,
                "needs_you": {"kind": needs.kind, "text": needs.text, "detail": needs.detail},
                "next_seq": row.events + 1,
            }
        )


class RecentEvents:
    """The newest events of one session as JSON, bounded in number and size."""

    def __init__(self, next_seq: int) -> None:
        self.next_seq = next_seq
        """The number of the first event that is not here yet."""
        self._texts: list[str] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, record: Record) -> None:
        text = json.dumps(record.line(), separators=(",", ":"))
        self._texts.append(text)
        self._bytes += len(text)
        self.next_seq += 1
        if len(self._texts) > 2 * KEPT_EVENTS or self._bytes > 2 * KEPT_BYTES:
            self._texts = self._texts[(len(self._texts) + 1) // 2 :]
            self._bytes = sum(map(len, self._texts))

    def since(self, seq: int) -> list[tuple[int, str]] | None:
        """Return the events from `seq` on with their numbers; None if some of them are not kept."""
        first = self.next_seq - len(self._texts)
        return None if seq < first else [*enumerate(self._texts[seq - first :], seq)]


def _nowhere(session: str) -> bool:
    del session
    return False


class Feed:
    def __init__(self, archive: Archive, works_here: Callable[[str], bool] = _nowhere) -> None:
        """`works_here` returns True for a session that a call process works on, until that process has ended."""
        self._archive = archive
        self._works_here = works_here
        self._reasons: dict[str, str] = {}
        """Why sessions wait, as the processes that worked on them said."""
        self._statuses: OrderedDict[str, SessionStatus] = OrderedDict()
        """The sessions, what changed last at the end."""
        self._changes: dict[str, int] = {}
        """Number of the last change of each session."""
        self._change = 0
        self._recent: OrderedDict[str, RecentEvents] = OrderedDict()
        self.events_read = 0
        self._changed = anyio.Event()
        self._poked = anyio.Event()
        self._owners_at = 0.0
        self._token: object = object()

    @property
    def change(self) -> int:
        """The number of changes so far."""
        return self._change

    def statuses(self) -> list[SessionStatus]:
        return [*self._statuses.values()]

    def status(self, session: str) -> SessionStatus | None:
        return self._statuses.get(session)

    def changed_since(self, change: int) -> list[SessionStatus]:
        """Return the sessions that changed after a change, the earliest first."""
        found: list[SessionStatus] = []
        for id in reversed(self._statuses):
            if self._changes[id] <= change:
                break
            found.append(self._statuses[id])
        return found[::-1]

    def kept(self, session: str) -> int:
        """Return how many recent events of a session are in memory."""
        return len(self._recent[session]) if session in self._recent else 0

    def poke(self) -> None:
        """Look at once, also at owners: a process of a session has begun or ended."""
        self._owners_at = 0.0
        self._poked.set()

    def has_stopped(self, session: str, reason: str) -> None:
        """Note why a process has stopped working on a session."""
        self._reasons[session] = reason
        status = self._statuses.get(session)
        if status is not None:
            self._set(status.row, self._needs(status.row))
        self.poke()

    async def next_change(self, change: int) -> None:
        """Wait until something has changed after a change."""
        while self._change <= change:
            await self._changed.wait()

    async def run(self) -> None:
        """Look at the store again and again, until it is cancelled."""
        delay = FASTEST
        while True:
            delay = FASTEST if self.look() else min(delay * SLOWING, SLOWEST)
            with anyio.move_on_after(delay):
                await self._poked.wait()
            self._poked = anyio.Event()

    def look(self) -> bool:
        """Look once. Return True if something has changed."""
        now, before = time.monotonic(), self._change
        token, at_owners = self._archive.token(), now - self._owners_at >= OWNERS_SECS
        if token is None or token != self._token:
            self._token = token
            self._compare_rows()
        if at_owners:
            self._owners_at = now
            for status in [*self._statuses.values()]:
                if status.live or status.row.state != "finished":
                    self._set(status.row, status.needs_you)
        if self._change == before:
            return False
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        return True

    def _compare_rows(self) -> None:
        rows = self._archive.sessions()
        for row in reversed(rows):
            known = self._statuses.get(row.id)
            if known is None or known.row != row:
                self._read_new(row, known)
        if len(rows) < len(self._statuses):
            for id in self._statuses.keys() - {row.id for row in rows}:
                self._change += 1
                del self._statuses[id], self._changes[id]
                self._recent.pop(id, None)
                self._reasons.pop(id, None)

    def _read_new(self, row: SessionRow, known: SessionStatus | None) -> None:
        """Read the new events of a session, and what it needs now if one of them may have changed that."""
        recent, decides = self._recent.get(row.id), known is None
        if known is not None and recent is None and row.events > known.row.events:
            recent = self._recent[row.id] = RecentEvents(known.row.events + 1)
            while len(self._recent) > KEPT_SESSIONS:
                self._recent.popitem(last=False)
        if recent is not None and row.events >= recent.next_seq:
            self._recent.move_to_end(row.id)
            for record in self._archive.events(row.id, recent.next_seq - 1):
                if record.seq != recent.next_seq:  # one could not be read: start again after it
                    recent = self._recent[row.id] = RecentEvents(record.seq or 1)
                recent.add(record)
                self.events_read += 1
                decides = decides or record.kind in DECIDING
        if known is not None and known.row.state != row.state:
            decides = True
        self._set(row, self._needs(row) if decides or known is None else known.needs_you)

    def _needs(self, row: SessionRow) -> NeedsYou:
        if row.state == "finished":
            return NOTHING
        reason = row.reason or self._reasons.get(row.id, "")
        return needs_you(replay_log(self._archive.records(row.id, kinds=DECIDING)), reason)

    def _set(self, row: SessionRow, needs: NeedsYou) -> None:
        status = SessionStatus(row=row, live=self._is_live(row), needs_you=needs)
        if self._statuses.get(row.id) == status:
            return
        self._change += 1
        self._statuses[row.id] = status
        self._statuses.move_to_end(row.id)
        self._changes[row.id] = self._change

    def _is_live(self, row: SessionRow) -> bool:
        if self._works_here(row.id):
            return True
        owner = self._archive.owner(row.id)
        return owner is not None and owner.is_alive()

    def events(self, session: str, seq: int) -> Iterator[tuple[int, str]]:
        """Yield the events of a session from `seq` on as JSON, with their numbers, as far as there are any."""
        recent = self._recent.get(session)
        kept = recent.since(seq) if recent is not None else None
        if kept is not None:
            yield from kept
            return
        for record in self._archive.events(session, seq - 1):
            yield record.seq or 0, json.dumps(record.line(), separators=(",", ":"))
