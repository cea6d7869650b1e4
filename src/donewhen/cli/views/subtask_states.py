"""States of the subtasks of a plan, computed from events for the live view, `show` and the final output.

This module does not format them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from donewhen.cli.views.event_fields import Body, items, name_of, names, objects, short, subtask_of
from donewhen.cli.views.event_lines import call_words
from donewhen.cli.views.plan_lines import plan_size, reason_words
from donewhen.storage.record import Record

WAITS, AT_WORK, CHECKED, ACCEPTED, APPLIED, LEFT_OUT = (
    "waits", "at work", "checked", "accepted", "applied", "left out"
)  # fmt: skip
"""State of a subtask. If the gate does not accept it, the state is the gate's status: rejected, inconclusive, error."""
ENDS = ("iteration_started", "engine_declined", "session_finished")
"""Events after which no worker is active on the plan."""


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
    def is_under_way(self) -> bool:
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

    def under_way(self) -> list[SubtaskState]:
        return [one for one in self.all.values() if one.is_under_way] if self.is_open else []

    def summary(self) -> str:
        """Return a summary such as `2 at work, 1 checked, 3 waiting`."""
        states = ["waiting" if one.state == WAITS else one.state for one in by_importance(self.all.values())]
        return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))

    def break_off(self, now: float) -> None:
        """Mark all active subtasks as waiting and the plan as not active."""
        for one in self.under_way():
            one.go_to(WAITS, now)
        self.is_open = False

    def take(self, record: Record, now: float = 0.0) -> None:
        """Process one event."""
        body = record.body
        if record.kind == "planning_completed" and not body.get("items"):
            self.size = plan_size(body)
            self.all = {id: SubtaskState(id) for one in objects(body.get("subtasks")) if (id := name_of(one.get("id")))}
            self.is_open = True
        elif record.kind in ENDS or (record.kind == "state_changed" and body.get("to") in ("judging", "finished")):
            self.is_open = False
        elif subtask := subtask_of(body):
            self._take_work(self._of(subtask), record.kind, body)
        else:
            self._take_place(record.kind, body, now)

    def _take_work(self, one: SubtaskState, kind: str, body: Body) -> None:
        match kind:
            case "tool_call":
                one.calls[str(body.get("id"))] = call_words(body)
            case "tool_result":
                one.calls.pop(str(body.get("id")), None)
            case "check_started":
                one.check = name_of(body.get("name"))
            case "check_completed":
                one.check = ""
            case _:
                pass

    def _take_place(self, kind: str, body: Body, now: float) -> None:
        match kind:
            case "subtask_started":
                self._move(body, AT_WORK, now)
            case "subtask_verifying":
                self._move(body, CHECKED, now)
            case "subtask_gated":
                reasons = filter(None, map(reason_words, items(body.get("reasons"))))
                self._move(body, name_of(body.get("status")), now, next(reasons, ""))
            case "subtask_applied":
                self._move(body, APPLIED, now)
            case "union_rejected":
                for id, why in _left_out(body):
                    self._of(id).go_to(LEFT_OUT, now, why)
            case _:
                pass

    def _move(self, body: Body, state: str, now: float, why: str = "") -> None:
        self.is_open = True  # a resumed session does not repeat the planning event
        self._of(name_of(body.get("id"))).go_to(state, now, why)

    def _of(self, id: str) -> SubtaskState:
        return self.all.setdefault(id, SubtaskState(id))


def by_importance(all: Iterable[SubtaskState]) -> list[SubtaskState]:
    """Sort: active subtasks first, then those that failed."""
    return sorted(all, key=lambda one: _rank(one.state))


def _rank(state: str) -> int:
    known = (AT_WORK, CHECKED, LEFT_OUT, WAITS, ACCEPTED, APPLIED)
    return known.index(state) if state in known else known.index(LEFT_OUT)


def _left_out(body: Body) -> Iterator[tuple[str, str]]:
    causes = objects(body.get("causes"))
    for cause in causes:
        yield name_of(cause.get("culprit")), short(cause.get("detail"))
    if not causes:
        yield from ((id, short(body.get("detail"))) for id in names(body.get("culprits")))
