"""ACP agent as a process in the sandbox: its output comes through a pipe, its input through a named pipe.

The named pipe is in the agent's private directory only for the time it takes to open it. What the process prints waits
here until it is read; a process that prints faster than we can read is ended.
"""

import os
import shlex
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel

from donewhen.engines.external.acp.client import AcpAgent, AcpOptions
from donewhen.engines.external.acp.json_rpc import ExitInfo
from donewhen.engines.external.agent import AgentReport, AgentTask
from donewhen.engines.external.agent_events import OnAgentEvent
from donewhen.engines.external.run.agent_environment import PreparedAgent
from donewhen.engines.external.run.cli_agent import COULD_NOT_START, MOST_LINE_BYTES, last_stderr_line, report_of
from donewhen.engines.external.run.config_files import write_file
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.sandbox.sandbox import Sandbox, ShellCommand

MOST_WAITING = 64 << 20
EXIT_SECS = 1.0
"""Time that an agent may take to exit on its own after its input was closed."""
INPUT = "input"


class AcpInSandbox:
    """One invocation through ACP."""

    def __init__(self, sandbox: Sandbox, prepared: PreparedAgent, options: AcpOptions, timeout_secs: float) -> None:
        self._sandbox = sandbox
        self._prepared = prepared
        self._options = options
        self._timeout_secs = timeout_secs

    async def work(self, task: AgentTask, on_event: OnAgentEvent) -> AgentReport:
        pipe = SandboxPipe(self._prepared.config / INPUT)
        report = await AcpAgent(lambda: self._running(pipe), self._options).work(task, on_event)
        finished = pipe.finished
        if pipe.fault:
            return replace(report, end="died", detail=pipe.fault)
        if finished is None or report.end == "stopped":
            return report
        is_unstarted = report.end == "died" and finished.exit_code in COULD_NOT_START
        return report_of(finished) if is_unstarted or finished.end not in (End.EXITED, End.SIGNALLED) else report

    @asynccontextmanager
    async def _running(self, pipe: "SandboxPipe") -> AsyncGenerator["SandboxPipe"]:
        text = f"exec {shlex.join(self._prepared.argv)} < {shlex.quote(f'{self._prepared.inside}/{INPUT}')}"
        command = ShellCommand(text=text, timeout_secs=self._timeout_secs, merge_stderr=False)
        try:
            async with anyio.create_task_group() as tasks:

                async def run_agent() -> None:
                    with anyio.CancelScope() as scope:
                        pipe.stop_agent = scope.cancel
                        pipe.finished = await self._sandbox.run(command, stdout=pipe.add_output)
                    pipe.close_output()

                pipe.open()
                tasks.start_soon(run_agent)
                try:
                    yield pipe
                    pipe.close_input()
                    with anyio.move_on_after(EXIT_SECS):
                        await pipe.wait_ended()
                finally:
                    pipe.close_input()
                    tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from group


class SandboxPipe:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer = -1
        self._holds_both_ends = True
        """True until the process has opened its end. Until then we hold the reading end as well, so that opening does
        not block."""
        self._partial_line = bytearray()
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._new_lines = anyio.Event()
        self._has_ended = anyio.Event()
        self.finished: Finished | None = None
        self.fault = ""
        """Why the process was stopped; empty if it was not."""
        self.stop_agent = _do_nothing

    # -- input of the process --

    def open(self) -> None:
        write_file(self._path.parent, self._path.name, "")  # removes whatever an agent left there
        self._path.unlink()
        os.mkfifo(self._path, 0o600)
        self._writer = os.open(self._path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)

    async def send(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            if self._writer < 0 or self._has_ended.is_set():
                raise anyio.BrokenResourceError
            try:
                left = left[os.write(self._writer, left) :]
            except BlockingIOError:
                await self._wait_writable()

    async def _wait_writable(self) -> None:
        """Wait until writing is possible or the process ends: while we also hold the reading end, nothing else shows
        that."""
        async with anyio.create_task_group() as tasks:

            async def writable() -> None:
                with suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self._writer)
                tasks.cancel_scope.cancel()

            tasks.start_soon(writable)
            await self._has_ended.wait()
            tasks.cancel_scope.cancel()

    def close_input(self) -> None:
        if self._writer >= 0:
            writer, self._writer = self._writer, -1
            anyio.notify_closing(writer)
            os.close(writer)
            self._path.unlink(missing_ok=True)

    def _close_reading_end(self) -> None:
        """Close our reading end, because the process has opened its own: from now on a write fails if the process is
        gone."""
        self._holds_both_ends = False
        if self._writer >= 0:
            with suppress(OSError):
                # Not by its path: the agent may have put something else there by now.
                alone = os.open(f"/proc/self/fd/{self._writer}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                os.dup2(alone, self._writer, inheritable=False)
                os.close(alone)
            self._path.unlink(missing_ok=True)

    # -- output of the process --

    def add_output(self, chunk: bytes) -> None:
        if self._holds_both_ends:
            self._close_reading_end()
        if self.fault:
            return
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._partial_line += part
            if self._partial_line:
                self._lines.append(bytes(self._partial_line))
                self._waiting_bytes += len(self._partial_line)
                self._partial_line.clear()
        self._partial_line += rest
        if len(self._partial_line) > MOST_LINE_BYTES:
            self._fail(f"it printed a line of more than {MOST_LINE_BYTES >> 20} MiB and was stopped")
        elif self._waiting_bytes > MOST_WAITING:
            self._fail("it printed faster than its output could be read and was stopped")
        if self._lines:
            self._new_lines.set()

    def _fail(self, fault: str) -> None:
        self.fault = fault
        self._partial_line.clear()
        self.stop_agent()

    async def receive(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        while not self._lines:
            if self._has_ended.is_set():
                raise anyio.EndOfStream
            self._new_lines = anyio.Event()
            await self._new_lines.wait()
        line = self._lines.popleft()
        self._waiting_bytes -= len(line)
        return line

    def close_output(self) -> None:
        if self._partial_line:
            self._lines.append(bytes(self._partial_line))
        self._has_ended.set()
        self._new_lines.set()

    async def wait_ended(self) -> ExitInfo:
        await self._has_ended.wait()
        if self.finished is None:
            return ExitInfo()
        return ExitInfo(self.finished.exit_code, last_stderr_line(self.finished))


def _do_nothing() -> None:
    return
