"""From an intent to a plan that stands: the planner is asked, and told what is wrong, a few times at most.

The planner looks at the tree with tools that only read. Its answer is read by `plan` and compared with the repository
by `grounding`. Every answer and every verdict on one is a note, so that nothing is asked twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from donewhen.engines.base import Engine, Hands, Job, Note
from donewhen.engines.foreman import words
from donewhen.engines.foreman.grounding import ungrounded
from donewhen.engines.foreman.plan import Plan, Unsound, plan_in, plan_of
from donewhen.events import Emit, PlanningCompleted, PlanningStarted

PLANNED, UNSOUND, WISH = "planned", "unsound", "wish"
"""Notes: a plan that stands; what was wrong with one that does not; what a person wants to be different."""
PART = "planner"
MOST_TURNS = 24


class NoPlan(Exception):
    """Steers: there is no plan, and why."""


class Interrupted(Exception):
    """Steers: a limit was reached while planning."""


@dataclass(slots=True)
class Planning:
    planner: Engine
    job: Job
    hands: Hands
    attempts: int
    emit: Emit

    async def plan(self) -> Plan:
        """The plan of before, unless a person has wished for another one since; else a new one."""
        known = self._known()
        return known if known is not None else await self._asked()

    def _known(self) -> Plan | None:
        for note in reversed(self.job.notebook.notes()):
            if note.kind == WISH:
                return None
            if note.kind == PLANNED:
                return plan_of(note.body["subtasks"])
        return None

    async def _asked(self) -> Plan:
        if not any(note.kind == UNSOUND for note in self._since_wish()):
            self.emit(PlanningStarted())
        if is_plan(self._wish()) and not self._since_wish():
            plan = plan_in(self._wish())  # a person's own, which nobody compares with the repository
            self.job.notebook.write(Note(PLANNED, {"subtasks": plan.plain()}), completed(plan))
            return plan
        issues = self._last_issues()
        while len(issues) < self.attempts:
            reply = await self._reply(issues[-1] if issues else ())
            try:
                return await self._taken(reply)
            except Unsound as unsound:
                body = {"round": self.job.iteration, "issues": list(unsound.issues)}
                self.job.notebook.write(Note(UNSOUND, body))
                issues.append(unsound.issues)
        raise NoPlan("; ".join(issues[-1]) if issues else "no attempt at a plan is allowed")

    async def _taken(self, reply: str) -> Plan:
        plan = plan_in(reply)
        issues = await ungrounded(plan, await self.hands.base(), self.hands.store, self.hands.reader)
        if issues:
            raise Unsound(issues)
        self.job.notebook.write(Note(PLANNED, {"subtasks": plan.plain()}), completed(plan))
        return plan

    async def _reply(self, issues: Sequence[str]) -> str:
        notes = self.job.notebook.notes()
        asked = sum(note.kind in (UNSOUND, PLANNED) for note in notes)
        job = replace(
            self.job,
            intent=words.planning(self.job.intent, self._wish()),
            rules=words.PLANNER,
            role="planner",
            iteration=asked + 1,
            feedback=words.unsound(issues) if issues else self._wish(),
            notebook=self.hands.notebook(PART),
            own=self.job.own / PART,
            asker=None,
            max_turns=MOST_TURNS,
            hands=None,
        )
        attempt = await self.planner.attempt(job, self.emit)
        if attempt.stop == "budget":
            raise Interrupted
        if attempt.stop == "model_failed":
            before = f" (before that: {'; '.join(issues)})" if issues else ""
            raise NoPlan(f"the planner gave none: {attempt.problem}{before}")
        return attempt.said

    def _since_wish(self) -> list[Note]:
        notes = list(self.job.notebook.notes())
        wishes = [number for number, note in enumerate(notes) if note.kind == WISH]
        return notes[wishes[-1] + 1 :] if wishes else notes

    def _last_issues(self) -> list[Sequence[str]]:
        """Those of this round: who goes on with a session after its end has all attempts again."""
        found = [note.body for note in self._since_wish() if note.kind == UNSOUND]
        return [body["issues"] for body in found if body["round"] == self.job.iteration]

    def _wish(self) -> str:
        return next((str(note.body["text"]) for note in reversed(self.job.notebook.notes()) if note.kind == WISH), "")


def is_plan(text: str) -> bool:
    """Whether what a person says is a plan, and not words about one."""
    return text.lstrip().startswith("{")


def completed(plan: Plan) -> PlanningCompleted:
    return PlanningCompleted(
        subtasks=tuple(plan.plain()), levels=plan.levels, prefer_single_session=plan.prefer_single_session
    )
