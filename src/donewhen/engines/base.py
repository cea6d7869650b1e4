"""The seam to every engine: a job in, an attempt out. One attempt is one round of work, then the tree is judged.

An engine works in a maker tree and writes down what it would need to go on after its process died. It never learns
more about the judge than the words of the contract and of the feedback.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from donewhen.events import Emit, Event
from donewhen.model.base import Said, Usage
from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.workspace.maker import Maker


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


@frozen
class NoChange:
    """An engine's claim that nothing should change."""

    kind: Literal["premise_wrong", "deliberate_behavior", "non_code_decision"]
    summary: str
    evidence: str


@frozen(kw_only=True)
class Attempt:
    """How a round of work ended. Whatever it says, the tree is judged."""

    stop: Literal["done", "turns", "model_failed", "budget", "claim", "waits"]
    said: str = ""
    """The closing words."""
    problem: str = ""
    """For `model_failed`: what broke, in one line; the engine cannot go on."""
    claim: NoChange | None = None
    waits_for: Literal["", "sign_in", "quota"] = ""
    """For `waits`: only a person or time helps; `problem` says why."""
    reset_at: str = ""
    """When it is said to be over, in UTC as events have it."""


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    async def attempt(self, job: Job, emit: Emit) -> Attempt: ...
