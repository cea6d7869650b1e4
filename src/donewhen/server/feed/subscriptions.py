"""The two subscriptions: one session, or all of them. Each yields what was and then what happens, once and in order."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, cast

import anyio.lowlevel

from donewhen.errors import BadInput
from donewhen.server.feed.feed import Feed, SessionStatus
from donewhen.server.service import Notification

TURN = 100
"""Events after which other tasks run."""


class SessionSubscription:
    """The events of one session from a number on, and its status after them whenever it has changed."""

    def __init__(self, feed: Feed, session: str, from_seq: int) -> None:
        self._feed = feed
        self._session = session
        self._next = max(from_seq, 1)
        self._status: SessionStatus | None = None

    @property
    def start(self) -> Mapping[str, Any]:
        status = self._feed.status(self._session)
        return {"id": self._session, "next_seq": self._next, "status": json.loads(status.text()) if status else None}

    async def __aiter__(self) -> AsyncIterator[Notification]:
        while True:
            change, status = self._feed.change, self._feed.status(self._session)
            if status is None:
                return  # it was deleted
            if status.row.events >= self._next:
                for seq, text in self._feed.events(self._session, self._next):
                    self._next = seq + 1
                    yield Notification("event", text)
                    if seq % TURN == 0:
                        await anyio.lowlevel.checkpoint()
                self._next = max(self._next, status.row.events + 1)  # one at the end could not be read
            if self._next == status.row.events + 1 and not status.is_like(self._status):
                self._status = status
                yield Notification("status", status.text())
            await self._feed.next_change(change)


class BoardSubscription:
    """The events and statuses of all sessions."""

    def __init__(self, feed: Feed, positions: Mapping[str, int] | None) -> None:
        """`positions` are the next numbers of the sessions that the reader knows. None: only what happens from now."""
        self._feed = feed
        self._change = feed.change if positions is None else 0
        self._statuses: dict[str, SessionStatus] = {}
        known = positions if positions is not None else {one.row.id: one.row.events + 1 for one in feed.statuses()}
        self._next = dict(known)

    @property
    def start(self) -> Mapping[str, Any]:
        return {"sessions": [json.loads(one.text()) for one in self._feed.statuses()]}

    async def __aiter__(self) -> AsyncIterator[Notification]:
        while True:
            seen, self._change = self._change, self._feed.change
            for status in self._feed.changed_since(seen):
                async for one in self._of(status):
                    yield one
            await self._feed.next_change(self._change)

    async def _of(self, status: SessionStatus) -> AsyncIterator[Notification]:
        id = status.row.id
        following = self._next.get(id, 1)
        if status.row.events >= following:
            for seq, text in self._feed.events(id, following):
                following = seq + 1
                yield Notification("event", text)
                if seq % TURN == 0:
                    await anyio.lowlevel.checkpoint()
        self._next[id] = max(following, status.row.events + 1)
        if not status.is_like(self._statuses.get(id)):
            self._statuses[id] = status
            yield Notification("status", status.text())


def positions_of(value: object) -> Mapping[str, int] | None:
    """Return the parameter `from` of `board.subscribe`. Raise BadInput for anything else."""
    if value is None:
        return None
    if type(value) is int and value == 0:
        return {}
    if isinstance(value, dict):
        positions = cast("dict[str, object]", value)
        if all(type(one) is int and one >= 0 for one in positions.values()):
            return {id: max(1, cast("int", one)) for id, one in positions.items()}
    raise BadInput("'from' must be null, 0, or an object of session ids with the number of their next event")
