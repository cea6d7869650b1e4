"""An agent that speaks the protocol, as a process in the sandbox: its lines out by a pipe, ours in by a named one.

The named pipe lies in the agent's private directory for the moment it takes to be opened. What the process prints waits
here until it is read; one that prints faster than anybody could read is ended.
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

from donewhen.engines.external.acp import AcpAgent, Manner
from donewhen.engines.external.acp_wire import Ending
from donewhen.engines.external.agent import Report, Task
from donewhen.engines.external.cli import COULD_NOT_START, last_words, report_of
from donewhen.engines.external.furniture import put
from donewhen.engines.external.happening import Hear
from donewhen.engines.external.quarters import Quarters
from donewhen.workspace.command import End, Finished
from donewhen.workspace.sandbox.room import Sandbox, ShellCommand

LONGEST_LINE = 16 << 20
MOST_WAITING = 64 << 20
LEAVE_SECS = 1.0
"""How long an agent that was told everything may take to end by itself."""
INPUT = "input"


class AcpInRoom:
    """One invocation over the protocol."""

    def __init__(self, room: Sandbox, quarters: Quarters, manner: Manner, timeout_secs: float) -> None:
        self._room = room
        self._quarters = quarters
        self._manner = manner
        self._timeout_secs = timeout_secs

    async def work(self, task: Task, hear: Hear) -> Report:
        pipe = RoomPipe(self._quarters.config / INPUT)
        report = await AcpAgent(lambda: self._started(pipe), self._manner).work(task, hear)
        finished = pipe.finished
        if pipe.fault:
            return replace(report, end="died", detail=pipe.fault)
        if finished is None or report.end == "stopped":
            return report
        never_ran = report.end == "died" and finished.exit_code in COULD_NOT_START
        return report_of(finished) if never_ran or finished.end not in (End.EXITED, End.SIGNALLED) else report

    @asynccontextmanager
    async def _started(self, pipe: "RoomPipe") -> AsyncGenerator["RoomPipe"]:
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


class RoomPipe:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._writer = -1
        self._is_alone = True
        """Nobody has read yet; until then the reading end is ours as well, so that opening does not block."""
        self._begun = bytearray()
        self._lines: deque[bytes] = deque()
        self._waiting = 0
        self._news = anyio.Event()
        self._end = anyio.Event()
        self.finished: Finished | None = None
        self.fault = ""
        """Why it had to be ended; empty while it behaves."""
        self.overflow = _nobody

    # -- what it reads --

    def open(self) -> None:
        put(self._place.parent, self._place.name, "")  # whatever an agent left there is gone then
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
        """Also when the process ends: while the reading end is ours as well, nothing else would say so."""
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
        """The process has opened its end: from now on a write fails when it is gone."""
        self._is_alone = False
        if self._writer >= 0:
            with suppress(OSError):
                # Not by its path: the agent may have put something else there by now.
                alone = os.open(f"/proc/self/fd/{self._writer}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                os.dup2(alone, self._writer, inheritable=False)
                os.close(alone)
            self._place.unlink(missing_ok=True)

    # -- what it prints --

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
        if len(self._begun) > LONGEST_LINE:
            self._break(f"it printed a line of more than {LONGEST_LINE >> 20} MiB, and was ended")
        elif self._waiting > MOST_WAITING:
            self._break("it printed faster than anybody could read, and was ended")
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

    async def ended(self) -> Ending:
        await self._end.wait()
        if self.finished is None:
            return Ending()
        return Ending(self.finished.exit_code, last_words(self.finished))


def _nobody() -> None:
    return
