"""Events as plain lines for people: for output without a terminal, for `log`, and for the scrollback of the live view.

An event becomes one line or none; only an event with several causes or parts becomes more. An unknown event type has no
line, and a missing or unexpected field never raises. Control characters are not escaped here: the code that prints a
line passes it through `one_line`.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from donewhen import events
from donewhen.cli.views.event_fields import count_text, mapping, name_of, seconds, short, whole
from donewhen.cli.views.plan_lines import (
    evaluation_words,
    gated_words,
    plan_words,
    planned_lines,
    proposed_lines,
    revision_words,
    started_words,
    union_rejected_lines,
    union_verified_words,
)
from donewhen.event_records import NOT_GRADED, TestCounts
from donewhen.events import Event
from donewhen.storage.record import Record

MARKS = {"pass": "✓", "fail": "✗", "flaky": "~", "timeout": "⏱", "vacuous": "∅", "tampered": "!", "infra": "?"}
SHOWN_AT_THE_END = (events.DiffReady, events.Landed, events.GateOpened, events.SessionFinished)
"""Events that the final output of a session or a question to a person repeats; they are not shown twice."""
DECIDING = ("round", "rerun")
"""Phases whose result is the state of a check. A result on the base counts only before there is work. A final run (on
edits that a person must still approve, or on a branch that moved) is not a result of the round."""
INTERMEDIATE = ("gate", "union")
"""Phases that judge one patch or a combination of some patches, not the current work."""

_MAIN_PARAMETER = re.compile(r'"(?:command|path|pattern|prompt|summary|item)": ?"((?:[^"\\]|\\.)*)')
"""Matches the most informative parameter of a call; the preview may be cut anywhere."""


def line_of(record: Record) -> str:
    """Return an event as one line; empty for events with nothing to show."""
    return "; ".join(lines_of(record))


def lines_of(record: Record) -> list[str]:
    """Return an event as lines, one for each cause. The subtask of an event is the prefix: `  [a] → …`."""
    match record.event:
        case events.SessionStarted(intent=intent):
            return [f"session {record.session}: {short(intent)}"]
        case events.UnionRejected() as rejected:
            return [*union_rejected_lines(rejected)]
        case events.ContractProposed() as proposed:
            return [*proposed_lines(proposed)]
        case events.RoundFinished() as finished:
            words = action_words(finished.action)
            return [_loop_round_line(finished), *([f"  action: {words}"] if words else [])]
        case events.PlanningCompleted() as planned if planned.items:
            return [*planned_lines(planned)]
        case event:
            words = _WORDS.get(type(event))
            line = words(event) if words else ""
            return [of_subtask(line, subtask_of(event))] if line else []


def subtask_of(event: Event) -> str:
    return name_of(event.subtask)


def of_subtask(line: str, subtask: str) -> str:
    if not subtask:
        return line
    words = line.lstrip(" ")
    return f"{' ' * max(2, len(line) - len(words))}[{subtask}] {words}"


class DecidingEvents:
    """Selects the results that set the state of a check: those of a round and of its rerun.

    Intermediate runs and their reruns decide nothing.
    """

    def __init__(self) -> None:
        self._intermediate: set[str] = set()

    def decides(self, event: events.CheckCompleted) -> bool:
        if event.phase in INTERMEDIATE and not event.subtask:
            self._intermediate.add(event.name)
        elif event.phase == "round":
            self._intermediate.discard(event.name)
        return event.phase in DECIDING and not self.is_intermediate(event)

    def is_intermediate(self, event: events.CheckCompleted) -> bool:
        again = event.phase == "rerun" and event.name in self._intermediate
        return again or event.phase in INTERMEDIATE or event.subtask != ""


def call_words(event: events.ToolCall) -> str:
    """Return a tool call as words: the tool and its most informative parameter."""
    found = _MAIN_PARAMETER.search(event.params_preview)
    return f"{event.tool} {short(_unescape(found.group(1)) if found else event.params_preview)}".rstrip()


def _unescape(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def check_words(event: events.CheckCompleted) -> str:
    """Return a line such as `✗ tests: fail (baseline) 6.1 s, 1 passed, 2 failed`, with the reasons."""
    about = [seconds(event.duration_ms), *_tests(event.tests)]
    if event.cached:
        about.append("cached")
    why = "; ".join(map(short, event.reasons))
    result = f"{MARKS.get(event.status, '?')} {event.name}: {event.status}{phase_words(event.phase)}"
    return f"{result} {', '.join(about)}" + (f"; {why}" if why else "")


def phase_words(phase: str) -> str:
    return "" if phase == "round" else f" ({phase})"


def _tests(counts: TestCounts | None) -> Iterable[str]:
    if counts is not None:
        known = {"passed": counts.passed, "failed": counts.failed, "skipped": counts.skipped}
        yield from (f"{whole(number)} {kind}" for kind, number in known.items() if number)


def diff_words(event: events.DiffReady) -> str:
    files = f"{count_text(event.files, 'file')} changed"
    return f"{files}, {count_text(event.insertions, 'insertion')}, {count_text(event.deletions, 'deletion')}"


def _baseline_line(event: events.BaselineCompleted) -> str:
    return "baseline: " + ", ".join(f"{one.name} {one.status}" for one in event.results)


def _declined_line(event: events.EngineDeclined) -> str:
    return f"engine {event.engine} stopped ({event.reason}: {short(event.detail)}); next is {event.next}"


def _protected_line(event: events.ProtectedEdit) -> str:
    why = short(event.reason)
    return f"  {NOT_GRADED}: {short(event.path)} ({event.action}{': ' + why if why else ''})"


def _checked_line(event: events.CheckCompleted) -> str:
    """Return a check result as a line; empty for cached results of a union search, which runs many checks."""
    return "" if event.phase == "union" and event.cached else f"  {check_words(event)}"


def _result_line(event: events.ToolResult) -> str:
    return "" if event.ok else f"    {short(event.preview)}"


def _question_line(event: events.QuestionAsked) -> str:
    """Return a question as a line. Remove the subtask's name from the text, because the line begins with it anyway."""
    return f"question: {short(short(event.prompt).removeprefix(f'[{subtask_of(event)}] '))}"


def _gate_line(event: events.GateOpened) -> str:
    how = f"optional until {event.expires_at}" if event.optional else "waits for a person"
    return f"{how} ({event.gate}): {short(event.reason)}"


def _landed_line(event: events.Landed) -> str:
    return f"landed on {event.branch} as {event.commit[:12]}" + (f"; {event.note}" if event.note else "")


def _hint_line(event: events.HintRecalled) -> str:
    source = f", from another repository ({short(event.source)})" if event.source else ""
    return f"  a hint from memory{source}; it has helped {count_text(event.times_helped, 'time')}"


def _loop_round_line(event: events.RoundFinished) -> str:
    by_person = event.decision not in ("", "proceed", "escalate")
    then = f"; {event.decision}" if by_person else ""
    return f"loop {event.loop}: round ended as {event.outcome}{then}"


def action_words(action: object) -> str:
    """Return what a loop round has carried out, as in its report; empty if it carried out nothing."""
    known = mapping(action)
    summary = " ".join(str(known.get("summary", "")).split())  # never shortened: it may end in an address
    return f"{name_of(known.get('kind', ''))} — {summary}" if known else ""


_WORDS: dict[type[Event], Callable[[Any], str]] = {
    events.BaselineCompleted: _baseline_line,
    events.EngineSelected: lambda event: f"engine {event.engine}: {short(event.reason)}",
    events.EngineDeclined: _declined_line,
    events.ModelSelected: lambda event: f"model {event.model}: {short(event.reason)}",
    events.ModelFallback: lambda event: f"model {event.model} instead: {short(event.reason)}",
    events.IterationStarted: lambda event: f"round {event.n} of {event.max}",
    events.PlanText: lambda event: f"  {f'{event.by}: ' if event.by else ''}{short(event.text)}",
    events.ToolCall: lambda event: f"  → {call_words(event)}",
    events.ToolResult: _result_line,
    events.CheckCompleted: _checked_line,
    events.ProtectedEdit: _protected_line,
    events.PolicyDenied: lambda event: f"  denied by {event.rule}: {short(event.command)}",
    events.HintRecalled: _hint_line,
    events.QuestionAsked: _question_line,
    events.QuestionAnswered: lambda event: f"answered: {short(event.answer)}",
    events.QuestionExpired: lambda _: "no answer in time",
    events.GateOpened: _gate_line,
    events.GateDecided: lambda event: f"{event.gate}: {event.decision}",
    events.PlanningStarted: lambda _: "planning",
    events.PlanningCompleted: plan_words,
    events.SubtaskStarted: started_words,
    events.SubtaskGated: gated_words,
    events.SubtasksFarmed: lambda event: f"subtasks: {event.accepted} of {event.total} accepted",
    events.SubtaskApplied: lambda event: f"  subtask {short(event.id)} applied",
    events.UnionVerified: union_verified_words,
    events.EvaluationStarted: lambda _: "evaluating",
    events.EvaluationCompleted: evaluation_words,
    events.RevisionStarted: revision_words,
    events.RoundStarted: lambda event: f"loop {event.loop}: round started",
    events.DiffReady: diff_words,
    events.Landed: _landed_line,
    events.Error: lambda event: f"error ({event.kind}): {short(event.message)}",
    events.SessionFinished: lambda event: f"{event.outcome}: {short(event.reason)}",
}
