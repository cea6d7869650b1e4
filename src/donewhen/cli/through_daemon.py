"""How verbs use a daemon that runs: they call its methods and follow its sessions. Without one they work alone.

Only light modules are loaded here, because the work is done elsewhere.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen import __version__
from donewhen.cli.group import say
from donewhen.errors import BadInput
from donewhen.server.call_errors import CallFailed
from donewhen.server.client import DaemonClient, connect
from donewhen.storage.record import Record
from donewhen.workspace.state_dir import state_root

if TYPE_CHECKING:
    from donewhen.cli.views.session_audience import SessionView
    from donewhen.cli.views.terminal_person import TerminalPerson

OWN_FIELDS = ("seq", "at", "session", "type")
ELSEWHERE = "other_storage"
"""The kind of error of a daemon that keeps its sessions in another database than the repository says."""

CLOSED = "closed"
"""The kind of error when the daemon has closed the connection."""

LONGEST_SETTINGS = 1 << 20
"""Bytes of a donewhen.toml. No verb reads a longer one."""
UNREADABLE = ("parse_error", "invalid_params")
"""The kinds of error for parameters that cannot be right. Alone, the verb says which option it is."""
DECISIONS = ("gate_decided", "question_answered")
"""The events of what a person decides. The verb that decided does not show them."""


def daemon() -> DaemonClient | None:
    """Return a client of the daemon that runs; None if a verb has to work alone."""
    try:
        here = Path.cwd()
    except OSError:  # it was removed
        return None
    if _may_keep_sessions_elsewhere(here):
        return None
    client = connect(state_root(os.environ))
    if client is None:
        return None
    try:
        known = client.enter()
    except CallFailed:  # it is stopping
        client.close()
        return None
    if known["version"] == __version__ and known["settings"]:
        return client
    client.close()
    if known["version"] != __version__:
        say(f"note: the daemon has version {known['version']} and this is {__version__}; it works without; restart it")
    return None


def _may_keep_sessions_elsewhere(directory: Path) -> bool:
    """Return True if the nearest donewhen.toml says something about storage, which the daemon does not follow."""
    for place in (directory, *directory.parents):
        with contextlib.suppress(OSError):
            return b"storage" in _content(place / "donewhen.toml")
    return False


def _content(file: Path) -> bytes:
    """Return the content of a file; nothing of one that is no ordinary file or too long to be read by any verb."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        is_read = stat.S_ISREG(status.st_mode) and status.st_size <= LONGEST_SETTINGS
        return opened.read() if is_read else b""


def call(method: str, alone: Callable[[], Any], **params: Any) -> Any:
    """Return the result of a method: of the daemon if one runs, else of `alone`."""
    client = daemon()
    if client is None:
        return alone()
    with contextlib.closing(client):
        client.hear = say
        try:
            return client.call(method, **params)
        except CallFailed as error:
            if error.kind != ELSEWHERE:
                raise
    return alone()


def record_of(event: dict[str, Any]) -> Record:
    """Return a public event as the record that views show."""
    body = {name: value for name, value in event.items() if name not in OWN_FIELDS}
    return Record(event["session"], 0, event["at"], event["type"], body, event["seq"])


def left_alone(session: str, error: CallFailed) -> CallFailed:
    """Return the error of a verb whose daemon has ended while it showed a session; another error as it is."""
    if error.kind != CLOSED:
        return error
    from donewhen.server.methods.sessions import session_get  # loaded on use, as it is rare

    known = session_get(session)
    if known["live"]:
        follow = f"session {session} goes on without it; follow it with: donewhen watch {session}"
    elif known["state"] == "finished":
        follow = f"session {session} has ended: donewhen show {session}"
    else:
        follow = f"session {session} goes on when it starts again, or with: donewhen resume {session}"
    return CallFailed(CLOSED, f"the daemon has ended; {follow}", error.exit_code)


def cancel_elsewhere(session: str) -> None:
    """Cancel a session over another connection: this one is read."""
    other = connect(state_root(os.environ))
    if other is None:
        raise CallFailed(CLOSED, "the daemon has ended", 4)
    with contextlib.closing(other):
        other.call("session.cancel", id=session)


class SessionAway:
    """A session that the daemon works on, shown here."""

    def __init__(self, client: DaemonClient, id: str, before: Iterable[Record] = ()) -> None:
        """`before` are the events that are not shown again."""
        self._client = client
        self.id = id
        self.records = [*before]
        self._open: dict[str, Record] = {}
        """The gates that wait, by id, and the question under an empty id."""
        self._moved = True
        """False from a decision here until the session moves: until then it is not at its end."""
        self._status: dict[str, Any] = {}
        self._next = self.records[-1].seq or 0 if self.records else 0

    def follow(self, view: "SessionView") -> dict[str, Any]:
        """Show events until no process works on the session. Return its last status. Ctrl-C cancels the session."""
        self._client.hear = view.say
        try:
            self._client.call("session.subscribe", id=self.id, from_seq=self._next + 1)
            try:
                self._follow(view)
            except KeyboardInterrupt:
                self._cancel(view)
        except CallFailed as error:
            raise left_alone(self.id, error) from error
        return self._status

    def _follow(self, view: "SessionView") -> None:
        if view.person is None:
            for message in self._client.notifications():
                if self._has_ended(message, view):
                    return
        else:
            import anyio  # loaded on use: only a person who is asked needs it

            anyio.run(self._follow_with_person, view, view.person)

    def _has_ended(self, message: dict[str, Any], view: "SessionView") -> bool:
        """Show one message. Return True if no process works on the session any more."""
        params = message["params"]
        if message["method"] == "session.event":
            self._show(record_of(params["event"]), view)
        elif message["method"] == "session.status":
            self._status = params
            return not params["live"] and (self._moved or params["state"] == "finished")
        return False

    def _show(self, record: Record, view: "SessionView") -> None:
        self.records.append(record)
        view.on_record(record)
        body = record.body
        match record.kind:
            case "gate_opened":
                self._open[body["id"]] = record
            case "gate_decided":
                self._open.pop(body["id"], None)
            case "question_asked":
                self._open[""] = record
            case "question_answered" | "question_expired":
                self._open.pop("", None)
            case "state_changed":
                self._moved = True
            case _:
                pass

    def _cancel(self, view: "SessionView") -> None:
        """Cancel the session and show its end."""
        cancel_elsewhere(self.id)
        for message in self._client.notifications():
            if self._has_ended(message, view):
                break

    # -- a person at this terminal --

    async def _follow_with_person(self, view: "SessionView", person: "TerminalPerson") -> None:
        import anyio

        asking = anyio.CancelScope()
        async with anyio.create_task_group() as tasks:
            while True:
                for message in self._client.received():
                    ended = self._has_ended(message, view)
                    kind = message["params"].get("event", {}).get("type", "")
                    if kind == "question_asked":
                        asking = anyio.CancelScope()
                        tasks.start_soon(self._answer, person, message["params"]["event"]["prompt"], asking)
                    elif kind in ("question_answered", "question_expired"):
                        asking.cancel()
                    if ended and not await self._decide(person):
                        tasks.cancel_scope.cancel()
                        return
                await anyio.wait_readable(self._client.fileno())
                self._client.receive()

    async def _answer(self, person: "TerminalPerson", prompt: str, scope: Any) -> None:
        with scope:
            self._send("session.answer", text=await person.answer(prompt))

    async def _decide(self, person: "TerminalPerson") -> bool:
        """Ask about the gate that waits. Return True if the session goes on after the decision."""
        from donewhen.session.person.gates import GateKind

        gates = [record for id, record in self._open.items() if id and not record.body.get("optional")]
        kind = GateKind.of(gates[-1].body["gate"]) if gates else None
        if self._status["state"] != "waiting" or kind is None:
            return False
        choice = await person.decide(kind, gates[-1].body["detail"])
        if choice is None:
            return False
        self._moved = False
        if isinstance(choice, str):
            self._send("session.answer", text=choice)
        else:
            self._send("session.approve" if choice else "session.deny")
        return True

    def _send(self, method: str, **params: Any) -> None:
        other = daemon()
        if other is None:
            raise CallFailed(CLOSED, "the daemon has ended", 4)
        with contextlib.closing(other):
            other.call(method, id=self.id, **params)


def show_to_end(away: SessionAway, as_json: bool, may_ask: bool = True) -> int:
    """Show a session until no process works on it, and how it ended. Return the exit code."""
    from donewhen.cli.views.ending import show_ending
    from donewhen.cli.views.session_audience import session_view
    from donewhen.session.outcome import Outcome

    with session_view(as_json, may_ask, before=away.records) as view:
        status = away.follow(view)
    outcome = Outcome.of(status["outcome"]) or (Outcome.WAITING if status["state"] == "waiting" else None)
    if outcome is None:
        say(f"no process works on session {away.id}; continue with: donewhen resume {away.id}")
        return Outcome.FAILED.exit_code
    reason = status["reason"] or status["needs_you"]["detail"]
    ended: Any = {"id": away.id, "outcome": outcome.value, "reason": reason, "exit_code": outcome.exit_code}
    show_ending(ended, as_json, away.records)
    return outcome.exit_code


def decide(method: str, session: str, as_json: bool, **params: str) -> int | None:
    """Send an answer or a decision to the daemon and show the session until it ends or waits. Return the exit code.

    None if no daemon runs. 0 if a process works on the session already: what it does is shown elsewhere.
    """
    client = daemon()
    if client is None:
        return None
    from donewhen.server.methods.sessions import records_of

    seen = sum(1 for _ in records_of(session))
    decided = client.call(method, id=session, **params)
    if decided["live"]:
        return 0
    before = list[Record]()
    for record in records_of(session):
        before.append(record)
        if len(before) > seen and record.kind in DECISIONS:
            break
    return show_to_end(SessionAway(client, decided["id"], before), as_json)


def begin(client: DaemonClient, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Begin a call and return its session as `id`, or its result if it began none.

    None if the daemon cannot, so that it is done alone.
    """
    client.hear = say
    try:
        return client.call(method, **params)
    except CallFailed as error:
        if error.kind in (ELSEWHERE, *UNREADABLE):
            return None
        if error.exit_code == BadInput.exit_code:
            raise BadInput(str(error)) from None
        raise
