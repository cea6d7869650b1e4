"""Agent driven by its command line: started with the task, observed through what it prints.

The output is split into lines, each JSON or text, in bounded memory whatever the agent prints, and read as it arrives.
An agent that reports that it has finished but keeps running is ended. Neither output nor exit code judges the work:
exit codes are reported and mean nothing more.
"""

import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

import anyio

from donewhen.engines.external import streams
from donewhen.engines.external.agent import AgentReport, AgentTask
from donewhen.engines.external.agent_events import AgentEvent, AgentProblem, AgentStopped, OnAgentEvent, RawLine
from donewhen.records import frozen
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.sandbox.sandbox import Sandbox, ShellCommand

MOST_LINE_BYTES = 16 << 20
"""A line is a whole message, with files in it. All code that processes a line takes linear time."""


@frozen
class JsonLine:
    """A line that is a JSON object or list."""

    value: Any


@frozen
class TextLine:
    """Any other line that is not blank; invalid UTF-8 is replaced."""

    text: str
    cut: bool = False
    """True if the line was too long and this is its beginning."""


class LineSplitter:
    def __init__(self, max_bytes: int = MOST_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._partial = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> Iterator[JsonLine | TextLine]:
        """Yield the lines that this chunk completes."""
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            yield from self._complete(part)
        yield from self._extend(rest)

    def end(self) -> Iterator[JsonLine | TextLine]:
        """Yield the last line if it has no newline."""
        yield from self._complete(b"")

    def _extend(self, part: bytes) -> Iterator[JsonLine | TextLine]:
        if self._skipping:
            return
        self._partial += part
        if len(self._partial) > self._max_bytes:
            yield TextLine(_decoded(bytes(self._partial[: 1 << 10])), cut=True)
            self._partial.clear()
            self._skipping = True

    def _complete(self, part: bytes) -> Iterator[JsonLine | TextLine]:
        yield from self._extend(part)
        line, skipping = bytes(self._partial), self._skipping
        self._partial.clear()
        self._skipping = False
        if not skipping and line.strip():
            yield _parse(line)


def _parse(line: bytes) -> JsonLine | TextLine:
    text = _decoded(line).rstrip("\r")
    if text.lstrip()[:1] in ("{", "[") and text.count("{") + text.count("[") < 1 << 20:
        try:
            return JsonLine(json.loads(text))
        except (ValueError, RecursionError):
            pass
    return TextLine(text)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace")


EXIT_SECS = 2.0
"""Time that an agent may take to exit after it has finished."""
MOST_LINES = 500_000
"""An agent that prints more lines than this is assumed to print endlessly."""
COULD_NOT_START = (126, 127)


@frozen
class CliAgent:
    sandbox: Sandbox
    argv: tuple[str, ...]
    shape: str
    timeout_secs: float

    async def work(self, task: AgentTask, on_event: OnAgentEvent) -> AgentReport:
        del task  # its text is already in argv
        reader, lines = streams.reader(self.shape), LineSplitter()
        finished: Finished | None = None
        count = 0
        with anyio.CancelScope() as scope:

            def emit(events: Iterable[AgentEvent]) -> None:
                for one in events:
                    on_event(one)
                    if isinstance(one, AgentStopped):
                        scope.deadline = min(scope.deadline, anyio.current_time() + EXIT_SECS)

            def read_lines(lines_read: Iterable[JsonLine | TextLine]) -> None:
                nonlocal count
                for line in lines_read:
                    count += 1
                    if count > MOST_LINES:
                        return
                    on_event(RawLine(line.value if isinstance(line, JsonLine) else line.text))
                    emit(reader.value(line.value) if isinstance(line, JsonLine) else reader.text(line.text))

            def on_output(chunk: bytes) -> None:
                if count <= MOST_LINES:
                    read_lines(lines.feed(chunk))
                if count > MOST_LINES:
                    scope.cancel()

            command = ShellCommand(
                text=f"exec {shlex.join(self.argv)}", timeout_secs=self.timeout_secs, merge_stderr=False
            )
            finished = await self.sandbox.run(command, stdout=on_output)
            read_lines(lines.end())
            emit(reader.end(finished.exit_code, last_stderr_line(finished)))
        if count > MOST_LINES:
            on_event(AgentProblem("agent", f"it printed more than {MOST_LINES} lines and was stopped"))
        return report_of(finished)


def report_of(finished: Finished | None) -> AgentReport:
    """Return how a program ended; `finished` is None if we ended it."""
    if finished is None:
        return AgentReport(end="stopped")
    code, detail = finished.exit_code, last_stderr_line(finished)
    match finished.end:
        case End.EXITED if code in COULD_NOT_START:
            return AgentReport(end="not_started", exit_code=code, detail=detail)
        case End.EXITED:
            return AgentReport(end="exited", exit_code=code, detail=detail)
        case End.TIMED_OUT:
            return AgentReport(end="timed_out", detail=detail)
        case End.COULD_NOT_START:
            return AgentReport(end="not_started", detail=finished.reason)
        case End.SIGNALLED:
            return AgentReport(end="died", exit_code=code, detail=f"killed by signal {finished.signal}")
        case End.LIMIT:
            return AgentReport(end="died", exit_code=code, detail=f"it exceeded a limit: {finished.reason}")


def last_stderr_line(finished: Finished) -> str:
    """Return the last line that it wrote to stderr, shortened."""
    lines = (finished.stderr.head + finished.stderr.tail).decode("utf-8", "replace").split("\n")
    return next((line.strip()[:400] for line in reversed(lines) if line.strip()), "")
