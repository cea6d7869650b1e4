"""Events as plain lines for people: for output without a terminal, for `log`, and for the scrollback of the live view.

An event becomes one line or none; only an event with several causes or parts becomes more. An unknown event type has no
line, and a missing or unexpected field never raises. Control characters are not escaped here: the code that prints a
line passes it through `one_line`.
"""

import json
import re
from collections.abc import Callable, Iterable

from donewhen.cli.views.event_fields import Body, counted, items, mapping, objects, seconds, short, subtask_of, whole
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
from donewhen.storage.record import Record

MARKS = {"pass": "✓", "fail": "✗", "flaky": "~", "timeout": "⏱", "vacuous": "∅", "tampered": "!", "infra": "?"}
SAID_AT_THE_END = ("diff_ready", "landed", "gate_opened", "session_finished")
"""Events that the final output of a session or a question to a person repeats; they are not shown twice."""
DECIDING = ("round", "rerun")
"""Phases whose result is the state of a check. A result on the base counts only before there is work. A final run (on
edits that a person must still approve, or on a branch that moved) is not a result of the round."""
OUR_ENGINES = ("native", "foreman", "planned")
"""Engines that cost what their models cost, unless they run an external agent."""
ON_THE_WAY = ("gate", "union")
"""Phases that judge one patch or a combination of some patches, not the current work."""

_TELLING = re.compile(r'"(?:command|path|pattern|prompt|summary|item)": ?"((?:[^"\\]|\\.)*)')
"""Matches the most informative parameter of a call; the preview may be cut anywhere."""


def line_of(record: Record) -> str:
    """Return an event as one line; empty for events with nothing to show."""
    return "; ".join(lines_of(record))


def lines_of(record: Record) -> list[str]:
    """Return an event as lines, one for each cause. The subtask of an event is the prefix: `  [a] → …`."""
    if record.kind == "session_started":
        return [f"session {record.session}: {short(record.body.get('intent'))}"]
    if record.kind in _SEVERAL:
        return [*_SEVERAL[record.kind](record.body)]
    if record.kind == "planning_completed" and record.body.get("items"):
        return [*planned_lines(record.body)]
    words = _WORDS.get(record.kind)
    line = words(record.body) if words else ""
    return [of_subtask(line, subtask_of(record.body))] if line else []


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
        self._on_the_way: set[str] = set()

    def is_said_by(self, body: Body) -> bool:
        name, phase = str(body.get("name")), body.get("phase")
        if phase in ON_THE_WAY and not subtask_of(body):
            self._on_the_way.add(name)
        elif phase == "round":
            self._on_the_way.discard(name)
        return phase in DECIDING and not self.is_on_the_way(body)

    def is_on_the_way(self, body: Body) -> bool:
        again = body.get("phase") == "rerun" and str(body.get("name")) in self._on_the_way
        return again or body.get("phase") in ON_THE_WAY or subtask_of(body) != ""


def call_words(body: Body) -> str:
    """Return a tool call as words: the tool and its most informative parameter."""
    preview = str(body.get("params_preview", ""))
    telling = _TELLING.search(preview)
    return f"{body.get('tool')} {short(_unescaped(telling.group(1)) if telling else preview)}".rstrip()


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def check_words(body: Body) -> str:
    """Return a line such as `✗ tests: fail (baseline) 6.1 s, 1 passed, 2 failed`, with the reasons."""
    status, phase = str(body.get("status")), body.get("phase")
    about = [seconds(body.get("duration_ms")), *_tests(mapping(body.get("tests")))]
    if body.get("cached"):
        about.append("kept")
    why = "; ".join(short(reason) for reason in items(body.get("reasons")))
    return f"{MARKS.get(status, '?')} {body.get('name')}: {status}{phase_words(phase)} {', '.join(about)}" + (
        f"; {why}" if why else ""
    )


def phase_words(phase: object) -> str:
    return "" if phase in ("round", None) else f" ({phase})"


def _tests(counts: Body) -> Iterable[str]:
    for kind in ("passed", "failed", "skipped"):
        if counts.get(kind):
            yield f"{whole(counts[kind])} {kind}"


def diff_words(body: Body) -> str:
    files = f"{counted(body.get('files'), 'file')} changed"
    return f"{files}, {counted(body.get('insertions'), 'insertion')}, {counted(body.get('deletions'), 'deletion')}"


def _baseline(body: Body) -> str:
    return "baseline: " + ", ".join(f"{one.get('name')} {one.get('status')}" for one in objects(body.get("results")))


def _declined(body: Body) -> str:
    why = f"{body.get('reason')}: {short(body.get('detail'))}"
    return f"engine {body.get('engine')} gave up ({why}); next is {body.get('next')}"


def _protected(body: Body) -> str:
    why = short(body.get("reason"))
    return f"  not graded: {short(body.get('path'))} ({body.get('action')}{': ' + why if why else ''})"


def _checked(body: Body) -> str:
    """Return a check result as a line; empty for cached results of a union search, which runs many checks."""
    return "" if body.get("phase") == "union" and body.get("cached") else f"  {check_words(body)}"


def _result(body: Body) -> str:
    return "" if body.get("ok") else f"    {short(body.get('preview'))}"


def _question(body: Body) -> str:
    """Return a question as a line. Remove the subtask's name from the text, because the line begins with it anyway."""
    return f"question: {short(short(body.get('prompt')).removeprefix(f'[{subtask_of(body)}] '))}"


def _landed(body: Body) -> str:
    note = str(body.get("note") or "")
    return f"landed on {body.get('branch')} as {str(body.get('commit'))[:12]}" + (f"; {note}" if note else "")


def _hint(body: Body) -> str:
    source = f", from another repository ({short(body.get('source'))})" if body.get("source") else ""
    return f"  a hint from memory{source}; it has helped {counted(body.get('times_helped'), 'time')}"


def _loop_round(body: Body) -> str:
    then = f"; {body['decision']}" if body.get("decision") else ""
    return f"loop {body.get('loop')}: round ended as {body.get('outcome')}{then}"


_SEVERAL: dict[str, Callable[[Body], Iterable[str]]] = {
    "union_rejected": union_rejected_lines,
    "contract_proposed": proposed_lines,
}
_WORDS: dict[str, Callable[[Body], str]] = {
    "baseline_completed": _baseline,
    "engine_selected": lambda body: f"engine {body.get('engine')}: {short(body.get('reason'))}",
    "engine_declined": _declined,
    "model_selected": lambda body: f"model {body.get('model')}: {short(body.get('reason'))}",
    "model_fallback": lambda body: f"model {body.get('model')} instead: {short(body.get('reason'))}",
    "iteration_started": lambda body: f"round {body.get('n')} of {body.get('max')}",
    "plan_text": lambda body: f"  {short(body.get('text'))}",
    "tool_call": lambda body: f"  → {call_words(body)}",
    "tool_result": _result,
    "check_completed": _checked,
    "protected_edit": _protected,
    "policy_denied": lambda body: f"  denied by {body.get('rule')}: {short(body.get('command'))}",
    "hint_recalled": _hint,
    "question_asked": _question,
    "question_answered": lambda body: f"answered: {short(body.get('answer'))}",
    "question_expired": lambda _: "nobody answered in time",
    "gate_opened": lambda body: f"waits for a person ({body.get('gate')}): {short(body.get('reason'))}",
    "gate_decided": lambda body: f"{body.get('gate')}: {body.get('decision')}",
    "planning_started": lambda _: "planning",
    "planning_completed": plan_words,
    "subtask_started": started_words,
    "subtask_gated": gated_words,
    "subtasks_farmed": lambda body: f"subtasks: {body.get('accepted')} of {body.get('total')} accepted",
    "subtask_applied": lambda body: f"  subtask {short(body.get('id'))} applied",
    "union_verified": union_verified_words,
    "evaluation_started": lambda _: "evaluating",
    "evaluation_completed": evaluation_words,
    "revision_started": revision_words,
    "round_started": lambda body: f"loop {body.get('loop')}: round started",
    "round_finished": _loop_round,
    "diff_ready": diff_words,
    "landed": _landed,
    "error": lambda body: f"error ({body.get('kind')}): {short(body.get('message'))}",
    "session_finished": lambda body: f"{body.get('outcome')}: {short(body.get('reason'))}",
}
