"""The plan that an editor shows beside a conversation: what is done before, in which rounds and parts, what is next."""

import json
from collections.abc import Mapping
from typing import Any, Literal, cast

from acp.schema import AgentPlanUpdate, PlanEntry

from donewhen import events
from donewhen.events import Event
from donewhen.server.acp.shown import title

Status = Literal["pending", "in_progress", "completed"]
_BASE, _EVALUATION, _LANDING = "base", "evaluation", "landing"
_STATES: Mapping[str, Status] = {"pending": "pending", "in_progress": "in_progress", "completed": "completed"}


class PlanView:
    """The entries of one session, computed from its events."""

    def __init__(self) -> None:
        self._entries: dict[str, PlanEntry] = {}
        self._round = ""

    def note(self, event: Event) -> AgentPlanUpdate | None:
        """Take an event. Return the whole plan if it has changed."""
        before = [(one.content, one.status) for one in self._entries.values()]
        self._note(event)
        if [(one.content, one.status) for one in self._entries.values()] == before:
            return None
        return AgentPlanUpdate(session_update="plan", entries=[*self._entries.values()])

    def _note(self, event: Event) -> None:
        match event:
            case events.SessionStarted():
                self._set(_BASE, "Run the checks on the base", "in_progress")
            case events.BaselineCompleted():
                self._to(_BASE, "completed")
            case events.PlanningCompleted():
                self._plan(event)
            case events.ToolCall(tool="update_tracker"):
                self._track(event.params_preview)
            case events.IterationStarted():
                self._to(self._round, "completed")
                self._round = f"round {event.n}"
                self._set(self._round, f"Round {event.n} of {event.max}: work until the checks pass", "in_progress")
            case events.SubtaskStarted() | events.SubtaskVerifying():
                self._to(f"subtask {event.id}", "in_progress")
            case events.SubtaskGated(status="rejected" | "error" | "inconclusive"):
                self._to(f"subtask {event.id}", "pending")
            case events.SubtaskApplied():
                self._to(f"subtask {event.id}", "completed")
            case events.EvaluationStarted():
                self._set(_EVALUATION, "Evaluate the work", "in_progress")
            case events.EvaluationCompleted():
                self._to(_EVALUATION, "completed")
            case events.Landed():
                self._set(_LANDING, f"Land the work on {title(event.branch)}", "completed")
            case events.SessionFinished():
                self._to(self._round, "completed" if event.outcome == "verified" else "pending")
            case _:
                pass

    def _plan(self, event: events.PlanningCompleted) -> None:
        for number, item in enumerate(event.items, 1):
            self._set(f"item {number}", f"{number}. {title(item.get('description'))}", "pending")
        for part in event.subtasks:
            id = str(part.get("id", ""))
            self._set(f"subtask {id}", f"{title(id)}: {title(part.get('prompt'))}", "pending")

    def _track(self, preview: str) -> None:
        """Note the state of an item that the builder reports. The preview may be cut; then nothing is known."""
        try:
            given: Any = json.loads(preview)
        except ValueError:
            return
        if isinstance(given, dict):
            known = cast("dict[str, Any]", given)
            status = _STATES.get(str(known.get("state")))
            if status is not None:
                self._to(f"item {known.get('item')}", status)

    def _set(self, key: str, content: str, status: Status) -> None:
        self._entries[key] = PlanEntry(content=title(content), priority="medium", status=status)

    def _to(self, key: str, status: Status) -> None:
        if key in self._entries:
            self._entries[key] = self._entries[key].model_copy(update={"status": status})
