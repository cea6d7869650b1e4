"""Requests a plan for an intent: asks the planner and returns the issues to it, up to a fixed number of attempts.

The planner reads the tree with read-only tools. `subtask_plan` parses its answer, and `plan_check` compares it with the
repository. Every answer and every result of the check is a note, so that nothing is asked twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from donewhen.engines.foreman import prompts
from donewhen.engines.foreman.plan_check import repository_issues
from donewhen.engines.foreman.subtask_plan import SubtaskPlan, plan_in, plan_of
from donewhen.engines.interface import Engine, EngineNote, Job, Note, WorkerServices
from donewhen.engines.planner import MOST_TURNS, NoAnswer, answer_of, ask_until_valid
from donewhen.engines.typed_reply import InvalidReply
from donewhen.errors import BadInput
from donewhen.events import Emit, PlanningCompleted, PlanningStarted

PART = "planner"


class PlanNote(EngineNote):
    """A valid plan."""

    KIND = "planned"
    subtasks: tuple[Mapping[str, Any], ...]


class RejectedPlanNote(EngineNote):
    """The issues of an invalid plan."""

    KIND = "unsound"
    round: int
    issues: tuple[str, ...]


class PlanChangeNote(EngineNote):
    """A change request from a person."""

    KIND = "wish"
    text: str


@dataclass(slots=True)
class Planning:
    planner: Engine
    job: Job
    services: WorkerServices
    attempts: int
    emit: Emit

    async def plan(self) -> SubtaskPlan:
        """Return the recorded plan, unless a person has sent a change request since; otherwise ask for a new plan.

        Raise `NoAnswer` if there is none, and `LimitReached` at a limit.
        """
        recorded = self._recorded_plan()
        return recorded if recorded is not None else await self._ask_planner()

    def _recorded_plan(self) -> SubtaskPlan | None:
        for note in reversed(self.job.notebook.notes()):
            if note.kind == PlanChangeNote.KIND:
                return None
            if note.kind == PlanNote.KIND:
                return plan_of(PlanNote.load(note.body).subtasks)
        return None

    async def _ask_planner(self) -> SubtaskPlan:
        if not any(note.kind == RejectedPlanNote.KIND for note in self._notes_since_change()):
            self.emit(PlanningStarted())
        if is_plan(self._change_request()) and not self._notes_since_change():
            plan = plan_in(self._change_request())  # written by a person; it is not compared with the repository
            self.job.notebook.write(PlanNote(tuple(plan.plain())).as_note(), completed_event(plan))
            return plan
        plan = await ask_until_valid(
            lambda: self.attempts - len(self._rejected()), self._reply, self._accept, self._reject
        )
        if plan is None:
            issues = self._rejected()
            raise NoAnswer("; ".join(issues[-1]) if issues else "plan_attempts allows no attempt")
        return plan

    async def _accept(self, reply: str) -> SubtaskPlan:
        plan = plan_in(reply)
        issues = await repository_issues(plan, await self.services.base(), self.services.store, self.services.parser)
        if issues:
            raise InvalidReply(issues)
        self.job.notebook.write(PlanNote(tuple(plan.plain())).as_note(), completed_event(plan))
        return plan

    def _reject(self, invalid: InvalidReply) -> None:
        self.job.notebook.write(RejectedPlanNote(self.job.iteration, tuple(invalid.issues)).as_note())

    async def _reply(self) -> str:
        notes, rejected = self.job.notebook.notes(), self._rejected()
        asked = sum(note.kind in (RejectedPlanNote.KIND, PlanNote.KIND) for note in notes)
        job = replace(
            self.job,
            intent=prompts.planning_prompt(self.job.intent, self._change_request()),
            rules=prompts.PLANNER,
            role="planner",
            iteration=asked + 1,
            feedback=prompts.unsound_prompt(rejected[-1]) if rejected else self._change_request(),
            notebook=self.services.notebook(PART),
            private_dir=self.job.private_dir / PART,
            asker=None,
            max_turns=MOST_TURNS,
            worker_services=None,
        )
        try:
            return await answer_of(self.planner, job, self.emit)
        except NoAnswer as error:
            earlier = f" (before that: {'; '.join(rejected[-1])})" if rejected else ""
            raise NoAnswer(f"the planner gave no plan: {error}{earlier}") from None

    def _notes_since_change(self) -> list[Note]:
        notes = list(self.job.notebook.notes())
        changes = [number for number, note in enumerate(notes) if note.kind == PlanChangeNote.KIND]
        return notes[changes[-1] + 1 :] if changes else notes

    def _rejected(self) -> list[tuple[str, ...]]:
        """Return the issues of each rejected answer of this round.

        A session that is resumed after its end has all attempts again.
        """
        rejected = RejectedPlanNote.all_in(self._notes_since_change())
        return [one.issues for one in rejected if one.round == self.job.iteration]

    def _change_request(self) -> str:
        changes = PlanChangeNote.all_in(self.job.notebook.notes())
        return changes[-1].text if changes else ""


def is_plan(text: str) -> bool:
    """Return True if the text from a person is a plan, and not a request to change one."""
    return text.lstrip().startswith("{")


def change_request(text: str) -> Note:
    """Return the note of a change request. Raise BadInput if it is a plan itself and cannot be used."""
    if is_plan(text):
        try:
            plan_in(text)
        except InvalidReply as unsound:
            raise BadInput(f"the plan cannot be used: {'; '.join(unsound.issues)}") from unsound
    return PlanChangeNote(text).as_note()


def completed_event(plan: SubtaskPlan) -> PlanningCompleted:
    return PlanningCompleted(
        subtasks=tuple(plan.plain()), levels=plan.levels, prefer_single_session=plan.prefer_single_session
    )
