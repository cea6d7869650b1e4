"""Events of a session as updates for an editor. The same events give the same updates, live and when they are replayed.

Questions and gates are not updates: `person` asks the person. What a session ended with is in `ending`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from acp.helpers import (
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
from acp.schema import ToolCallLocation

from donewhen import events
from donewhen.event_records import NOT_GRADED
from donewhen.events import Event, load
from donewhen.server.acp.patch_parts import below
from donewhen.server.acp.plan_view import PlanView
from donewhen.server.acp.shown import block, code, title, words

Update = Any
"""An update of the SDK."""
Kind = Literal["read", "edit", "search", "execute", "think", "fetch", "other"]
_KINDS: Mapping[str, Kind] = {
    "shell": "execute", "bash": "execute", "run_checks": "execute", "command_execution": "execute",
    "read_file": "read", "read": "read", "list_dir": "read", "find_files": "search", "grep_files": "search",
    "grep": "search", "glob": "search", "edit_file": "edit", "write_file": "edit", "apply_patch": "edit",
    "edit": "edit", "write": "edit", "file_change": "edit", "todo": "think", "update_tracker": "think",
    "webfetch": "fetch",
}  # fmt: skip
"""Kinds of tools, of our engine and of agents, by their names in small letters."""
_MAIN = re.compile(r'"(command|path|file_path|pattern|prompt|summary|item)": ?"((?:[^"\\]|\\.)*)')
"""Matches the most informative parameter of a call; its preview may be cut anywhere."""
_PATHS = ("path", "file_path")


class Updates:
    """Translates the events of one session, in their order."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._repo = "/"
        self._plan = PlanView()
        self._calls: dict[str, str] = {}
        """Calls and checks that have begun, by what names them in the events → their id for the editor."""

    def skip(self, line: Mapping[str, Any]) -> None:
        """Take an event that is not shown."""
        for _ in self.of(line):
            pass

    def of(self, line: Mapping[str, Any]) -> Iterator[Update]:
        """Yield the updates for an event as it is on the wire."""
        known = ("seq", "at", "session", "type")
        event = load(str(line.get("type")), {key: value for key, value in line.items() if key not in known})
        if isinstance(event, events.SessionStarted):
            self._repo = event.repo
        yield from self._of(event, int(line.get("seq") or 0))
        plan = self._plan.note(event)
        if plan is not None:
            yield plan

    def _of(self, event: Event, seq: int) -> Iterator[Update]:
        match event:
            case events.ToolCall():
                yield self._call(event, seq)
            case events.ToolResult():
                yield self._result(event)
            case events.CheckStarted():
                yield self._check_begins(event.name, event.phase, event.subtask, seq)
            case events.CheckCompleted():
                yield from self._check(event, seq)
            case events.PlanText():
                yield message(f"{_of_subtask(event)}{words(event.text)}")
            case _:
                if said := _message_words(event, self._session):
                    yield message(f"{_of_subtask(event)}{said}")
                elif said := _thought_words(event):
                    yield update_agent_thought_text(f"{said}\n\n")

    def _call(self, event: events.ToolCall, seq: int) -> Update:
        id = self._calls[f"call {event.subtask} {event.id}"] = f"{self._session}-{seq}"
        name, main = _main_parameter(event.params_preview)
        shown = main if event.tool == "shell" else f"{event.tool} {main or event.params_preview}"
        path = below(self._repo, main) if name in _PATHS else ""
        return start_tool_call(
            id,
            title(f"{_of_subtask(event)}{shown}"),
            kind=_KINDS.get(event.tool.lower(), "other"),
            status="in_progress",
            locations=[ToolCallLocation(path=path)] if path else None,
        )

    def _result(self, event: events.ToolResult) -> Update:
        id = self._calls.pop(f"call {event.subtask} {event.id}", f"{self._session}-{event.id}")
        content = [tool_content(text_block(block(event.preview)))] if event.preview.strip() else None
        return update_tool_call(id, status="completed" if event.ok else "failed", content=content)

    def _check_begins(self, name: str, phase: str, subtask: str, seq: int) -> Update:
        id = self._calls[f"check {subtask} {phase} {name}"] = f"{self._session}-{seq}"
        of = f"[{subtask}] " if subtask else ""
        return start_tool_call(
            id, title(f"{of}check {name}{_phase_words(phase)}"), kind="execute", status="in_progress"
        )

    def _check(self, event: events.CheckCompleted, seq: int) -> Iterator[Update]:
        key = f"check {event.subtask} {event.phase} {event.name}"
        if key not in self._calls:
            yield self._check_begins(event.name, event.phase, event.subtask, seq)
        of = f"[{event.subtask}] " if event.subtask else ""
        reasons = "".join(f"\n{words(reason)}" for reason in event.reasons)
        tail = f"\n{block(event.output_tail)}" if event.output_tail.strip() else ""
        is_expected = event.status == "pass" or event.phase in ("baseline", "control")
        yield update_tool_call(
            self._calls.pop(key),
            title=title(f"{of}check {event.name}{_phase_words(event.phase)}: {event.status}"),
            status="completed" if is_expected else "failed",
            content=[tool_content(text_block(f"{title(event.name)}: {title(event.status)}{reasons}{tail}"))],
        )


def message(text: str) -> Update:
    """Return a text as a paragraph of its own: editors join what an agent says."""
    return update_agent_message_text(f"{text}\n\n")


def _of_subtask(event: Event) -> str:
    return f"[{title(event.subtask)}] " if event.subtask else ""


def _phase_words(phase: str) -> str:
    return {"round": "", "baseline": " on the base"}.get(phase, f" ({phase})")


def _main_parameter(preview: str) -> tuple[str, str]:
    """Return the most informative parameter of a call, by its name; empty if there is none."""
    found = _MAIN.search(preview)
    if found is None:
        return "", ""
    try:
        return found[1], str(json.loads(f'"{found[2]}"', strict=False))
    except ValueError:
        return found[1], found[2]


def _message_words(event: Event, session: str) -> str:
    """Return what the person reads as a message of the agent; empty for other events."""
    match event:
        case events.SessionStarted():
            return f"Session `{session}` starts from commit `{event.base[:12]}`."
        case events.ContractProposed() if event.revised is False:
            return f"The contract was not revised: {words(event.reason)}"
        case events.ContractProposed():
            return "Proposed contract:\n" + _checks(event.contract)
        case events.EngineDeclined():
            return f"The engine {title(event.engine)} stopped: {words(event.detail)}. Next is {title(event.next)}."
        case events.ModelFallback():
            return f"The model {title(event.model)} takes over: {words(event.reason)}"
        case events.ProtectedEdit():
            return f"{NOT_GRADED}: {code(event.path)}"
        case events.PolicyDenied():
            return f"Not allowed by {title(event.rule)}: {code(event.command)}"
        case events.EvaluationCompleted():
            return f"Evaluation: {title(event.status)}. {words(event.summary)}"
        case events.UnionRejected():
            return f"Left out: {', '.join(map(code, event.culprits))}: {words(event.detail)}"
        case events.QuestionAsked():
            return f"**Question:** {words(event.prompt)}"
        case events.QuestionAnswered():
            return f"Answered: {words(event.answer)}"
        case events.QuestionExpired():
            return "The question was not answered in time; the work goes on without an answer."
        case events.GateDecided():
            return f"The decision ({title(event.gate.replace('_', ' '))}): {title(event.decision)}."
        case events.Error():
            return f"Error ({title(event.kind)}): {words(event.message)}"
        case _:
            return ""


def _thought_words(event: Event) -> str:
    match event:
        case events.EngineSelected():
            return f"engine {title(event.engine)}: {title(event.reason)}"
        case events.ModelSelected():
            return f"model {title(event.model)}: {title(event.reason)}"
        case events.HintRecalled():
            return "a hint from memory about an earlier failure of this kind"
        case events.RevisionStarted():
            return f"revision {event.round}: {title(event.summary)}"
        case _:
            return ""


def _checks(contract: Mapping[str, Any]) -> str:
    checks: Sequence[Mapping[str, Any]] = contract.get("checks") or ()
    return "\n".join(f"- {title(one.get('name'))}: {code(one.get('command'))}" for one in checks)
