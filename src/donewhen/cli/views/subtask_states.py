"""States of the subtasks of a plan, computed from events for the live view, `show` and the final output.

This module does not format them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from donewhen import events
from donewhen.cli.views.event_fields import name_of, objects, short
from donewhen.cli.views.event_lines import call_words, subtask_of
from donewhen.cli.views.plan_lines import plan_size, reason_words, rejection_causes
from donewhen.events import Event

WAITS, AT_WORK, CHECKED, ACCEPTED, APPLIED, LEFT_OUT = (
    "waits", "working", "checked", "accepted", "applied", "left out"
)  # fmt: skip
"""State of a subtask. If the gate does not accept it, the state is the gate's status: rejected, inconclusive, error."""


@dataclass(slots=True)
class SubtaskState:
    id: str
    state: str = WAITS
    why: str = ""
    """The first reason of the rejection."""
    since: float = 0.0
    calls: dict[str, str] = field(default_factory=dict[str, str])
    """Tool calls of its worker that have not ended, by call id."""
    check: str = ""
    """The check that is running on its patch."""

    @property
    def is_active(self) -> bool:
        return self.state in (AT_WORK, CHECKED)

    @property
    def doing(self) -> str:
        """The current check or tool call of the subtask, if known."""
        if self.state == CHECKED:
            return self.check
        return next(iter(self.calls.values()), "") if self.state == AT_WORK else ""

    def go_to(self, state: str, now: float, why: str = "") -> None:
        self.state, self.since, self.why, self.check = state, now, why, ""
        self.calls.clear()


class SubtaskStates:
    def __init__(self) -> None:
        self.size = ""
        """Size of the plan in words; empty without a plan."""
        self.all: dict[str, SubtaskState] = {}
        self.is_open = False
        """True while workers are active on the plan."""

    def active(self) -> list[SubtaskState]:
        return [one for one in self.all.values() if one.is_active] if self.is_open else []

    def summary(self) -> str:
        """Return a summary such as `2 working, 1 checked, 3 waiting`."""
        states = ["waiting" if one.state == WAITS else one.state for one in by_importance(self.all.values())]
        return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))

    def stop_all(self, now: float) -> None:
        """Mark all active subtasks as waiting and the plan as not active."""
        for one in self.active():
            one.go_to(WAITS, now)
        self.is_open = False

    def note(self, event: Event, now: float = 0.0) -> None:
        match event:
            case events.PlanningCompleted() if not event.items:
                self.size = plan_size(event)
                ids = [name_of(one.get("id")) for one in objects(event.subtasks)]
                self.all = {id: SubtaskState(id) for id in ids if id}
                self.is_open = True
            case events.IterationStarted() | events.EngineDeclined() | events.SessionFinished():
                self.is_open = False  # no worker is active on the plan after these
            case events.StateChanged(to="judging" | "finished"):
                self.is_open = False
            case _ if event.subtask:
                self._note_work(self._of(subtask_of(event)), event)
            case _:
                self._note_state(event, now)

    def _note_work(self, one: SubtaskState, event: Event) -> None:
        match event:
            case events.ToolCall():
                one.calls[event.id] = call_words(event)
            case events.ToolResult():
                one.calls.pop(event.id, None)
            case events.CheckStarted():
                one.check = name_of(event.name)
            case events.CheckCompleted():
                one.check = ""
            case _:
                pass

    def _note_state(self, event: Event, now: float) -> None:
        match event:
            case events.SubtaskStarted():
                self._move(event.id, AT_WORK, now)
            case events.SubtaskVerifying():
                self._move(event.id, CHECKED, now)
            case events.SubtaskGated():
                reasons = filter(None, map(reason_words, event.reasons))
                self._move(event.id, name_of(event.status), now, next(reasons, ""))
            case events.SubtaskApplied():
                self._move(event.id, APPLIED, now)
            case events.UnionRejected():
                for cause in rejection_causes(event, *event.culprits):
                    self._of(name_of(cause.culprit)).go_to(LEFT_OUT, now, short(cause.detail))
            case _:
                pass

    def _move(self, id: str, state: str, now: float, why: str = "") -> None:
        self.is_open = True  # a resumed session does not repeat the planning event
        self._of(name_of(id)).go_to(state, now, why)

    def _of(self, id: str) -> SubtaskState:
        return self.all.setdefault(id, SubtaskState(id))


def by_importance(all: Iterable[SubtaskState]) -> list[SubtaskState]:
    """Sort: active subtasks first, then those that failed."""
    return sorted(all, key=lambda one: _rank(one.state))


def _rank(state: str) -> int:
    known = (AT_WORK, CHECKED, LEFT_OUT, WAITS, ACCEPTED, APPLIED)
    return known.index(state) if state in known else known.index(LEFT_OUT)
