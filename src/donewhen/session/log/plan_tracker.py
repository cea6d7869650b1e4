"""Read-only plan of a session plus updates of its item states, as its builder uses them.

A state is only what the builder reports, and decides nothing. Each update is a note in the log, so that it is there
after a crash and for the next engine.
"""

from typing import cast

from donewhen.engines.planned.notes import IgnoredEdits
from donewhen.engines.planned.plan import Plan
from donewhen.engines.planned.tracker import ItemUpdate, State, Tracker
from donewhen.session.log import plan_files
from donewhen.session.log.writer import LogWriter, StepNotebook


class TrackedPlan:
    def __init__(self, log: LogWriter, plan: Plan) -> None:
        self._log = log
        self._notebook = StepNotebook(log, plan_files.NOTEBOOK)
        self.spec = plan.spec

    def tracker(self) -> str:
        return self._tracker().rendered()

    def update(self, item: str, state: str, note: str) -> str:
        number = self._tracker().number_of(item)
        self._record(ItemUpdate(number, cast("State", state), note))
        left = ", ".join(map(str, self._tracker().open_items)) or "none"
        return f"item {number} is {state}; not completed: {left}"

    def read_back(self, text: str) -> None:
        updates, ignored = self._tracker().read_back(text)
        for update in updates:
            self._record(update)
        before = IgnoredEdits.all_in(self._notebook.notes())
        if ignored and (not before or ignored != before[-1].lines):
            self._notebook.write(IgnoredEdits(ignored).as_note())

    def _record(self, update: ItemUpdate) -> None:
        same = [one for one in ItemUpdate.all_in(self._notebook.notes()) if one.item == update.item][-1:]
        if same != [update]:  # a call that is repeated after a crash adds nothing
            self._notebook.write(update.as_note())
            plan_files.write(self._log.session, self._log.state)

    def _tracker(self) -> Tracker:
        tracker = plan_files.tracker_in(self._log.state)
        assert tracker is not None  # there is a plan
        return tracker
