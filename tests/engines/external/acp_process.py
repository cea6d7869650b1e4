"""An agent as a real process with pipes, outside any sandbox, for tests of the protocol client."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

import fake_agent
from donewhen.engines.external.acp.client import AcpAgent, AcpOptions
from donewhen.engines.external.acp.json_rpc import ExitInfo
from donewhen.engines.external.agent import AgentReport, AgentTask, PermissionRequest, Permit
from donewhen.engines.external.agent_events import AgentEvent, RawLine

LONGEST_LINE = 64 << 20
FAKE = (sys.executable, str(Path(fake_agent.__file__).parent), "--acp", "--script")


class ProcessPipe:
    """The agent's lines; everything sent to it is kept."""

    def __init__(self, process: Process, stderr: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin = process.stdin
        self._stdout = BufferedByteReceiveStream(process.stdout)
        self._stderr = stderr
        self.sent: list[Any] = []

    async def send(self, line: bytes) -> None:
        self.sent += [json.loads(one) for one in line.splitlines() if one]
        await self._stdin.send(line)

    async def receive(self) -> bytes:
        try:
            return await self._stdout.receive_until(b"\n", LONGEST_LINE)
        except anyio.IncompleteRead:
            raise anyio.EndOfStream from None

    async def wait_ended(self) -> ExitInfo:
        code = await self._process.wait()
        return ExitInfo(code if code >= 0 else 128 - code, self._stderr.read_text().strip())


@dataclass
class Told:
    """The events of an agent, and what it was sent."""

    happenings: list[AgentEvent] = field(default_factory=list[AgentEvent])
    sent: list[Any] = field(default_factory=list[Any])
    wishes: list[PermissionRequest] = field(default_factory=list[PermissionRequest])

    @property
    def raw(self) -> list[Any]:
        return [one.value for one in self.happenings if isinstance(one, RawLine)]

    @property
    def news(self) -> list[AgentEvent]:
        return [one for one in self.happenings if not isinstance(one, RawLine)]

    def params(self, method: str) -> list[Any]:
        return [one["params"] for one in self.sent if one.get("method") == method]

    async def allow(self, wish: PermissionRequest) -> bool:
        self.wishes.append(wish)
        return True

    async def deny(self, wish: PermissionRequest) -> bool:
        self.wishes.append(wish)
        return False


@dataclass(frozen=True)
class Place:
    """A directory in which agents start."""

    root: Path
    told: Told = field(default_factory=Told)

    @asynccontextmanager
    async def start(self, *argv: str) -> AsyncGenerator[ProcessPipe]:
        stderr = self.root.parent / f"{self.root.name}.stderr"
        with stderr.open("wb") as errors:
            process = await anyio.open_process(argv, cwd=self.root, stdin=subprocess.PIPE, stderr=errors)
        async with process:
            pipe = ProcessPipe(process, stderr)
            self.told.sent = pipe.sent
            try:
                yield pipe
            finally:
                if process.returncode is None:
                    process.kill()

    def agent(self, script: Any, **manner: Any) -> AcpAgent:
        """The scripted agent; its script is next to the directory, not in it."""
        file = self.root.parent / f"{self.root.name}.json"
        file.write_text(json.dumps(script))
        return AcpAgent(lambda: self.start(*FAKE, str(file)), AcpOptions(cwd=str(self.root), **manner))

    async def work(
        self,
        steps: Sequence[Mapping[str, Any]],
        answers: Mapping[str, Any] | None = None,
        manner: Mapping[str, Any] | None = None,
        permit: Permit | None = None,
        **task: Any,
    ) -> AgentReport:
        """One invocation of the scripted agent; its events are in `told`."""
        agent = self.agent({"invocations": [steps], "answers": answers or {}}, **(manner or {}))
        return await agent.work(self.task(permit, **task), self.told.happenings.append)

    def task(self, permit: Permit | None = None, **task: Any) -> AgentTask:
        asked: dict[str, Any] = {"text": "Make it work.", "max_turns": 50, **task}
        return AgentTask(**asked, permit=permit or self.told.allow)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
