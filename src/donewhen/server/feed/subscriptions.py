"""The two subscriptions: one session, or all of them. Each yields what was and then what happens, once and in order."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast

import anyio.lowlevel

from donewhen.errors import BadInput
from donewhen.records import frozen
from donewhen.server.feed.feed import Feed, SessionStatus
from donewhen.server.service import Notification

MOST_AT_ONCE = 100
"""Notifications of one batch. Between two batches other tasks run."""


class _Flat:
    """Iterates over the notifications of batches."""

    def batches(self) -> AsyncGenerator[Sequence[Notification]]:
        raise NotImplementedError

    async def __aiter__(self) -> AsyncIterator[Notification]:
        async with aclosing(self.batches()) as batches:
            async for batch in batches:
                for one in batch:
                    yield one


class FollowedSession(_Flat):
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

    async def batches(self) -> AsyncGenerator[Sequence[Notification]]:
        while True:
            change, status = self._feed.change, self._feed.status(self._session)
            if status is None:
                return  # it was deleted
            for batch in batched(self._feed, status, self._next):
                self._next = batch.next_seq
                yield batch.notifications
                await anyio.lowlevel.checkpoint()
            if self._next >= status.row.events + 1 and not status.is_like(self._status):
                self._status = status
                yield [Notification("status", status.text())]
            await self._feed.next_change(change)


class FollowedBoard(_Flat):
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

    async def batches(self) -> AsyncGenerator[Sequence[Notification]]:
        while True:
            seen, self._change = self._change, self._feed.change
            held: list[Notification] = []
            for status in self._feed.changed_since(seen):
                id = status.row.id
                for batch in batched(self._feed, status, self._next.get(id, 1)):
                    self._next[id] = batch.next_seq
                    held += batch.notifications
                    if len(held) >= MOST_AT_ONCE:
                        yield held
                        held = []
                        await anyio.lowlevel.checkpoint()
                if not status.is_like(self._statuses.get(id)):
                    self._statuses[id] = status
                    held.append(Notification("status", status.text()))
            if held:
                yield held
            await self._feed.next_change(self._change)


@frozen
class _Batch:
    notifications: Sequence[Notification]
    next_seq: int


def batched(feed: Feed, status: SessionStatus, following: int) -> Iterator[_Batch]:
    """Yield the events of a session from a number on, some at a time, as far as its status says that there are any."""
    if status.row.events < following:
        return
    held: list[Notification] = []
    for seq, text in feed.events(status.row.id, following):
        following = seq + 1
        held.append(Notification("event", text))
        if len(held) >= MOST_AT_ONCE:
            yield _Batch(held, following)
            held = []
    yield _Batch(held, max(following, status.row.events + 1))  # one at the end could not be read


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
