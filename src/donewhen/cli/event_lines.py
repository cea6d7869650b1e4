"""Events as plain lines for people: where there is no terminal, and for `log`. One event, at most one line.

A type that is not known here gives nothing. Control characters are not dealt with here: whoever prints a line sends it
through `one_line`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from donewhen.storage.record import Record

Body = Mapping[str, Any]

MARKS = {"pass": "✓", "fail": "✗", "flaky": "~", "timeout": "⏱", "vacuous": "∅", "tampered": "!", "infra": "?"}
SAID_AT_THE_END = ("diff_ready", "landed", "gate_opened", "session_finished")
"""What the last words of a session, or a question to a person, say again: nobody is told it twice."""
DECIDING = ("round", "rerun", "gate", "union")
"""Phases whose result is the state of a check. That of the base counts only until there is work, and a last look (at
edits that a person has yet to approve, or at a branch that moved) says nothing about the round."""
LONGEST = 300
"""Characters of a text that a model or a repository wrote."""

_TELLING = re.compile(r'"(?:command|path|pattern|prompt|summary|item)": ?"((?:[^"\\]|\\.)*)')
"""The parameter that says most about a call; the preview may be cut anywhere."""


def line_of(record: Record) -> str:
    """What a person is told of an event; empty for those that say nothing new."""
    if record.kind == "session_started":
        return f"session {record.session}: {short(record.body.get('intent'))}"
    words = _WORDS.get(record.kind)
    return words(record.body) if words else ""


def short(text: object, longest: int = LONGEST) -> str:
    """A text in one line, and not too long."""
    line = " ".join(str("" if text is None else text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def call_words(body: Body) -> str:
    """A tool call as a person would say it: the tool and its most telling parameter."""
    preview = str(body.get("params_preview", ""))
    telling = _TELLING.search(preview)
    return f"{body.get('tool')} {short(_unescaped(telling.group(1)) if telling else preview)}".rstrip()


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def check_words(body: Body) -> str:
    """`✗ tests: fail (baseline) 6.1 s, 1 passed, 2 failed`, and why."""
    status, phase = str(body.get("status")), body.get("phase")
    about = [f"{(body.get('duration_ms') or 0) / 1000:.1f} s", *_tests(body.get("tests"))]
    if body.get("cached"):
        about.append("kept")
    where = "" if phase in ("round", None) else f" ({phase})"
    why = "; ".join(short(reason) for reason in body.get("reasons") or ())
    return f"{MARKS.get(status, '?')} {body.get('name')}: {status}{where} {', '.join(about)}" + (
        f"; {why}" if why else ""
    )


def _tests(counts: Mapping[str, int] | None) -> Iterable[str]:
    for kind in ("passed", "failed", "skipped"):
        if counts and counts.get(kind):
            yield f"{counts[kind]} {kind}"


def diff_words(body: Body) -> str:
    parts = ((body.get("files"), "file", " changed"), (body.get("insertions"), "insertion", ""))
    return ", ".join(
        counted(n or 0, noun) + after for n, noun, after in (*parts, (body.get("deletions"), "deletion", ""))
    )


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _baseline(body: Body) -> str:
    return "baseline: " + ", ".join(f"{one['name']} {one['status']}" for one in body.get("results", ()))


def _declined(body: Body) -> str:
    why = f"{body.get('reason')}: {short(body.get('detail'))}"
    return f"engine {body.get('engine')} gave up ({why}); next is {body.get('next')}"


def _proposed(body: Body) -> str:
    checks = body.get("contract", {}).get("checks", ())
    said = "; ".join(f"{short(one.get('name'))}: {short(one.get('command'))}" for one in checks)
    return f"there is no contract yet; proposed is: {said}"


def _protected(body: Body) -> str:
    why = short(body.get("reason"))
    return f"  not graded: {short(body.get('path'))} ({body.get('action')}{': ' + why if why else ''})"


def _result(body: Body) -> str:
    return "" if body.get("ok") else f"    {short(body.get('preview'))}"


def _plan(body: Body) -> str:
    one_session = "; one session is better" if body.get("prefer_single_session") else ""
    return f"planned: {body.get('subtasks')} subtasks in {body.get('levels')} levels{one_session}"


def _gated(body: Body) -> str:
    why = short("; ".join(map(str, body.get("reasons") or ())))
    return f"  subtask {short(body.get('id'))}: {body.get('status')}" + (f": {why}" if why else "")


def _rejected_union(body: Body) -> str:
    partner = f" with {body['partner']}" if body.get("partner") else ""
    culprits = ", ".join(map(str, body.get("culprits") or ()))
    return f"union rejected ({body.get('reason')}): {short(culprits)}{partner}: {short(body.get('detail'))}"


def _evaluated(body: Body) -> str:
    return f"evaluation: {body.get('status')}: {short(body.get('summary'))}"


def _loop_round(body: Body) -> str:
    then = f"; {body['decision']}" if body.get("decision") else ""
    return f"loop {body.get('loop')}: round ended as {body.get('outcome')}{then}"


_WORDS: dict[str, Callable[[Body], str]] = {
    "contract_proposed": _proposed,
    "baseline_completed": _baseline,
    "engine_selected": lambda body: f"engine {body.get('engine')}: {short(body.get('reason'))}",
    "engine_declined": _declined,
    "model_selected": lambda body: f"model {body.get('model')}: {short(body.get('reason'))}",
    "model_fallback": lambda body: f"model {body.get('model')} instead: {short(body.get('reason'))}",
    "iteration_started": lambda body: f"round {body.get('n')} of {body.get('max')}",
    "plan_text": lambda body: f"  {short(body.get('text'))}",
    "tool_call": lambda body: f"  → {call_words(body)}",
    "tool_result": _result,
    "check_completed": lambda body: f"  {check_words(body)}",
    "protected_edit": _protected,
    "policy_denied": lambda body: f"  denied by {body.get('rule')}: {short(body.get('command'))}",
    "hint_recalled": lambda body: (
        f"  a hint from memory; it has helped {counted(body.get('times_helped') or 0, 'time')}"
    ),
    "question_asked": lambda body: f"question: {short(body.get('prompt'))}",
    "question_answered": lambda body: f"answered: {short(body.get('answer'))}",
    "question_expired": lambda _: "nobody answered in time",
    "gate_opened": lambda body: f"waits for a person ({body.get('gate')}): {short(body.get('reason'))}",
    "gate_decided": lambda body: f"{body.get('gate')}: {body.get('decision')}",
    "planning_started": lambda _: "planning",
    "planning_completed": _plan,
    "subtask_started": lambda body: f"  subtask {short(body.get('id'))} started",
    "subtask_gated": _gated,
    "subtasks_farmed": lambda body: f"subtasks: {body.get('accepted')} of {body.get('total')} accepted",
    "subtask_applied": lambda body: f"  subtask {short(body.get('id'))} applied",
    "union_verified": lambda body: f"union: {len(body.get('applied') or ())} subtasks pass together",
    "union_rejected": _rejected_union,
    "evaluation_started": lambda _: "evaluating",
    "evaluation_completed": _evaluated,
    "revision_started": lambda body: f"revision {body.get('round')}",
    "round_started": lambda body: f"loop {body.get('loop')}: round started",
    "round_finished": _loop_round,
    "diff_ready": diff_words,
    "landed": lambda body: f"landed on {body.get('branch')} as {str(body.get('commit'))[:12]}",
    "error": lambda body: f"error ({body.get('kind')}): {short(body.get('message'))}",
    "session_finished": lambda body: f"{body.get('outcome')}: {short(body.get('reason'))}",
}
