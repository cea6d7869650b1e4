"""One client of the daemon: its messages in, responses and notifications out, over any transport.

Requests of one client are carried out side by side, up to a limit; further messages wait in the transport. A client
that reads too slowly is cut off: it connects again and goes on at the next number of its subscription.
"""

import contextlib
import json
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup

from donewhen import __version__
from donewhen.server.call_errors import CallRefused
from donewhen.server.rpc.dispatch import RpcDispatcher, error_text
from donewhen.server.rpc.rate import Rate
from donewhen.server.service import Caller, Notification, Service, Subscription, Surroundings

MOST_AT_ONCE = 32
"""Requests of one client that are carried out at the same time."""
MOST_SUBSCRIPTIONS = 256
MOST_NOTES = 1000
"""Lines for a person that wait for a client that does not read. Further ones are dropped."""
PER_SECOND, BURST = 500.0, 2000.0
STALL_SECS = 10.0
"""A client that takes no byte for so long is cut off."""
TOO_MANY = -32005
OPENING = {"session.subscribe": "session", "board.subscribe": "board"}
"""The methods that open a subscription → the first word of its notifications."""
CLOSING = ("session.unsubscribe", "board.unsubscribe")
ENTERING = "connection.enter"
"""Says in which directory and with which variables the calls of this connection work."""
Send = Callable[[Sequence[str]], Awaitable[None]]
"""Sends messages to the client, in this order."""
_opened_here: ContextVar["list[_OpenSubscription]"] = ContextVar("opened_here")
"""The subscriptions that the message opens that is being answered."""


class ClientTooSlow(Exception):
    """The client did not read for too long."""


class RpcClientConnection:
    """Use it inside a task group that ends with the connection."""

    def __init__(
        self,
        service: Service,
        caller: Caller,
        methods: Mapping[str, Any],
        send: Send,
        tasks: TaskGroup,
        may_enter: bool = False,
    ) -> None:
        """`may_enter` is only for a transport that proves that the client is this user: variables name programs."""
        self._service = service
        self._caller = caller
        self._send = send
        self._tasks = tasks
        own = (*OPENING, *CLOSING, *((ENTERING,) if may_enter else ()))
        self._dispatcher = RpcDispatcher({**methods, **dict.fromkeys(own)}, self._handle)
        self._rate = Rate(PER_SECOND, BURST)
        self._slots = anyio.Semaphore(MOST_AT_ONCE)
        self._writing = anyio.Lock()
        self._notes = deque[str]()
        self._noted = anyio.Event()
        self._open: dict[str, _OpenSubscription] = {}
        self._count = 0

    async def receive(self, message: str | bytes) -> None:
        """Take one message. Return as soon as the next one may come."""
        if not self._rate.take():
            await self._write(error_text(TOO_MANY, "too many messages", f"at most {PER_SECOND:g} a second"))
            return
        await self._slots.acquire()
        self._tasks.start_soon(self._answer, message)

    async def _answer(self, message: str | bytes) -> None:
        opened: list[_OpenSubscription] = []
        _opened_here.set(opened)
        try:
            response = await self._dispatcher.dispatch(message)
        finally:
            self._slots.release()
        if response is not None:
            notes, self._notes = self._notes, deque[str]()  # a client may leave when it has its result
            await self._write(*notes, response)
        for one in opened:  # not earlier: the result of `subscribe` comes before its notifications
            one.begin.set()

    async def _handle(self, method: str, params: Mapping[str, Any]) -> Any:
        if method in OPENING:
            return await self._subscribe(method, params)
        if method in CLOSING:
            self._unsubscribe(params)
            return None
        if method == ENTERING:
            surroundings = _surroundings(params)
            self._caller = replace(self._caller, surroundings=surroundings, hear=self._hear, told=self._told)
            self._tasks.start_soon(self._write_notes)
            same = settings_key(surroundings.variables) == settings_key(os.environ)
            return {"version": __version__, "settings": same}
        return await self._service.call(self._caller, method, params)

    def _hear(self, line: str) -> None:
        if len(self._notes) < MOST_NOTES:
            self._note("connection.note", {"text": line})

    def _told(self, fact: Mapping[str, Any]) -> None:
        self._note("connection.began" if "began" in fact else "connection.ended", fact)

    def _note(self, method: str, params: Mapping[str, Any]) -> None:
        self._notes.append(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))
        self._noted.set()

    async def _write_notes(self) -> None:
        while True:
            await self._noted.wait()
            self._noted = anyio.Event()
            while self._notes:
                await self._write(self._notes.popleft())

    async def _subscribe(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if len(self._open) >= MOST_SUBSCRIPTIONS:
            raise CallRefused("too_many", f"a connection has at most {MOST_SUBSCRIPTIONS} subscriptions")
        name = f"s{self._count + 1}"
        self._count += 1
        opened = self._open[name] = _OpenSubscription(name, OPENING[method])
        try:
            start: Mapping[str, Any] = await self._tasks.start(self._forward, opened, method, params)
        except BaseException:
            self._open.pop(name, None)
            raise
        _opened_here.get().append(opened)
        return {"subscription": name, **start}

    def _unsubscribe(self, params: Mapping[str, Any]) -> None:
        opened = self._open.pop(str(params.get("subscription", "")), None)
        if opened is None:
            raise CallRefused("bad_input", "there is no such subscription on this connection")
        opened.scope.cancel()

    async def _forward(
        self,
        opened: "_OpenSubscription",
        method: str,
        params: Mapping[str, Any],
        *,
        task_status: anyio.abc.TaskStatus[Mapping[str, Any]],
    ) -> None:
        with opened.scope:
            async with self._service.subscribe(self._caller, method, params) as subscription:
                task_status.started(subscription.start)
                await opened.begin.wait()
                await self._forward_all(opened, subscription)
        self._open.pop(opened.name, None)

    async def _forward_all(self, opened: "_OpenSubscription", subscription: Subscription) -> None:
        async with contextlib.aclosing(subscription.batches()) as batches:
            async for batch in batches:
                await self._write(*map(opened.message, batch))

    async def _write(self, *messages: str) -> None:
        async with self._writing:
            with anyio.move_on_after(STALL_SECS) as scope:
                await self._send(messages)
        if scope.cancelled_caught:
            raise ClientTooSlow


def settings_key(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return what decides where the settings of a user and the sessions are. A client with others works alone."""
    names = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "DONEWHEN__STORAGE__URL")
    return tuple(variables.get(name, "") for name in names)


def _surroundings(params: Mapping[str, Any]) -> Surroundings:
    directory, variables = params.get("directory"), params.get("variables")
    texts = isinstance(variables, dict) and all(isinstance(one, str) for one in variables.values())  # pyright: ignore[reportUnknownVariableType] - any object of JSON
    if not isinstance(directory, str) or not os.path.isabs(directory) or not texts:
        problem = "'directory' must be an absolute path and 'variables' an object of texts"
        raise CallRefused("invalid_params", problem)
    return Surroundings(directory, cast("dict[str, str]", variables))


class _OpenSubscription:
    def __init__(self, name: str, subject: str) -> None:
        self.name = name
        self.scope = anyio.CancelScope()
        self.begin = anyio.Event()
        self._subject = subject

    def message(self, one: Notification) -> str:
        head = f'{{"jsonrpc":"2.0","method":"{self._subject}.{one.kind}","params":{{"subscription":"{self.name}",'
        if one.kind == "event":
            return f'{head}"event":{one.text}}}}}'
        return f"{head}{one.text[1:]}}}"
