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
from donewhen.engines.external.agent_events import Hear
from donewhen.engines.external.run.agent_environment import PreparedAgent
from donewhen.engines.external.run.cli_agent import COULD_NOT_START, MOST_LINE_BYTES, last_words, report_of
from donewhen.engines.external.run.config_files import put
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.sandbox.sandbox import Sandbox, ShellCommand

MOST_WAITING = 64 << 20
LEAVE_SECS = 1.0
"""Time that an agent may take to exit on its own after its input was closed."""
INPUT = "input"


class AcpInSandbox:
    """One invocation through ACP."""

    def __init__(self, room: Sandbox, quarters: PreparedAgent, manner: AcpOptions, timeout_secs: float) -> None:
        self._room = room
        self._quarters = quarters
        self._manner = manner
        self._timeout_secs = timeout_secs

    async def work(self, task: AgentTask, hear: Hear) -> AgentReport:
        pipe = SandboxPipe(self._quarters.config / INPUT)
        report = await AcpAgent(lambda: self._started(pipe), self._manner).work(task, hear)
        finished = pipe.finished
        if pipe.fault:
            return replace(report, end="died", detail=pipe.fault)
        if finished is None or report.end == "stopped":
            return report
        never_ran = report.end == "died" and finished.exit_code in COULD_NOT_START
        return report_of(finished) if never_ran or finished.end not in (End.EXITED, End.SIGNALLED) else report

    @asynccontextmanager
    async def _started(self, pipe: "SandboxPipe") -> AsyncGenerator["SandboxPipe"]:
        words = f"exec {shlex.join(self._quarters.argv)} < {shlex.quote(f'{self._quarters.inside}/{INPUT}')}"
        command = ShellCommand(text=words, timeout_secs=self._timeout_secs, merge_stderr=False)
        try:
            async with anyio.create_task_group() as tasks:

                async def live() -> None:
                    with anyio.CancelScope() as scope:
                        pipe.overflow = scope.cancel
                        pipe.finished = await self._room.run(command, stdout=pipe.take)
                    pipe.close_output()

                pipe.open()
                tasks.start_soon(live)
                try:
                    yield pipe
                    pipe.close_input()
                    with anyio.move_on_after(LEAVE_SECS):
                        await pipe.ended()
                finally:
                    pipe.close_input()
                    tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from group


class SandboxPipe:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._writer = -1
        self._is_alone = True
        """True until the process has opened its end. Until then we hold the reading end as well, so that opening does
        not block."""
        self._begun = bytearray()
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._news = anyio.Event()
        self._end = anyio.Event()
        self.finished: Finished | None = None
        self.fault = ""
        """Why the process had to be ended; empty if it behaves."""
        self.overflow = _nobody

    # -- input of the process --

    def open(self) -> None:
        put(self._place.parent, self._place.name, "")  # removes whatever an agent left there
        self._place.unlink()
        os.mkfifo(self._place, 0o600)
        self._writer = os.open(self._place, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)

    async def send(self, line: bytes) -> None:
        left = memoryview(line)
        while left:
            if self._writer < 0 or self._end.is_set():
                raise anyio.BrokenResourceError
            try:
                left = left[os.write(self._writer, left) :]
            except BlockingIOError:
                await self._room_to_write()

    async def _room_to_write(self) -> None:
        """Wait until writing is possible or the process ends: while we also hold the reading end, nothing else shows
        that."""
        async with anyio.create_task_group() as tasks:

            async def writable() -> None:
                with suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self._writer)
                tasks.cancel_scope.cancel()

            tasks.start_soon(writable)
            await self._end.wait()
            tasks.cancel_scope.cancel()

    def close_input(self) -> None:
        if self._writer >= 0:
            writer, self._writer = self._writer, -1
            anyio.notify_closing(writer)
            os.close(writer)
            self._place.unlink(missing_ok=True)

    def _let_go_of_reading(self) -> None:
        """Close our reading end, because the process has opened its own: from now on a write fails if the process is
        gone."""
        self._is_alone = False
        if self._writer >= 0:
            with suppress(OSError):
                # Not by its path: the agent may have put something else there by now.
                alone = os.open(f"/proc/self/fd/{self._writer}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                os.dup2(alone, self._writer, inheritable=False)
                os.close(alone)
            self._place.unlink(missing_ok=True)

    # -- output of the process --

    def take(self, chunk: bytes) -> None:
        if self._is_alone:
            self._let_go_of_reading()
        if self.fault:
            return
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._begun += part
            if self._begun:
                self._lines.append(bytes(self._begun))
                self._waiting += len(self._begun)
                self._begun.clear()
        self._begun += rest
        if len(self._begun) > MOST_LINE_BYTES:
            self._break(f"it printed a line of more than {MOST_LINE_BYTES >> 20} MiB and was stopped")
        elif self._waiting > MOST_WAITING:
            self._break("it printed faster than its output could be read and was stopped")
        if self._lines:
            self._news.set()

    def _break(self, fault: str) -> None:
        self.fault = fault
        self._begun.clear()
        self.overflow()

    async def receive(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        while not self._lines:
            if self._end.is_set():
                raise anyio.EndOfStream
            self._news = anyio.Event()
            await self._news.wait()
        line = self._lines.popleft()
        self._waiting -= len(line)
        return line

    def close_output(self) -> None:
        if self._begun:
            self._lines.append(bytes(self._begun))
        self._end.set()
        self._news.set()

    async def ended(self) -> ExitInfo:
        await self._end.wait()
        if self.finished is None:
            return ExitInfo()
        return ExitInfo(self.finished.exit_code, last_words(self.finished))


def _nobody() -> None:
    return
