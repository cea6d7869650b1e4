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

from donewhen.errors import DonewhenError, MachineryBroke
from donewhen.records import frozen
from donewhen.server.acp.editor import Editor
from donewhen.server.acp.shown import words
from donewhen.server.acp.updates import Updates
from donewhen.server.call_errors import CallFailed
from donewhen.server.methods.errors import ErrorKind, error_data
from donewhen.server.service import Caller, Service

MOST_SILENT_SECS = 10
"""How long a process that is expected may show no sign of life."""
RECONNECT_SECS = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Waits before the following attempts to read on, after the daemon has closed the connection."""
_GOES_ON = ("gate_decided", "question_answered")
"""Events after which a process works on the session, although none may be there yet."""
_DECIDED = (*_GOES_ON, "question_expired", "session_finished")
"""Events after which nothing is to be asked any more."""
_ASKS = "it asks a question"


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
        self.is_expected = True
        """True while a process is expected to begin: after a start, and after a decision."""
        self._asked: set[str] = set()
        self._asking: anyio.CancelScope | None = None
        self._pause: Pause | None = None
        self._error: DonewhenError | None = None
        self._over = anyio.Event()

    async def follow(self) -> Pause:
        """Return when there is nothing more to show. Raise a DonewhenError if that cannot be told."""
        await self._read_what_is_known()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, tasks)
            tasks.start_soon(self._watch_silence)
            await self._over.wait()
            tasks.cancel_scope.cancel()
        if self._pause is None:
            raise self._error or MachineryBroke(f"session {self._session} cannot be followed")
        return self._pause

    def stop(self, reason: str, live: bool = False) -> None:
        """Stop following."""
        self._pause = self._pause or Pause(self._next, live, reason)
        self._over.set()

    async def _read_what_is_known(self) -> None:
        """Read the events before, without showing them: what follows refers to them."""
        seq = 1
        while seq < self._next:
            params = {"id": self._session, "from_seq": seq, "limit": self._next - seq}
            page = await self._service.call(self._caller, "session.events", params)
            if not page["events"]:
                return
            for line in page["events"]:
                self._updates.skip(line)
            seq = page["next_seq"]

    async def _read(self, tasks: TaskGroup) -> None:
        """Take what the subscription says. If the daemon ends or cuts it off, go on where it was."""
        waits = iter(RECONNECT_SECS)
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
                self._error = error
            waits = iter(RECONNECT_SECS) if self._next > before else waits
            delay = next(waits, None)
            if delay is None or not isinstance(self._error, CallFailed):
                self._over.set()
                return
            await anyio.sleep(delay)

    async def _watch_silence(self) -> None:
        """Stop if a process was expected and does not come."""
        silent = 0
        while silent < MOST_SILENT_SECS:
            await anyio.sleep(1)
            silent = silent + 1 if self.is_expected else 0
        self.stop("nothing works on it")

    async def _take(self, kind: str, value: dict[str, Any], tasks: TaskGroup) -> None:
        if kind == "status":
            self.is_expected = self.is_expected and not value.get("live")
            await self._look(value, tasks)
            return
        self.is_expected = value.get("type") in _GOES_ON
        if value.get("type") in _DECIDED and self._asking is not None:
            self._asking.cancel()
        for update in self._updates.of(value):
            await self._editor.show(update)
        self._next = int(value["seq"]) + 1

    async def _look(self, status: dict[str, Any], tasks: TaskGroup) -> None:
        """Ask what the session needs, or stop if it has ended or waits."""
        live, needs = bool(status.get("live")), status["needs_you"]
        if needs["kind"] == "question":
            await self._look_at_question(live, tasks)
        elif live or self.is_expected:
            pass  # a gate is decided when its process has ended, which would not go on with the decision
        elif status.get("state") == "finished":
            self.stop("")
        elif needs["kind"] in ("none", "resume"):
            self.stop(str(status.get("reason") or needs["detail"] or "it was interrupted"))
        else:
            await self._look_at_gate(str(needs["detail"]), tasks)

    async def _look_at_question(self, live: bool, tasks: TaskGroup) -> None:
        question = (await self._known()).get("question")
        if question is None or question["id"] in self._asked:
            return
        self._asked.add(question["id"])
        if self._editor.has_forms:
            tasks.start_soon(self._answer, question["prompt"], live)
        else:
            self.stop(_ASKS, live)

    async def _answer(self, prompt: str, live: bool) -> None:
        with anyio.CancelScope() as self._asking:
            answer = await self._editor.answer(prompt)
            if not answer:
                self.stop(_ASKS, live)
                return
            await self._call("session.answer", {"id": self._session, "text": answer})

    async def _look_at_gate(self, reason: str, tasks: TaskGroup) -> None:
        gate = (await self._known()).get("gate")
        if gate is not None and gate["id"] not in self._asked:
            self._asked.add(gate["id"])
            tasks.start_soon(self._decide, gate, reason)

    async def _decide(self, gate: Mapping[str, Any], reason: str) -> None:
        decision = ""
        with anyio.CancelScope() as self._asking:
            decision = await self._editor.decide(self._session, gate)
        self._asking = None
        if decision in ("approve", "deny"):
            await self._call(f"session.{decision}", {"id": self._session})
        elif decision:
            self.stop(reason)

    async def _call(self, method: str, params: Mapping[str, Any]) -> None:
        """Carry out what the person chose. If it is too late for that, the person reads so and the events go on."""
        try:
            await self._service.call(self._caller, method, params)
        except DonewhenError as error:
            await self._editor.say(words(str(error)))
            if error_data(error)["kind"] != ErrorKind.ALREADY_DECIDED:
                self.stop(str(error))

    async def _known(self) -> Mapping[str, Any]:
        known: Mapping[str, Any] = await self._service.call(self._caller, "session.get", {"id": self._session})
        return known
