"""Reader of what aider prints (version 0.86): plain text, with a line about tokens after every model answer.

It has no tools and no conversation that could be resumed; files that it wrote are reported as if by a tool. Tokens and
prices are rounded as they are printed. An error counts if no answer came after it: aider retries on its own, and exits
with 0 anyway.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentStarted,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTurn,
)
from donewhen.engines.external.streams.problems import problem_kind
from donewhen.model.interface import Usage

MODEL = re.compile(r"(?:Main model|Model): (?:[\w.-]+/)?(\S+) with .*edit format")
HEADING_ENDS = re.compile(r"Repo-map: ")
TOKENS = re.compile(r"Tokens: (?=\d)(.*? received)\.")
PART = re.compile(r"(?<![\d.])([\d.]+)([kM]?) (sent|cache write|cache hit|received)")
COST = re.compile(r"Cost: \$([\d.]+) message")
APPLIED = re.compile(r"Applied edit to (.+)")
ERROR = re.compile(r"litellm\.\w+: .|.*The API provider .|.*has hit a token limit!?$")
SCALES = {"": 1, "k": 1000, "M": 1_000_000}
MOST_LINES = 5000
"""Limit of one answer."""


class Stream:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._error = ""
        self._turns = self._edits = 0

    def value(self, value: Any) -> Iterable[AgentEvent]:
        return self.text(json.dumps(value, ensure_ascii=False))

    def text(self, line: str) -> Iterable[AgentEvent]:
        if found := TOKENS.match(line):
            yield from self._end_answer(found[1], line)
        elif self._turns and (found := APPLIED.fullmatch(line)):
            yield from self._report_edit(found[1])
        elif not self._turns and (found := MODEL.fullmatch(line)):
            yield AgentStarted(model=found[1])
        elif HEADING_ENDS.match(line):
            self._lines.clear()
        elif ERROR.match(line):
            self._error = self._error or line
        elif len(self._lines) < MOST_LINES:
            self._lines.append(line)

    def end(self, exit_code: int | None, stderr: str) -> Iterable[AgentEvent]:
        if self._error:
            yield AgentProblem(problem_kind(self._error), self._error)
        elif not self._turns and exit_code == 0:
            yield AgentProblem("agent", stderr or "\n".join(self._lines[-3:]) or "it ended without an answer")

    def _end_answer(self, tokens: str, line: str) -> Iterator[AgentEvent]:
        answer = "\n".join(self._lines).strip()
        self._lines.clear()
        self._error = ""
        self._turns += 1
        if answer:
            yield AgentText(answer)
        cost = COST.search(line)
        yield AgentTurn(_usage(tokens), _number(cost[1].rstrip(".")) or None if cost else None)

    def _report_edit(self, path: str) -> Iterator[AgentEvent]:
        self._lines.clear()
        self._edits += 1
        yield AgentToolCall(f"edit-{self._edits}", "edit", {"path": path})
        yield AgentToolResult(f"edit-{self._edits}", True, f"Applied edit to {path}")


def _usage(tokens: str) -> Usage | None:
    """Return the usage. Tokens written to a cache or read from it are reported separately from those sent."""
    reported = {kind: round(_number(amount) * SCALES[scale]) for amount, scale, kind in PART.findall(tokens)}
    read, written = reported.get("cache hit", 0), reported.get("cache write", 0)
    sent, received = reported.get("sent", 0) + read + written, reported.get("received", 0)
    return Usage(sent, received, read, written) if sent or received else None


def _number(digits: str) -> float:
    try:
        number = float(digits)
    except ValueError:
        return 0.0
    return number if number < 1e9 else 0.0
