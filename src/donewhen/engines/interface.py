"""Interface of every engine: a `Job` in, an `Attempt` out. One attempt is one round of work; then the tree is judged.

An engine works in a maker tree. It writes notes with everything that it needs to resume after its process died. All
that it learns about the judge is the text of the contract and of the feedback.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from donewhen.events import Emit, Event
from donewhen.model.interface import OnText, Usage
from donewhen.records import Stored, frozen

if TYPE_CHECKING:
    from donewhen.union.combine import Combiner
    from donewhen.union.oracle import Members
    from donewhen.union.parser_client import ParserClient
    from donewhen.union.patch import Patch
    from donewhen.workspace.git.store import Store
    from donewhen.workspace.process.command import Finished
    from donewhen.workspace.trees.maker import Maker


@frozen
class Note:
    """A fact that an engine must remember: plain JSON under a kind that the engine chooses."""

    kind: str
    body: Mapping[str, Any]


class EngineNote(Stored):
    """Base of the notes that an engine defines as records."""

    KIND: ClassVar[str]

    def as_note(self) -> Note:
        return Note(self.KIND, self.plain())

    @classmethod
    def all_in(cls, notes: Iterable[Note]) -> list[Self]:
        """Return the notes of this kind."""
        return [cls.load(note.body) for note in notes if note.kind == cls.KIND]


class Notebook(Protocol):
    """The notes of one engine in this session. A note is durable before `write` returns."""

    def notes(self) -> Sequence[Note]:
        """Return all notes in order, including those of a process that died."""
        ...

    def write(self, note: Note | None, *events: Event) -> None:
        """Write a note and the events that report it, atomically: all of them or none."""
        ...

    def turns(self, role: str) -> int:
        """Return how many model turns of that role the session has recorded. A note of kind `turn` or `turn_failed`
        with `role` in its body counts as one turn."""
        ...


class RemainingBudget(Protocol):
    """The remaining budget of the whole session, over all engines."""

    def require(self) -> None:
        """Raise `OutOfBudget` if a limit is reached."""
        ...

    def lease(self, most: Usage) -> AbstractAsyncContextManager[None]:
        """Make and count a model call inside of this, which may use at most so much. Raise `OutOfBudget` at a limit.

        It waits while the calls of other workers that are running could use up what is left: only a call that is made
        alone goes beyond a limit.
        """
        ...

    def count_usage(self, usage: Usage, usd: float | None) -> Event:
        """Count the usage. Write the returned event together with the turn that caused the cost."""
        ...


class Asker(Protocol):
    """A person who can be asked a question."""

    async def ask(self, id: str, prompt: str) -> str:
        """Return the answer. Raise `AnswerTimeout` if the time is over and the work should continue without one."""
        ...


@frozen(kw_only=True)
class RemainingTime:
    """The remaining time."""

    left_secs: float | None
    """Seconds until the time limit of the session; None without such a limit."""
    silence_secs: float
    """A worker is stopped after this many seconds without any activity; 0 means never."""


class WorkerServices(Protocol):
    """Services for an engine that runs workers: for each worker a tree, notes and a share of the remaining budget; for
    their results the gate and the union. A worker run has a name that is unique in the session."""

    @property
    def store(self) -> "Store": ...

    @property
    def parser(self) -> "ParserClient":
        """Parses texts that come from others, such as files of the repository."""
        ...

    @property
    def held_out(self) -> frozenset[str]:
        """Names of checks that no worker may learn anything about."""
        ...

    async def base(self) -> str:
        """Return the id of the base tree, on which all results are combined in the end."""
        ...

    def notebook(self, worker_run: str, subtask: str = "") -> Notebook:
        """Return the notebook of this run, separate from that of every other run. Events that are written through it
        are reported under the subtask."""
        ...

    def asker(self, subtask: str) -> Asker | None: ...

    def share(self, workers: int) -> RemainingBudget:
        """Return 1/workers of the remaining budget. Unspent budget stays in the pool."""
        ...

    def time(self) -> RemainingTime: ...

    def maker(self, worker_run: str, start_tree: str) -> "AbstractAsyncContextManager[Maker]":
        """Open a maker tree with the files of the tree `start_tree`. A run that is resumed gets its earlier tree with
        everything that was made in it. The tree is removed at the normal end of the block and left as it is if the
        block is interrupted."""
        ...

    async def capture(self, worker_run: str, maker: "Maker") -> str:
        """Capture the maker tree and return a durable tree id. Files that tools leave behind are not included."""
        ...

    async def patch(self, start_tree: str, tree: str) -> str:
        """Return the changes from `start_tree` to `tree` as a patch, limited to what workers may see."""
        ...

    async def set_files(self, maker: "Maker", tree: str) -> None:
        """Make the files of the maker tree equal to those of `tree`."""
        ...

    async def combiner(
        self, start_tree: str, patches: "Mapping[str, Patch]" = ..., before: "Members" = (), subtask: str = ""
    ) -> "Combiner":
        """Return a combiner for patches that are all based on `start_tree`, which already contains the patches that
        `before` names.

        With a subtask, the check results are reported under it: a single patch is judged alone.
        """
        ...


class PlanTracker(Protocol):
    """The plan being built, as far as a builder may see and change it: the builder can only update item states and
    notes."""

    @property
    def spec(self) -> str: ...

    def tracker(self) -> str:
        """Return all items with their states and notes, as readable text."""
        ...

    def update(self, item: str, state: str, note: str) -> str:
        """Set the state of an item and return it in one line. Raise `NoSuchItem`, which names the known items."""
        ...

    def read_back(self, text: str) -> None:
        """Read states and notes from an edited copy of `tracker()`, and nothing else."""
        ...


class NoSuchItem(Exception):
    """Control flow: the named item is unknown. The message lists the known items; the caller continues."""


class RunOnCopy(Protocol):
    """Runs a command on a copy of a tree. The tree itself never changes, whatever the command does."""

    async def __call__(self, command: str, timeout_secs: float) -> "Finished": ...


class OutOfBudget(Exception):
    """Control flow: the attempt ends here, and the tree is judged."""


class AnswerTimeout(Exception):
    """Control flow: the model gets this as an error message and continues."""


@frozen(kw_only=True)
class Job:
    """The input for one round of work."""

    intent: str
    contract: str
    """The contract as text, without held-out checks."""
    iteration: int
    feedback: str = ""
    """What the judge found in the previous round; empty in the first round."""
    red_rounds: int = 0
    """How many rounds in a row were judged red so far."""
    hint: str = ""
    role: str = "maker"
    """The role under which the model is called: `maker`, `planner` or `worker:SUBTASK`."""
    rules: str = ""
    """Replaces the engine's default rules for a maker; empty keeps the default."""
    maker: "Maker"
    private_dir: Path
    """A private directory of this session for files that an engine must keep. It outlives the maker tree."""
    notebook: Notebook
    budget: RemainingBudget
    asker: Asker | None = None
    """None: no person can be asked, and the tool for asking is not offered."""
    max_turns: int = 24
    redact: Callable[[str], str] = str
    """Removes secret values from the output of commands. Only redacted output may reach a model or the log."""
    on_text: OnText | None = None
    """Callback that receives the model's text while it is streamed, for people who watch."""
    worker_services: WorkerServices | None = None
    """Only for an engine that runs workers."""
    plan: PlanTracker | None = None
    """Only for a builder that can report its progress with a tool."""
    run_on_copy: RunOnCopy | None = None
    """Only for an evaluator: commands run through it and leave the tree unchanged."""


class NoChange(Stored):
    """An engine's claim that nothing should change."""

    kind: Literal["premise_wrong", "deliberate_behavior", "non_code_decision"]
    summary: str
    evidence: str


@frozen(kw_only=True)
class Attempt:
    """The end of one round of work. The tree is judged whatever this record says, unless the engine declines."""

    stop: Literal["done", "turns", "model_failed", "budget", "claim", "waits", "declines"]
    last_text: str = ""
    """The model's last text."""
    problem: str = ""
    """For `model_failed`: what broke, in one line; the engine cannot continue. For `declines`: the reason."""
    code: str = ""
    """For `declines`: the reason as a one-word code. The tree is unchanged."""
    claim: NoChange | None = None
    waits_for: Literal["", "sign_in", "quota"] = ""
    """For `waits`: only a person or time helps; `problem` says why."""
    reset_at: str = ""
    """When the wait is expected to end, in UTC and in the format of events."""


class Engine(Protocol):
    @property
    def name(self) -> str: ...

    async def attempt(self, job: Job, emit: Emit) -> Attempt: ...
