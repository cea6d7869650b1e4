"""Follows one session for an editor until it has ended or needs something that must wait: a pause.

    pause = await Follower(service, caller, editor, session, from_seq).follow()

Its events become updates. Its questions and gates are asked in the editor, side by side with the events, because a
decision may also come from elsewhere.
"""

import json
from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import TaskGroup

from donewhen.errors import DonewhenError
from donewhen.records import frozen
from donewhen.server.acp.editor import Editor
from donewhen.server.acp.shown import words
from donewhen.server.acp.updates import Updates
from donewhen.server.call_errors import CallFailed, kind_of
from donewhen.server.service import Caller, Service

MOST_SILENT_SECS = 10.0
"""How long a session that was resumed may show no sign of life."""
RECONNECT_SECS = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Waits before the following attempts to read on, after the daemon has closed the connection."""
_DECIDED = ("gate_decided", "question_answered", "question_expired", "session_finished")
Status = Mapping[str, Any]


@frozen
class Pause:
    """Where following stopped."""

    next_seq: int
    """The number of the first event that was not shown."""
    live: bool
    """True if a process still works on the session."""
    reason: str = ""
    """Why the session waits; empty if it has ended."""


class Follower:
    def __init__(self, service: Service, caller: Caller, editor: Editor, session: str, from_seq: int) -> None:
        self._service = service
        self._caller = caller
        self._editor = editor
        self._session = session
        self._next = from_seq
        self._updates = Updates(session)
        self._has_begun = False
        """True as soon as there is a sign that a process works on the session, or has."""
        self._asked: set[str] = set()
        self._asking = anyio.CancelScope()
        self._pause: Pause | None = None
        self._error: DonewhenError | None = None
        self._over = anyio.Event()

    @property
    def repo(self) -> str:
        return self._updates.repo

    async def follow(self) -> Pause:
        """Return when there is nothing more to show. Raise a DonewhenError if that cannot be told."""
        await self._read_what_is_known()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, tasks)
            tasks.start_soon(self._watch_silence)
            await self._over.wait()
            tasks.cancel_scope.cancel()
        if self._error is not None:
            raise self._error
        assert self._pause is not None
        return self._pause

    def stop(self, reason: str, live: bool = False) -> None:
        """Stop following."""
        if self._pause is None:
            self._pause = Pause(self._next, live, reason)
        self._over.set()

    async def _read_what_is_known(self) -> None:
        """Read the events before, without showing them: what follows refers to them."""
        seq = 1
        while seq < self._next:
            page = await self._service.call(
                self._caller, "session.events", {"id": self._session, "from_seq": seq, "limit": self._next - seq}
            )
            if not page["events"]:
                return
            for line in page["events"]:
                for _ in self._updates.of(line):
                    pass
            seq = page["next_seq"]

    async def _read(self, tasks: TaskGroup) -> None:
        attempt = 0
        while True:
            before = self._next
            try:
                params = {"id": self._session, "from_seq": self._next}
                async with self._service.subscribe(self._caller, "session.subscribe", params) as subscription:
                    async for one in subscription:
                        await self._take(one.kind, json.loads(one.text), tasks)
                self.stop("its log was removed")
                return
            except DonewhenError as error:
                attempt = 0 if self._next > before else attempt
                if not isinstance(error, CallFailed) or attempt == len(RECONNECT_SECS):
                    self._error = error
                    self._over.set()
                    return
            await anyio.sleep(RECONNECT_SECS[attempt])
            attempt += 1

    async def _watch_silence(self) -> None:
        await anyio.sleep(MOST_SILENT_SECS)
        if not self._has_begun:
            self.stop("nothing works on it")

    async def _take(self, kind: str, value: Mapping[str, Any], tasks: TaskGroup) -> None:
        if kind == "status":
            self._has_begun |= bool(value.get("live"))
            await self._look(value, tasks)
            return
        self._has_begun = True
        self._next = int(value["seq"]) + 1
        if value.get("type") in _DECIDED:
            self._asking.cancel()
            self._asking = anyio.CancelScope()
        for update in self._updates.of(value):
            await self._editor.show(update)

    async def _look(self, status: Status, tasks: TaskGroup) -> None:
        """Ask what the session needs, or stop if it has ended or waits."""
        live, needs = bool(status.get("live")), status.get("needs_you") or {}
        kind = str(needs.get("kind") or "none")
        if kind == "question":
            await self._look_at_question(live, tasks)
        elif live or not self._has_begun:
            pass  # a gate is decided when its process has ended, which would not go on with the decision
        elif status.get("state") == "finished":
            self.stop("")
        elif kind in ("none", "resume"):
            self.stop(str(status.get("reason") or needs.get("detail") or "it was interrupted"))
        else:
            await self._look_at_gate(str(needs.get("detail") or ""), tasks)

    async def _look_at_question(self, live: bool, tasks: TaskGroup) -> None:
        question = (await self._known()).get("question")
        if question is None or question["id"] in self._asked:
            return
        self._asked.add(question["id"])
        if self._editor.has_forms:
            tasks.start_soon(self._ask, question["prompt"], live)
        else:
            self.stop("it asks a question", live)

    async def _ask(self, prompt: str, live: bool) -> None:
        with self._asking as scope:
            answer = await self._editor.answer(prompt)
            if answer:
                await self._call("session.answer", {"id": self._session, "text": answer})
            else:
                self.stop("it asks a question", live)
        del scope

    async def _look_at_gate(self, reason: str, tasks: TaskGroup) -> None:
        gate = (await self._known()).get("gate")
        if gate is None or gate["id"] in self._asked:
            return
        self._asked.add(gate["id"])
        tasks.start_soon(self._decide, gate, reason)

    async def _decide(self, gate: Mapping[str, Any], reason: str) -> None:
        with self._asking:
            decision = await self._editor.decide(self._session, gate)
        if self._asking.cancelled_caught or decision == "later":  # pyright: ignore[reportPossiblyUnbound]
            self.stop(reason)
            return
        await self._call(f"session.{decision}", {"id": self._session})

    async def _call(self, method: str, params: Mapping[str, Any]) -> None:
        """Carry out what the person chose. If it is too late for that, the person reads so and the events tell more."""
        try:
            await self._service.call(self._caller, method, params)
        except DonewhenError as error:
            await self._editor.say(words(str(error)))
            if kind_of(error) != "already_decided":
                self.stop(str(error))

    async def _known(self) -> Mapping[str, Any]:
        known: Mapping[str, Any] = await self._service.call(self._caller, "session.get", {"id": self._session})
        return known
