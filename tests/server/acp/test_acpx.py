"""`acpx`, a client of others with an implementation of the protocol of its own, drives the program."""

import json
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from needs import leave_out, needs
from program import PROGRAM
from repositories import git
from runs.scenes import EXPECTED, RIGHT, run_verb, say, scene, script, shell, write
from server.acp.editors import kill, new_mark, processes

PLACE = Path(__file__).parents[3] / ".cache" / "test-runners" / "acp"
CHEAT = [write("expected.txt", "wrong\n"), say("the expectation was wrong")]
ONE_ROUND = "\n[native]\nmax_iterations = 1\n"
SECONDS = 120
DENIED = 5
"""The exit code of acpx if it denied all that it was asked for."""
IDLE_SECS = "1"
"""Afterwards acpx ends the agent that it keeps, and has to load the conversation again."""


class Acpx:
    def __init__(self, repo: Path, steps: object) -> None:
        self.repo = repo
        self.model = script(repo.parent / "script.json", steps)
        program = PLACE / "node_modules" / ".bin" / "acpx"
        if not (PLACE / ".installed").exists() or not program.exists():
            leave_out("acpx (scripts/test-runners installs it)")
        agent = shlex.join([str(PROGRAM), "acp", "--model", self.model])
        self._command = [needs("node"), str(program), "--agent", agent, "--ttl", IDLE_SECS, "--format", "json"]

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self._command, *arguments],
            cwd=self.repo,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """Return the messages that went over the wire."""
        with self.begin(*arguments) as process:
            return self.messages(process, code)

    def messages(self, process: "subprocess.Popen[str]", code: int = 0) -> list[dict[str, Any]]:
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == code, (process.returncode, err, out[-2000:])
        return [json.loads(line) for line in out.splitlines()]

    def agents(self) -> list[int]:
        return processes(self.model)


@pytest.fixture
def acpx(tmp_path: Path) -> Iterator[Callable[..., Acpx]]:
    started: list[Acpx] = []

    def start(steps: object, **files: str) -> Acpx:
        started.append(Acpx(scene(tmp_path / "repo", files or None), steps))
        return started[-1]

    yield start
    for one in started:
        kill(one.agents())


def stop_of(messages: list[dict[str, Any]]) -> str:
    (stop,) = [
        one["result"]["stopReason"]
        for one in messages
        if isinstance(one.get("result"), dict) and "stopReason" in one["result"]
    ]
    return stop


def said(messages: list[dict[str, Any]]) -> str:
    updates = [one["params"]["update"] for one in messages if one.get("method") == "session/update"]
    return "".join(one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk")


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


def test_acpx_gets_verified_work(acpx: Callable[..., Acpx]) -> None:
    client = acpx(RIGHT)
    messages = client.run("exec", "say right")
    assert stop_of(messages) == "end_turn"
    assert "**verified**" in said(messages)
    kinds = {one["params"]["update"]["sessionUpdate"] for one in messages if one.get("method") == "session/update"}
    assert {"plan", "tool_call", "tool_call_update", "agent_message_chunk"} <= kinds
    (session,) = run_verb(client.repo, "list", "--json").out.splitlines()
    assert git(client.repo, "show", f"donewhen/{json.loads(session)['id']}:answer.txt") == "right"


@pytest.mark.parametrize(
    ("choice", "outcome", "code"), [("--approve-all", "verified", 0), ("--deny-all", "rejected", DENIED)]
)
def test_acpx_decides_on_protected_edits(acpx: Callable[..., Acpx], choice: str, outcome: str, code: int) -> None:
    client = acpx(CHEAT, **{"donewhen.toml": EXPECTED + ONE_ROUND, "expected.txt": "right\n"})
    messages = client.run(choice, "exec", "say right", code=code)
    (asked,) = [one["params"] for one in messages if one.get("method") == "session/request_permission"]
    assert [one["kind"] for one in asked["options"]] == ["reject_once", "allow_once"]
    assert f"**{outcome}**" in said(messages)


def test_acpx_cancels_a_prompt_and_resumes_its_work_after_loading_the_conversation(acpx: Callable[..., Acpx]) -> None:
    mark = new_mark()
    client = acpx([shell(f"sleep {mark}"), *RIGHT])
    client.run("sessions", "new")
    with client.begin("prompt", "say right") as prompt:
        wait_until(lambda: processes(mark))
        client.run("cancel")
        messages = client.messages(prompt)
    assert stop_of(messages) == "cancelled"
    assert processes(mark) == []
    wait_until(lambda: not client.agents())
    messages = client.run("prompt", "/resume")
    assert "session/load" in [one.get("method") for one in messages]
    assert stop_of(messages) == "end_turn"
    assert "**verified**" in said(messages)
