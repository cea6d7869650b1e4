"""Recorded protocol sessions of real agents with this client, replayed line by line.

A recording holds both sides. Our messages must come in the same order, or the replay stops and fails. Model and
tools were scripted: `success` writes a file, `command` runs one that exits with 3, `denied` is refused the write,
`unauthorized` has a key that its provider refuses, `cancelled` is cancelled while its command hangs.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp_process import Told

from donewhen.engines.external.acp.client import AcpAgent, AcpOptions
from donewhen.engines.external.acp.json_rpc import ExitInfo, Pipe
from donewhen.engines.external.agent import AgentTask
from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentStarted,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)

pytestmark = pytest.mark.anyio
RECORDED = Path(__file__).parent / "recorded" / "acp"
STANDSTILL_SECS = 20.0
WARNING = "says Warning: Model metad"
DONE = ["turn", "says All done.", "turn", "used 200 20", "stopped"]
DENIED = ["calls edit", "failed", "turn", "says Refused then.", "turn", "used 200 20", "stopped"]


class Replay:
    """The agent's side of a recording; it continues when our side has sent its message."""

    def __init__(self, name: str) -> None:
        lines = (RECORDED / f"{name}.jsonl").read_text().splitlines()
        self._left: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.modes: list[str] = [
            one["us"]["params"]["modeId"] for one in self._left if one.get("us", {}).get("method") == "session/set_mode"
        ]
        self.cancelling = anyio.CancelScope()
        self._said = anyio.Event()

    async def send(self, line: bytes) -> None:
        for one in map(json.loads, line.splitlines()):
            expected = self._left.pop(0)["us"]
            assert (one.get("method"), one.get("id")) == (expected.get("method"), expected.get("id"))
            assert one.get("result") == expected.get("result")
        self._said.set()
        self._said = anyio.Event()

    async def receive(self) -> bytes:
        while self._left and "us" in self._left[0]:
            if self._left[0]["us"].get("method") == "session/cancel":
                self.cancelling.cancel()
            await self._said.wait()
        if not self._left:
            raise anyio.EndOfStream
        return json.dumps(self._left.pop(0)["agent"]).encode()

    async def wait_ended(self) -> ExitInfo:
        return ExitInfo(0)

    @asynccontextmanager
    async def start(self) -> AsyncGenerator[Pipe]:
        yield self


def short(one: AgentEvent) -> str:
    match one:
        case AgentText(text):
            return f"says {text[:20].strip()}"
        case AgentToolCall(_, tool):
            return f"calls {tool}"
        case AgentToolResult(_, ok):
            return "ok" if ok else "failed"
        case AgentTurn():
            return "turn"
        case AgentTotals(usage):
            return f"used {usage.input} {usage.output}" if usage else "cost"
        case AgentProblem(trouble):
            return f"complains: {trouble}"
        case AgentStopped():
            return "stopped"
        case _:
            return str(one)


async def played(name: str) -> Told:
    told, replay = Told(), Replay(name)
    permit = told.deny if name.endswith("denied") else told.allow
    task = AgentTask(text="Write hello.txt", max_turns=50, permit=permit)
    agent = AcpAgent(replay.start, AcpOptions(cwd="/repository", mode="".join(replay.modes)))
    with anyio.fail_after(STANDSTILL_SECS), replay.cancelling:
        await agent.work(task, told.happenings.append)
    return told


EXPECTED: dict[str, list[str]] = {
    "claude-cancelled": ["calls execute", "cost"],
    "claude-command": ["calls execute", "failed", "turn", "cost", *DONE[1:]],
    "claude-denied": [*DENIED[:3], "cost", *DENIED[3:]],
    "claude-success": ["calls edit", "ok", "turn", "cost", *DONE[1:]],
    "claude-unauthorized": ["says Invalid API key · Fi", "turn", "complains: sign_in"],
    "codex-cancelled": [WARNING, "calls execute", "used 100 10"],
    "codex-command": [WARNING, "calls execute", "failed", *DONE],
    "codex-success": [WARNING, "calls execute", "ok", *DONE],
    "codex-unauthorized": [WARNING, "turn", "complains: sign_in"],
    "copilot-cancelled": ["calls execute", "used 100 10"],
    "copilot-command": ["calls execute", "ok", *DONE],
    # These two end the task with the first refusal.
    "copilot-denied": [*DENIED[:3], "says Info: Operation canc", "turn", "used 100 10", "stopped"],
    "copilot-success": ["calls edit", "says Info: /repository/he", "ok", *DONE],
    # Its refused key is only text: the gateway knows it.
    "copilot-unauthorized": ["says Info: Request failed", "turn", "stopped"],
    "gemini-command": ["calls execute", "ok", *DONE],
    "gemini-denied": DENIED,
    "gemini-success": ["calls edit", "ok", *DONE],
    "gemini-unauthorized": ["complains: sign_in"],
    # It reports only the tokens of its last turn.
    "opencode-command": ["calls execute", "ok", *DONE[:3], "used 100 10", "stopped"],
    "opencode-denied": [*DENIED[:3], "used 100 10", "stopped"],
    "opencode-success": ["calls edit", "ok", *DONE[:3], "used 100 10", "stopped"],
    "opencode-unauthorized": ["complains: sign_in"],
    "qwen-command": ["calls execute", "ok", *DONE[:3], "stopped"],
    "qwen-denied": [*DENIED[:5], "stopped"],
    "qwen-success": ["calls edit", "ok", *DONE[:3], "stopped"],
    "qwen-unauthorized": ["complains: sign_in"],
}


@pytest.mark.parametrize("name", [path.stem for path in sorted(RECORDED.glob("*.jsonl"))])
async def test_recorded_streams_of_agents_are_read_correctly(name: str) -> None:
    told = await played(name)
    assert [short(one) for one in told.news if not isinstance(one, AgentStarted)] == EXPECTED[name]
