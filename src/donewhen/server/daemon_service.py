"""Carries out the calls of all callers: rights, parameters, and where a method runs.

What only reads runs in a thread of the daemon; what works in a repository runs in a call process.
"""

import contextlib
import inspect
import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from donewhen.records import frozen
from donewhen.server.call_errors import CallFailed, CallRefused
from donewhen.server.calls.calls import CallProcesses, MethodCall, ignore_fact
from donewhen.server.error_kinds import ErrorKind
from donewhen.server.feed.feed import Feed
from donewhen.server.feed.needs_you import NOTHING
from donewhen.server.feed.subscriptions import FollowedBoard, FollowedSession, positions_of
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.method import Method, Right
from donewhen.server.numbers import DaemonNumbers
from donewhen.server.parameters import Check
from donewhen.server.service import Caller, Subscription, Surroundings
from donewhen.storage.archive import Archive

MOST_READERS = 8
"""Reading calls at the same time."""
CONTINUES = ("session.approve", "session.deny", "session.answer", "contract.revise")
"""Methods after which a session goes on that no process works on."""
Say = Callable[[str], None]


@frozen
class SessionStore:
    """Where the daemon's sessions are."""

    archive: Archive
    url: str
    """The setting `storage.url`."""


class DaemonService:
    def __init__(
        self,
        table: Mapping[str, Method],
        checked: Mapping[str, Check],
        calls: CallProcesses,
        feed: Feed,
        store: SessionStore,
        say: Say,
    ) -> None:
        """`checked` has for each method the function that checks its parameters."""
        self._table = table
        self._checked = checked
        self._calls = calls
        self._feed = feed
        self._archive = store.archive
        self._storage = store.url
        self._say = say
        self._deciding = WeakValueDictionary[str, anyio.Lock]()
        """The sessions that are decided on now."""
        self._subscribers = 0
        self._readers = anyio.CapacityLimiter(MOST_READERS)
        self._own = Surroundings(os.getcwd(), dict(os.environ))

    async def call(self, caller: Caller, method: str, params: Mapping[str, Any]) -> Any:
        found = self._table[method]
        self._require_right(caller, found.right, method)
        given = self._checked[method](params)
        self._require_session(caller, given.get("id"))
        say, call = caller.hear or self._say, self._call(method, given, caller.surroundings)
        if found.begins:
            return await self._calls.begin(call, say, caller.told or ignore_fact)
        if method in CONTINUES:
            return await self._decide(found, call, say)
        result = await self._result(found, call, say)
        self._feed.poke()
        return result

    async def _result(self, method: Method, call: MethodCall, say: Say) -> Any:
        return await (self._calls.call(call, say) if method.in_process else self._read(method, call.params, say))

    async def _decide(self, method: Method, call: MethodCall, say: Say) -> Any:
        """Carry out a decision and let the session go on. Decisions about one session come one after the other.

        So the second one meets a session that goes on already, and is told what was decided.
        """
        session = self._archive.find(call.params["id"])
        async with self._deciding.setdefault(session, anyio.Lock()):
            result = await self._result(method, call, say)
            self._feed.poke()
            if not result["live"] and not result.get("is_optional"):
                try:
                    await self.resume(result["id"], call.surroundings, say)
                except CallFailed as error:
                    if error.kind != ErrorKind.OWNED:  # another process lets it go on
                        raise
            return result

    async def resume(self, session: str, surroundings: Surroundings | None = None, say: Say | None = None) -> None:
        """Let a session go on in a call process."""
        await self._calls.begin(self._call("session.resume", {"id": session}, surroundings), say or self._say)

    def _call(self, method: str, given: Mapping[str, Any], surroundings: Surroundings | None) -> MethodCall:
        return MethodCall(method, given, surroundings or self._own, self._storage)

    async def _read(self, method: Method, given: Mapping[str, Any], say: Say) -> Any:
        function = partial(method.function, CallContext(say=say)) if method.takes_context else method.function
        if inspect.iscoroutinefunction(method.function):
            return await function(**given)
        return await anyio.to_thread.run_sync(partial(function, **given), limiter=self._readers)

    @contextlib.asynccontextmanager
    async def subscribe(self, caller: Caller, method: str, params: Mapping[str, Any]) -> AsyncGenerator[Subscription]:
        self._require_right(caller, Right.OBSERVE, method)
        self._feed.look()
        given = self._checked[method](params)
        self._require_session(
            caller, given.get("id")
        )  # before it is looked up: others must not learn whether it exists
        self._subscribers += 1
        try:
            if method == "board.subscribe":
                yield FollowedBoard(self._feed, positions_of(given.get("from_")))
            else:
                yield FollowedSession(self._feed, self._archive.find(given["id"]), given.get("from_seq", 1))
        finally:
            self._subscribers -= 1

    def numbers(self) -> DaemonNumbers:
        statuses = self._feed.statuses()
        return DaemonNumbers(
            sessions=Counter(one.row.state for one in statuses),
            live=sum(one.live for one in statuses),
            waiting=sum(one.needs_you != NOTHING for one in statuses),
            calls=self._calls.running,
            subscribers=self._subscribers,
            events_read=self._feed.events_read,
        )

    def _require_right(self, caller: Caller, right: Right, method: str) -> None:
        if right not in caller.rights:
            raise CallRefused("not_allowed", f"{caller.name} may not call {method}: it needs the right {right.value}")

    def _require_session(self, caller: Caller, id: Any) -> None:
        if caller.session and id != caller.session:
            raise CallRefused("not_allowed", f"{caller.name} may only use session {caller.session}")
