"""What is written down about every try at a subtask, and whether it counts for somebody who goes on."""

from collections.abc import Mapping
from typing import Any

from donewhen.engines.base import Job, Note
from donewhen.engines.foreman.plan import Subtask
from donewhen.events import Error, Event
from donewhen.records import frozen

WORKED, GATED = "worked", "gated"
"""Notes: what a worker made, or that it failed; that everybody was told what the gate says."""
TRIES = 2
"""At what somebody has failed, one more is let try."""
LONGEST_PROBLEM = 500

Plain = Mapping[str, Any]


@frozen(kw_only=True)
class Task:
    """A subtask with its place in the plan, on the ground that it is worked on now."""

    subtask: Subtask
    index: int
    level: int
    total: int
    ground: str
    first_try: int = 1
    """Tries have numbers of their own, over all times that a subtask is offered."""
    tries: int = TRIES
    evidence: str = ""
    """Why it is offered again."""


@frozen
class Tries:
    job: Job

    def known(self, task: Task, number: int) -> Plain | None:
        """What came of a try that need not be made again."""
        counting = [body for body in self._worked(task, number) if self._counts(task, body)]
        return counting[-1] if counting else None

    def is_made(self, task: Task) -> bool:
        """Whether there is something that could be gated."""
        made = [body for body in self._notes(WORKED, task) if body["tree"]]
        return any(self._counts(task, body) for body in made)

    def anew(self, task: Task, number: int) -> int:
        """How often a try was made before, for nothing."""
        return len(self._worked(task, number))

    def is_told(self, task: Task, number: int) -> bool:
        here = (self.job.iteration, number)
        return any((body["round"], body["try"]) == here for body in self._notes(GATED, task))

    def write_gated(self, task: Task, number: int, status: str, *events: Event) -> None:
        self.job.notebook.write(self._note(GATED, task, number, status=status), *events)

    def write_worked(self, task: Task, number: int, tree: str, stop: str, problem: str) -> Plain:
        problem = f"{problem[:LONGEST_PROBLEM]}…" if len(problem) > LONGEST_PROBLEM else problem
        note = self._note(WORKED, task, number, tree=tree, stop=stop, problem=problem)
        told = [Error(kind="worker", message=problem).of_subtask(task.subtask.id)] if problem else []
        self.job.notebook.write(note, *told)
        return note.body

    def _worked(self, task: Task, number: int) -> list[Plain]:
        return [body for body in self._notes(WORKED, task) if body["try"] == number]

    def _notes(self, kind: str, task: Task) -> list[Plain]:
        notes = [note.body for note in self.job.notebook.notes() if note.kind == kind]
        return [body for body in notes if body["id"] == task.subtask.id]

    def _counts(self, task: Task, worked: Plain) -> bool:
        """One on another ground does not, nor one that waited for a person; nor, in a session that was gone on with
        after its end, one that failed or was stopped by a limit."""
        if worked["stop"] == "waits" or worked["ground"] != task.ground:
            return False
        return worked["round"] == self.job.iteration or bool(worked["tree"] and worked["stop"] != "budget")

    def _note(self, kind: str, task: Task, number: int, **more: Any) -> Note:
        about = {"id": task.subtask.id, "try": number, "round": self.job.iteration, "ground": task.ground}
        return Note(kind, {**about, **more})
