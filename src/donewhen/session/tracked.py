"""The plan of a session as its builder has it: to be read, and its items to be said something about.

A state is the builder's word and decides nothing. What is said is a note in the log, so that it is there after a crash
and for whoever goes on.
"""

from typing import cast

from donewhen.engines.planned.plan import Plan
from donewhen.engines.planned.tracker import State, Tracker, Update
from donewhen.session import artifacts
from donewhen.session.recorder import Recorder

IGNORED = "ignored"
"""The note of what was changed in the tracker's file and does not count."""


class TrackedPlan:
    def __init__(self, recorder: Recorder, plan: Plan) -> None:
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
            self._recorder.write(note=(f"{artifacts.RUNG}.{IGNORED}", {"lines": list(ignored)}))

    def _say(self, update: Update) -> None:
        body = {"item": update.item, "state": update.state, "note": update.note}
        notes = [note.body for note in self._recorder.story.notes.get(artifacts.RUNG, ())]
        same = [one for one in notes if one.get("item") == update.item][-1:]
        if same != [body]:  # a call that is repeated after a crash says nothing new
            self._recorder.write(note=(f"{artifacts.RUNG}.{artifacts.TRACKED}", body))
            artifacts.write(self._recorder.session, self._recorder.story)

    def _last(self, kind: str) -> tuple[str, ...]:
        notes = [note.body for note in self._recorder.story.notes.get(artifacts.RUNG, ()) if note.kind == kind]
        return tuple(notes[-1]["lines"]) if notes else ()

    def _now(self) -> Tracker:
        tracker = artifacts.tracker_in(self._recorder.story)
        assert tracker is not None  # there is a plan
        return tracker
