"""The seam to every engine: a job in, an attempt out. One attempt is one round of work, then the tree is judged.

An engine works in a maker tree and writes down what it would need to go on after its process died. It never learns
more about the judge than the words of the contract and of the feedback.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from donewhen.events import Emit, Event
from donewhen.model.base import Said, Usage
from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.union.asking import Reader
    from donewhen.union.known import Members
    from donewhen.union.patch import Patch
    from donewhen.union.uniting import Uniting
    from donewhen.workspace.command import Finished
    from donewhen.workspace.maker import Maker
    from donewhen.workspace.store import Store


@frozen
class Note:
    """Something an engine must remember: plain JSON under a kind of its own."""

    kind: str
    body: Mapping[str, Any]


class Notebook(Protocol):
    """What one engine has written down in this session, durable before the call returns."""

    def notes(self) -> Sequence[Note]:
        """All of them, in order, those of a process that died included."""
        ...

    def write(self, note: Note | None, *events: Event) -> None:
        """A note and what is told about it, together or not at all."""
        ...

    def turns(self, role: str) -> int:
        """How many model turns of that role the session has recorded. A note of kind `turn` or `turn_failed` with
        `role` in its body is one."""
        ...


class Meter(Protocol):
    """What the whole session may still spend, over all engines."""

    def require(self) -> None:
        """Raise `OutOfBudget` when a limit is reached. To be asked before every model call."""
        ...

    def spent(self, usage: Usage, usd: float | None) -> Event:
        """Count it. The event is to be written together with the turn that cost it."""
        ...


class Asker(Protocol):
    """A person who may be asked."""

    async def ask(self, id: str, prompt: str) -> str:
        """The answer. `NobodyAnswered` when the time is over and the work should go on without one."""
        ...


@frozen(kw_only=True)
class Time:
    """What is left of it."""

    left_secs: float | None
    """Until the minutes are used up; None without such a limit."""
    silence_secs: float
    """After so long without a word a hand is given up; 0 is never."""


class Hands(Protocol):
    """What an engine is given that has others work: for each a tree, notes and a share of what is left; and the gate
    and the union for what they make. A part is one of them at work; its name is unique in the session."""

    @property
    def store(self) -> "Store": ...

    @property
    def reader(self) -> "Reader":
        """Reads texts that others wrote."""
        ...

    @property
    def held_out(self) -> frozenset[str]:
        """The names of checks that nobody who works may learn anything about."""
        ...

    async def base(self) -> str:
        """The tree id that everything stands on in the end."""
        ...

    def notebook(self, part: str, subtask: str = "") -> Notebook:
        """Kept apart from that of every other part. What is told through it is told of the subtask."""
        ...

    def asker(self, subtask: str) -> Asker | None: ...

    def share(self, parts: int) -> Meter:
        """One of so many equal parts of what may still be spent. What of it is not spent was never taken away."""
        ...

    def time(self) -> Time: ...

    def maker(self, part: str, ground: str) -> "AbstractAsyncContextManager[Maker]":
        """A tree with the files of the ground; the one of before, with all that was made in it, for a part that goes
        on. It is gone when the block has come to its end, and left as it is when it is broken off."""
        ...

    async def made(self, part: str, maker: "Maker") -> str:
        """What was made in it, as a tree id that lasts; without what tools leave behind."""
        ...

    async def patch(self, ground: str, tree: str) -> str:
        """What a tree changes in the ground, as far as those who work may see it."""
        ...

    async def show(self, maker: "Maker", ground: str) -> None:
        """Make a tree's files those of the ground."""
        ...

    async def uniting(
        self, ground: str, patches: "Mapping[str, Patch]" = ..., before: "Members" = (), subtask: str = ""
    ) -> "Uniting":
        """For patches that all stand on the ground, in which those of `before` are already.

        With a subtask, what the checks say is told of it: one patch is judged by itself.
        """
        ...


class Planned(Protocol):
    """The plan that is built, as far as a builder may see and change it: it says how far the items are."""

    @property
    def spec(self) -> str: ...

    def tracker(self) -> str:
        """All items with their states and notes, for reading."""
        ...

    def update(self, item: str, state: str, note: str) -> str:
        """How an item stands now, in one line. `NoSuchItem` names those that there are."""
        ...

    def read_back(self, text: str) -> None:
        """Take the states and notes of what somebody made out of `tracker`, and nothing else."""
        ...


class NoSuchItem(Exception):
    """Steers: nobody can tell which item is meant. The message names what there is; whoever named it goes on."""


class Probe(Protocol):
    """A command run on a tree that stays as it is, whatever the command does."""

    async def __call__(self, command: str, timeout_secs: float) -> "Finished": ...


class OutOfBudget(Exception):
    """Steers: the attempt ends here, and the tree is judged."""


class NobodyAnswered(Exception):
    """Steers: the model is told, and goes on."""


@frozen(kw_only=True)
class Job:
    """One round of work."""

    intent: str
    contract: str
    """The contract in words, held-out checks not among them."""
    iteration: int
    feedback: str = ""
    """What the judge found in the round before; empty in the first."""
    reds: int = 0
    """How many rounds in a row were judged red by now."""
    hint: str = ""
    role: str = "maker"
    """In whose name the model is asked: `maker`, `planner` or `worker:SUBTASK`."""
    rules: str = ""
    """What holds instead of the engine's own rules for a maker."""
    maker: "Maker"
    own: Path
    """A private directory of this session for what an engine needs to keep as files; it outlives the maker tree."""
    notebook: Notebook
    meter: Meter
    asker: Asker | None = None
    """None: nobody can be asked, and the tool is not offered."""
    max_turns: int = 24
    redact: Callable[[str], str] = str
    """Takes secret values out of what commands print; nothing else of it may reach a model or the log."""
    said: Said | None = None
    """Told what a model says while it says it, for people who watch."""
    hands: Hands | None = None
    """For an engine that has others work."""
    planned: Planned | None = None
    """For a builder that can say by a tool how far it is."""
    probe: Probe | None = None
    """For somebody who judges: commands are run through it and leave the tree as it is."""


@frozen
class NoChange:
    """An engine's claim that nothing should change."""

    kind: Literal["premise_wrong", "deliberate_behavior", "non_code_decision"]
    summary: str
    evidence: str


@frozen(kw_only=True)
class Attempt:
    """How a round of work ended. Whatever it says, the tree is judged, unless the engine declines."""

    stop: Literal["done", "turns", "model_failed", "budget", "claim", "waits", "declines"]
    said: str = ""
    """The closing words."""
    problem: str = ""
    """For `model_failed`: what broke, in one line; the engine cannot go on. For `declines`: why."""
    word: str = ""
    """For `declines`: why, in one word. The tree is as it was."""
    claim: NoChange | None = None
    waits_for: Literal["", "sign_in", "quota"] = ""
    """For `waits`: only a person or time helps; `problem` says why."""
    reset_at: str = ""
    """When it is said to be over, in UTC as events have it."""


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    async def attempt(self, job: Job, emit: Emit) -> Attempt: ...
