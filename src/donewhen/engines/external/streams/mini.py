"""Reader of what mini-SWE-agent prints (version 2.4): plain text, with a heading before every model answer.

Below the heading come the model's text, then its commands between fences, then their output. Command output that looks
the same cannot be distinguished: then one turn too many is counted, never one too few. Tokens are not reported. Costs
are, as a total rounded to cents, and as 0 if the price is not known.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
    ProblemKind,
)
from donewhen.engines.external.streams.problems import problem_kind

STEP = re.compile(r"mini-swe-agent \(step (\d+), \$([\d.]+)\):")
RULE = re.compile("─{20,}")
SAVED = re.compile(r"Saved trajectory to ")
ERROR = re.compile(r"(?:\w+\.)*(\w+(?:Error|Exception|Exceeded)): .+")
LIMITS: dict[str, ProblemKind] = {"LimitsExceeded": "limit", "TimeExceeded": "limit"}
RETURN_CODE = re.compile(r"<returncode>\s*(-?\d+)")
SUBMITS = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""A command with this text ends the work; it is reported as one that was not executed."""
MOST_LINES = 5000
"""Limit of one part."""

Part = Literal["preface", "words", "command", "between", "result", "exit"]


class Stream:
    def __init__(self) -> None:
        self._part: Part = "preface"
        self._lines: list[str] = []
        self._open_calls: list[AgentToolCall] = []
        """Calls without a result, the oldest first."""
        self._turns = self._calls = 0
        self._error = ""

    def value(self, value: Any) -> Iterable[AgentEvent]:
        return self.text(json.dumps(value, ensure_ascii=False))

    def text(self, line: str) -> Iterable[AgentEvent]:
        if found := STEP.fullmatch(line):
            yield from self._step(found[2])
        elif line == "```" and self._part in ("words", "command", "between"):
            yield from self._fence()
        elif line == "Tool:" and self._part in ("words", "between", "result"):
            yield from self._enter("result")
        elif line == "Exit:" and self._part in ("words", "between", "result"):
            yield from self._enter("exit")
        elif RULE.match(line) or SAVED.match(line):
            yield from self._enter("preface")
        else:
            self._add(line)

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        yield from self._enter("preface")
        if self._error:
            name = (ERROR.fullmatch(self._error) or [self._error] * 2)[1] or self._error
            yield AgentProblem(LIMITS.get(name) or problem_kind(self._error), self._error)
        elif exit_code == 0 and not self._turns:
            yield AgentProblem("agent", stderr or "it ended without a request to a model")

    def _add(self, line: str) -> None:
        if self._part == "preface" and (line in LIMITS or ERROR.fullmatch(line)):
            self._error = line
        if len(self._lines) < MOST_LINES:
            self._lines.append(line)

    def _step(self, usd_text: str) -> Iterator[AgentEvent]:
        yield from self._enter("words")
        self._turns += 1
        self._error = ""
        yield AgentTurn()
        if 0 < (usd := _number(usd_text)) < 1e6:
            yield AgentTotals(usd=usd)

    def _fence(self) -> Iterator[AgentEvent]:
        if self._part == "command":
            yield from self._enter("between")
        else:
            yield from self._enter("command")

    def _enter(self, part: Part) -> Iterator[AgentEvent]:
        """Enter a part and report the one before it."""
        whole = "\n".join(self._lines).strip()
        self._lines.clear()
        before, self._part = self._part, part
        if before in ("words", "exit") and whole:
            yield AgentText(whole)
        elif before == "command":
            self._calls += 1
            self._open_calls.append(AgentToolCall(f"call-{self._calls}", "bash", {"command": whole}))
            yield self._open_calls[-1]
        elif before == "result" and self._open_calls:
            call, code = self._open_calls.pop(0), RETURN_CODE.match(whole)
            is_ok = SUBMITS in call.input["command"] or (code is not None and code[1] == "0")
            yield AgentToolResult(call.id, is_ok, whole)


def _number(digits: str) -> float:
    try:
        return float(digits)
    except ValueError:
        return 0.0
