"""Read-only plan of a session plus updates of its item states, as its builder uses them.

A state is only what the builder reports, and decides nothing. Each update is a note in the log, so that it is there
after a crash and for the next engine.
"""

from typing import cast

from donewhen.engines.planned.plan import Plan
from donewhen.engines.planned.tracker import State, Tracker, Update
from donewhen.session.log import plan_files
from donewhen.session.log.writer import LogWriter

IGNORED = "ignored"
"""Kind of the note about changes in the tracker's file that do not count."""


class TrackedPlan:
    def __init__(self, recorder: LogWriter, plan: Plan) -> None:
        self._recorder = recorder
        self.spec = plan.spec

    def tracker(self) -> str:
        return self._now().rendered()

    def update(self, item: str, state: str, note: str) -> str:
        number = self._now().number_of(item)
        self._say(Update(number, cast("State", state), note))
        left = ", ".join(map(str, self._now().open)) or "none"
        return f"item {number} is {state}; not completed: {left}"

    def read_back(self, text: str) -> None:
        updates, ignored = self._now().read_back(text)
        for update in updates:
            self._say(update)
        if ignored and ignored != self._last(IGNORED):
            self._recorder.write(note=(f"{plan_files.RUNG}.{IGNORED}", {"lines": list(ignored)}))

    def _say(self, update: Update) -> None:
        body = {"item": update.item, "state": update.state, "note": update.note}
        notes = [note.body for note in self._recorder.story.notes.get(plan_files.RUNG, ())]
        same = [one for one in notes if one.get("item") == update.item][-1:]
        if same != [body]:  # a call that is repeated after a crash adds nothing
            self._recorder.write(note=(f"{plan_files.RUNG}.{plan_files.TRACKED}", body))
            plan_files.write(self._recorder.session, self._recorder.story)

    def _last(self, kind: str) -> tuple[str, ...]:
        notes = [note.body for note in self._recorder.story.notes.get(plan_files.RUNG, ()) if note.kind == kind]
        return tuple(notes[-1]["lines"]) if notes else ()

    def _now(self) -> Tracker:
        tracker = plan_files.tracker_in(self._recorder.story)
        assert tracker is not None  # there is a plan
        return tracker
