"""Progress of a plan: the combined tree, which subtasks are in it, why others are missing, and the notes on every
attempt.

`AttemptNotes` decides whether a recorded attempt still counts after a resume.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from donewhen.engines.foreman.subtask_plan import Subtask
from donewhen.engines.interface import EngineNote, Job
from donewhen.events import Error, Event
from donewhen.records import Stored, frozen
from donewhen.union.combine import Dropped, United
from donewhen.union.gate import Gated

HELD_OUT = "a held-out check turns red"
RETRIED = ("rejected", "error")
"""Gate results that a worker can act on. A result that the gate could not determine is not among them."""


class Retry(Stored):
    """A subtask that was left out and can be offered again."""

    id: str
    why: str
    """In text that a worker may read."""
    tree: str
    """What it made; empty if it made nothing, or if its contents must not be shown again (a secret)."""
    on: str = ""
    """The tree that its patch is based on."""


class LevelResult(EngineNote):
    """The result of combining some subtasks with the existing work."""

    KIND = "united"
    KEYS = MappingProxyType({"retries": "again"})
    round: int
    name: str
    """Unique in its round: a level, or a subtask that is offered again."""
    tree: str
    kept: tuple[str, ...]
    accepted: tuple[str, ...]
    missing: Mapping[str, str]
    retries: tuple[Retry, ...]

    @classmethod
    def from_union(
        cls, united: United, held_out: frozenset[str], *, has_earlier_work: bool, round: int, name: str
    ) -> "LevelResult":
        """Build the result. `has_earlier_work`: there was accepted work before this step."""
        refused = [one for one in united.gated if one.status != "accepted"]
        return cls(
            round=round,
            name=name,
            tree=united.together.tree,
            kept=united.kept,
            accepted=tuple(one.patch.id for one in united.gated if one.status == "accepted"),
            missing={
                **{one.patch.id: "; ".join(map(str, one.reasons)) or one.status for one in refused},
                **{one.patch: one.detail for one in united.dropped},
            },
            retries=tuple(_retries(united, held_out)) if united.kept or has_earlier_work else (),
        )


@dataclass(slots=True)
class Progress:
    tree: str
    """The combined tree so far."""
    included: list[str] = field(default_factory=list[str])
    """Subtasks whose work is in the tree, in the order in which it was added."""
    missing: dict[str, str] = field(default_factory=dict[str, str])
    """By subtask id, why its work is not in the tree."""
    accepted: set[str] = field(default_factory=set[str])
    """Subtasks whose patches passed the gate."""

    def add(self, step: LevelResult) -> None:
        if step.kept:
            self.tree = step.tree
        self.included += step.kept
        self.accepted |= set(step.accepted)
        for id in step.kept:
            self.missing.pop(id, None)
        for id, why in step.missing.items():
            before = self.missing.get(id)
            self.missing[id] = f"{before}; retried: {why}" if before else why

    def decline_reason(self) -> tuple[str, str] | None:
        """Return a one-word code and a line that say why there is no result; None if there is one."""
        if self.included:
            return None
        return "union_rejected" if self.accepted else "nothing_accepted", self.missing_text()

    def missing_text(self) -> str:
        return "; ".join(f"{id}: {why}" for id, why in self.missing.items())

    def summary(self, total: int) -> str:
        left_out = f"; left out: {self.missing_text()}" if self.missing else ""
        return f"{len(self.included)} of {total} subtasks are in: {', '.join(self.included)}{left_out}"


def _retries(united: United, held_out: frozenset[str]) -> Iterator[Retry]:
    """Yield subtasks to offer again. Called only if some work is in the tree: otherwise there is nothing to fit to."""
    dropped = {one.patch: one for one in united.dropped}
    for one in united.gated:
        if one.patch.id in dropped:
            yield Retry(one.patch.id, _drop_reason(dropped[one.patch.id], held_out), one.patch.tree, one.patch.on)
        elif one.status in RETRIED:
            has_secret = any(reason.code == "secret" for reason in one.reasons)
            yield Retry(one.patch.id, _gate_reason(one, held_out), "" if has_secret else one.patch.tree, one.patch.on)


def _drop_reason(drop: Dropped, held_out: frozenset[str]) -> str:
    together = f" together with {drop.partner}" if drop.partner else ""
    return f"{HELD_OUT}{together}" if drop.check in held_out else drop.detail


def _gate_reason(gated: Gated, held_out: frozenset[str]) -> str:
    why = [HELD_OUT if reason.check in held_out else str(reason) for reason in gated.reasons]
    return "; ".join(dict.fromkeys(why))


MOST_ATTEMPTS = 2
"""After a failed attempt, one more worker may try."""
LONGEST_PROBLEM = 500


class WorkedNote(EngineNote):
    """What a worker made in one attempt, or that it failed."""

    KIND = "worked"
    KEYS = MappingProxyType({"attempt": "try", "start_tree": "ground"})
    id: str
    attempt: int
    round: int
    start_tree: str
    tree: str
    """Empty if it made nothing."""
    stop: str
    problem: str


class GatedNote(EngineNote):
    """The gate's result of one attempt was reported."""

    KIND = "gated"
    KEYS = MappingProxyType({"attempt": "try", "start_tree": "ground"})
    id: str
    attempt: int
    round: int
    start_tree: str
    status: str


@frozen(kw_only=True)
class SubtaskAttempt:
    """A subtask with its position in the plan, and the tree `start_tree` that a worker starts from."""

    subtask: Subtask
    index: int
    level: int
    total: int
    start_tree: str
    first_attempt: int = 1
    """Attempts of a subtask are numbered over all times that it is offered."""
    attempts: int = MOST_ATTEMPTS
    evidence: str = ""
    """Why it is offered again."""


@frozen
class AttemptNotes:
    job: Job

    def result_of(self, task: SubtaskAttempt, number: int) -> WorkedNote | None:
        """Return the result of an attempt that does not need to be made again."""
        counting = [
            worked for worked in self._worked(task) if worked.attempt == number and self._is_valid(task, worked)
        ]
        return counting[-1] if counting else None

    def has_tree(self, task: SubtaskAttempt) -> bool:
        """Return True if a worker has made something that can be gated."""
        return any(worked.tree and self._is_valid(task, worked) for worked in self._worked(task))

    def times_repeated(self, task: SubtaskAttempt, number: int) -> int:
        """Return how many times this attempt was made before without a result that counts."""
        return sum(worked.attempt == number for worked in self._worked(task))

    def is_reported(self, task: SubtaskAttempt, number: int) -> bool:
        here, notes = (task.subtask.id, self.job.iteration, number), self.job.notebook.notes()
        return any((gated.id, gated.round, gated.attempt) == here for gated in GatedNote.all_in(notes))

    def write_gated(self, task: SubtaskAttempt, number: int, status: str, *events: Event) -> None:
        gated = GatedNote(task.subtask.id, number, self.job.iteration, task.start_tree, status)
        self.job.notebook.write(gated.as_note(), *events)

    def write_worked(self, task: SubtaskAttempt, number: int, tree: str, stop: str, problem: str) -> WorkedNote:
        problem = f"{problem[:LONGEST_PROBLEM]}…" if len(problem) > LONGEST_PROBLEM else problem
        worked = WorkedNote(task.subtask.id, number, self.job.iteration, task.start_tree, tree, stop, problem)
        events = [Error(kind="worker", message=problem).of_subtask(task.subtask.id)] if problem else []
        self.job.notebook.write(worked.as_note(), *events)
        return worked

    def _worked(self, task: SubtaskAttempt) -> list[WorkedNote]:
        notes = self.job.notebook.notes()
        return [worked for worked in WorkedNote.all_in(notes) if worked.id == task.subtask.id]

    def _is_valid(self, task: SubtaskAttempt, worked: WorkedNote) -> bool:
        """Return True if a recorded attempt counts. It does not if it was made on another tree, or if it waited for a
        person. In a session that was resumed after its end, it also does not count if it failed or was stopped by a
        limit."""
        if worked.stop == "waits" or worked.start_tree != task.start_tree:
            return False
        return worked.round == self.job.iteration or bool(worked.tree and worked.stop != "budget")
