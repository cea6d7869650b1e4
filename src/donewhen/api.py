"""The Python interface of donewhen. `import donewhen` offers exactly the names in `__all__`; all else is private.

    async with donewhen.connect() as client:
        session = await client.run("say right", checks={"done": "grep -qx right answer.txt"})
        async for event in session.events():
            print(event["type"])
        result = await session.result()
        if result.verified:
            await session.land(onto="main")

The same code works through a daemon that runs and, without one, in this process. A client makes the calls of the
program interface (`donewhen serve --schema` describes them), and results are plain JSON values with types.

Without a daemon, each call that works in a repository gets a process of its own. They are forked from a *prepared
process*, which is a new interpreter and no copy of your program. So your program may have threads, and an event loop
that runs already. asyncio is tested; the code uses anyio and nothing of asyncio itself.
"""

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import anyio

from donewhen.errors import DonewhenError
from donewhen.records import frozen
from donewhen.server.call_errors import CallFailed
from donewhen.server.library.calls import Calls, Connecting, Say

if TYPE_CHECKING:
    from typing import Unpack

    from donewhen.server.library.callables import Action, Gate, LoopServer
    from donewhen.server.methods.loop_results import InboxEntry, LoopList, LoopProposalEntry
    from donewhen.server.methods.results import (
        Answered,
        Cancelled,
        DecisionResult,
        LandingResult,
        SessionDetails,
        SessionEntry,
    )
    from donewhen.server.methods.start_options import StartSettings
    from donewhen.server.methods.verdict_results import TreeVerdict

__all__ = [
    "CallFailed",
    "Client",
    "ClientSession",
    "DonewhenError",
    "Loop",
    "LoopReport",
    "RunResult",
    "connect",
    "run",
]

PLACES = 4
Event = dict[str, Any]
"""An event as the JSON object that the page about sessions describes."""


def connect(daemon: bool | None = None, places: int = PLACES, say: Say | None = None) -> "ClientConnection":
    """Return a connection; `async with` provides its client. Enter and leave it in the same task.

        async with donewhen.connect() as client:
            sessions = await client.sessions()

    `daemon`: None uses the daemon if one runs on the same state directory with the same version and settings; True
    requires it; False always works in this process. There, at most `places` sessions work at the same time, and those
    that still work when the block ends are cancelled. Sessions of a daemon go on.

    `say` receives lines for a person, such as which uncommitted files are left out.
    """
    return ClientConnection(Connecting(daemon, places, say or _ignore))


def run(intent: str, **settings: "Unpack[StartSettings]") -> "RunResult":
    """Work on an intent and return how it ended, in a program without an event loop. See `Client.run`."""

    async def work() -> RunResult:
        async with connect() as client:
            session = await client.run(intent, **settings)
            return await session.result()

    return anyio.run(work)


def _ignore(line: str) -> None:
    del line


class ClientConnection:
    """What `connect` returns."""

    def __init__(self, connecting: Connecting) -> None:
        self._connecting = connecting

    async def __aenter__(self) -> "Client":
        return Client(await self._connecting.__aenter__())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connecting.__aexit__(kind, error, trace)


@frozen(kw_only=True)
class RunResult:
    """How a session ended, or that it waits."""

    id: str
    outcome: str
    """`verified`, `red`, `waiting` …: the outcomes of the page about sessions. Empty: its process died; resume it."""
    reason: str
    exit_code: int
    """That of `donewhen run`."""
    needs_you: Mapping[str, str]
    """What a person has to do: `kind` (such as `question` or `contract`, else `none`), `text` and `detail`."""

    @property
    def verified(self) -> bool:
        """True if every check passed on the exact tree that was or can be landed. Nothing else is a success."""
        return self.outcome == "verified"


class Client:
    """Starts sessions, finds them, and judges. Everything that fails raises `CallFailed`.

    Its `kind` is a word for programs (`bad_input`, `needs_person`, `machinery`, `already_decided` …). Its message is
    one line, `exit_code` is that of the command line, and `data` has further facts:

        try:
            await client.session("nosuchid").approve()
        except donewhen.CallFailed as error:
            print(error.kind, error)
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def run(self, intent: str, **settings: "Unpack[StartSettings]") -> "ClientSession":
        """Start a session and return as soon as it has begun. It works on while you do something else.

        The settings are the options of `donewhen run` with `_` for `-`; `checks` has commands by name:

            session = await client.run("say right", checks={"done": "grep -qx right answer.txt"}, land="none")

        `repo` is the repository; without it, it is the one of the current directory at the time of `connect`.
        """
        given = {**settings, "intent": intent, "repo": self._calls.absolute(settings.get("repo", ""))}
        return self.session((await self._calls.call("session.start", given))["id"])

    def session(self, id: str) -> "ClientSession":
        """Return the session with an id. Nothing is read until one of its methods is called."""
        return ClientSession(self._calls, id)

    async def sessions(self, repo: str = "", limit: int = 0) -> "list[SessionEntry]":
        """Return all sessions, or those of a repository, newest first. A limit of 0 is none.

        For example:

            for entry in await client.sessions(limit=10):
                print(entry["id"], entry["state"], entry["outcome"], entry["title"])
        """
        given = {"repo": self._calls.absolute(repo), "limit": limit}
        return cast("list[SessionEntry]", await self._calls.call("session.list", given))

    async def check(self, repo: str = "", subject: str = "working", fresh: bool = False) -> "TreeVerdict":
        """Judge a working tree against HEAD, without a model. `subject` may be `as-is` or `head`.

        For example:

            verdict = await client.check()
            print(verdict["green"], [one["status"] for one in verdict["results"]])
        """
        given = {"repo": self._calls.absolute(repo), "subject": subject, "fresh": fresh}
        return cast("TreeVerdict", await self._calls.call("contract.check", given))

    async def inbox(self, repo: str = "") -> "list[InboxEntry]":
        """Return everything that waits for a person, over all sessions and loops."""
        return cast("list[InboxEntry]", await self._calls.call("inbox.list", {"repo": self._calls.absolute(repo)}))

    async def loops(self, repo: str = "") -> "LoopList":
        """Return the loops that a repository states, and what is wrong with those that cannot be used."""
        return cast("LoopList", await self._calls.call("loop.list", {"repo": self._calls.absolute(repo)}))

    async def run_loop(self, name: str, repo: str = "", dry_run: bool = False) -> "ClientSession":
        """Start one round of a loop that a repository states. Return its session."""
        given = {"name": name, "repo": self._calls.absolute(repo), "dry_run": dry_run}
        return self.session((await self._calls.call("loop.run", given))["id"])

    def loop(
        self,
        name: str,
        intent: str,
        gate: "Gate | str" = "ask",
        action: "Action | str" = "report",
        repo: str = "",
        **keys: Any,
    ) -> "Loop":
        """Return a loop that is stated in code. `keys` are those of `[[loop]]`. See `Loop`."""
        from donewhen.server.library.callables import LoopServer  # loaded on use: most clients run no loop

        table: dict[str, Any] = {"level": "assisted", "deliver": [], **keys, "name": name, "intent": intent}
        return Loop(LoopServer(self._calls, table, self._calls.absolute(repo), gate, action))

    async def call(self, method: str, **params: Any) -> Any:
        """Make any call of the program interface and return its result.

        For example:

            doctor = await client.call("doctor.run")
        """
        return await self._calls.call(method, params)


class ClientSession:
    """A session: one intent, from its start to its outcome."""

    def __init__(self, calls: Calls, id: str) -> None:
        self.id = id
        self._calls = calls
        self._deciding = anyio.Lock()
        self._decisions = 0
        self._status: Mapping[str, Any] = {}

    async def events(self, from_seq: int = 1) -> AsyncGenerator[Event]:
        """Yield the events from `from_seq` on, and then new ones, until no process works on the session.

        That is when it has ended or waits for a person. Each event comes once and in order. Answers and decisions may
        be given in the loop:

            async for event in session.events():
                if event["type"] == "question_asked":
                    await session.answer("yes")
        """
        following = from_seq
        while True:
            decisions = self._decisions
            async with self._calls.subscribe("session.subscribe", {"id": self.id, "from_seq": following}) as opened:
                async for one in opened:
                    value: dict[str, Any] = json.loads(one.text)
                    if one.kind == "event":
                        following = value["seq"] + 1
                        yield value
                    else:
                        self._status = value
                        if not value["live"]:
                            break
            async with self._deciding:
                if decisions == self._decisions:
                    return

    async def result(self) -> RunResult:
        """Wait until the session has ended or waits for a person, and return how it is then.

        For example:

            result = await session.result()
            print(result.outcome, result.reason)
            if result.needs_you["kind"] == "contract":
                await session.approve()
        """
        from donewhen.session.outcome import Outcome  # loaded on use, as everything that works in a repository

        async with contextlib.aclosing(self.events(await self._next_seq())) as events:
            async for _ in events:
                pass
        status = self._status
        waits = status["state"] == "waiting"
        outcome = Outcome.of(status["outcome"]) or (Outcome.WAITING if waits else None)
        return RunResult(
            id=status["id"],
            outcome=outcome.value if outcome is not None else "",
            reason=status["reason"] or status["needs_you"]["detail"],
            exit_code=(outcome or Outcome.FAILED).exit_code,
            needs_you=status["needs_you"],
        )

    async def _next_seq(self) -> int:
        """Return the number of the next event: those before it are not needed."""
        async with self._calls.subscribe("session.subscribe", {"id": self.id}) as opened:
            status = opened.start["status"]
        return status["next_seq"] if status else 1

    async def details(self) -> "SessionDetails":
        """Return everything that is known about the session.

        For example:

            details = await session.details()
            print(details["engine"], details["iterations"], details["contract"]["checks"])
        """
        return cast("SessionDetails", await self._call("session.get"))

    async def diff(self, candidate: bool = False) -> bytes:
        """Return the work as a patch that git can apply; with `candidate`, also the edits that are not graded."""
        import base64

        found = await self._call("session.diff", candidate=candidate, limit=0)
        return base64.b64decode(found["patch"]) if found["encoding"] == "base64" else found["patch"].encode()

    async def answer(self, text: str) -> "Answered":
        """Answer the question that waits, or ask for a change of the proposed contract or plan."""
        return cast("Answered", await self._decide("session.answer", text=text))

    async def approve(self) -> "DecisionResult":
        """Approve what waits for a decision. The session goes on; `result` waits for its end."""
        return cast("DecisionResult", await self._decide("session.approve"))

    async def deny(self) -> "DecisionResult":
        """Deny what waits for a decision."""
        return cast("DecisionResult", await self._decide("session.deny"))

    async def cancel(self) -> "Cancelled":
        """Stop the session. Afterwards nothing that it started is alive."""
        return cast("Cancelled", await self._call("session.cancel"))

    async def resume(self) -> None:
        """Continue after a crash, a limit or a restart. It returns when the session works again."""
        await self._decide("session.resume")

    async def land(self, onto: str = "") -> "LandingResult":
        """Bring the judged tree of a verified session into a branch. `landed` is None if it was refused: see `reason`.

        For example:

            landing = await session.land(onto="main")
            print(landing["landed"] or landing["reason"])
        """
        return cast("LandingResult", await self._call("session.land", onto=onto))

    async def _call(self, method: str, **params: Any) -> Any:
        return await self._calls.call(method, {"id": self.id, **params})

    async def _decide(self, method: str, **params: Any) -> Any:
        """Make a call after which the session may work again: `events` then goes on."""
        async with self._deciding:
            found = await self._call(method, **params)
            self._decisions += 1
            return found


@frozen(kw_only=True)
class LoopReport:
    """How a round of a loop ended."""

    session: str
    outcome: str
    """`reported`, `proceeded`, `escalated`, `budget`, `failed` or `skipped`. One that waits is `escalated`."""
    reason: str
    waits: bool
    """True if the work waits for a person: the gate gave no answer, or there is none."""
    decision: str
    """`approved`, `denied`, or what the gate of the runtime said."""
    action: Mapping[str, Any] | None
    """What was carried out: its `kind`, `summary` and `output`, which is what the callable returned."""
    event: Event
    """The whole `round_finished`."""


class Loop:
    """A loop that is stated in code, with Python callables as its gate and its action. No file states it.

        def gate(proposal):
            return proposal["verified"] and all(path.endswith(".txt") for path in proposal["paths"])

        async def action(proposal, checkout):
            return f"published {len(list(checkout.iterdir()))} files"

        async with client.loop("publisher", "say right", gate=gate, action=action, checks=["done"]) as loop:
            report = await loop.run()
            print(report.outcome, report.action)

    **The gate** gets what the round proposes, as JSON: what `gate = "command:…"` reads, and the `reason` why a decision
    is needed. True approves exactly that tree, False denies it, None leaves it to a person (`donewhen inbox`). It is
    asked about everything that waits, also about work that is not verified; work that is red is never carried out.

    **The action** gets the proposal and the path of a checkout of the approved tree, which is removed afterwards. It
    returns a text for the record, or None. An exception is a failed round. It is carried out in this program, also if a
    person approves the work elsewhere; so the block of the loop has to be open then.

    Both may be plain or async functions; plain ones run in a thread. Without callables, `gate` and `action` are texts
    as in `[[loop]]`. The `level` is `assisted` unless you state another one.
    """

    def __init__(self, server: "LoopServer") -> None:
        self._server = server

    async def __aenter__(self) -> "Loop":
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    async def run(self, dry_run: bool = False) -> LoopReport:
        """Run one round now. With `dry_run`, everything but the action is done, and the gate is not asked."""
        session = ClientSession(self._server.calls, await self._server.begin(dry_run))
        event, result = await _to_end(session)
        if result.needs_you["kind"] == "loop_action" and (answer := await self._asked(session)) is not None:
            await self._decide(session, answer)
            event, result = await _to_end(session)
        return LoopReport(
            session=session.id,
            outcome=event.get("outcome", "failed"),
            reason=event.get("reason", result.reason),
            waits=result.outcome == "waiting",
            decision=event.get("decision", ""),
            action=event.get("action"),
            event=event,
        )

    async def _decide(self, session: ClientSession, answer: bool) -> None:
        try:
            await (session.approve() if answer else session.deny())
        except CallFailed as error:
            if error.kind != "already_decided":  # a person was faster: what they decided counts
                raise

    async def _asked(self, session: ClientSession) -> bool | None:
        """Return what the gate decides; None if there is no callable, or if it leaves it to a person."""
        if not callable(self._server.gate):
            return None
        proposal = await self._server.calls.call("loop.proposal", {"id": session.id})
        return await self._server.ask(cast("LoopProposalEntry", proposal))

    async def rounds(self) -> AsyncIterator[LoopReport]:
        """Run a round whenever the `schedule` of the loop says so, and yield its report. It does not end.

        What became due while a round was running is left out.
        """
        while True:
            await self._server.wait_until_due()
            yield await self.run()


async def _to_end(session: ClientSession) -> tuple[Event, RunResult]:
    """Wait for the end of a round. Return its last report and the state of its session."""
    last: Event = {}
    async with contextlib.aclosing(session.events()) as events:
        async for event in events:
            if event["type"] == "round_finished":
                last = event
    return last, await session.result()
