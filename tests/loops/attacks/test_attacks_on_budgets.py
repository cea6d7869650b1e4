"""Makers, checkers, inputs and gates that never end or never stop talking: every round ends, and leaves no process."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from loop_scene import DONE, FIX, LoopScene, Step, loop, opinion

MARK = f"storm-of-{os.getpid()}"
STORM = (
    f"for n in 1 2 3; do setsid sh -c 'sleep 10000; true' {MARK} & done; "
    f"(setsid sh -c 'while :; do echo flood; done' {MARK} &); sh -c 'sleep 10000; true' {MARK}"
)
"""Processes with sessions of their own, endless output, and a command that does not end."""


def survivors() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if MARK in line and "ps -eo" not in line]


def shell(command: str) -> Step:
    return {"tool": {"name": "shell", "input": {"command": command, "timeout_secs": 600}}}


def has_begun(events: list[dict[str, Any]]) -> bool:
    return any(one["type"] == "tool_call" and one["tool"] == "shell" for one in events)


@pytest.mark.sample(0)
def test_a_storm_of_commands_ends_with_the_minutes_and_leaves_nothing(tmp_path: Path) -> None:
    budget = {"minutes": 0.2}
    inputs = [{"name": "loud", "command": "yes | head -c 50000000"}]
    scene = LoopScene.made(tmp_path, loop("maker", budget=budget, inputs=inputs), loop("checker", budget=budget))
    scene.script([FIX, shell(STORM), DONE])
    code, finished, events = scene.run("maker")
    assert (code, finished["outcome"], finished["limit"]) == (5, "budget", "minutes")
    assert has_begun(events) and survivors() == []
    scene.script([FIX, DONE], [shell(STORM), opinion()])
    code, finished, events = scene.run("checker")
    assert (code, finished["outcome"], finished["limit"]) == (5, "budget", "minutes")
    assert has_begun(events) and survivors() == []
    waits = {one["loop"]: one["reason"] for one in scene.inbox()}
    assert all("minutes" in waits[name] for name in ("maker", "checker"))


@pytest.mark.sample(0)
def test_a_checker_that_never_answers_and_one_that_never_stops_are_bounded(tmp_path: Path) -> None:
    scene = LoopScene.made(
        tmp_path, loop("silent", budget={"minutes": 0.05}), loop("talks", budget={"turns": 3}), loop("fixer")
    )
    scene.script([FIX, DONE], [{**opinion(), "delay": 10_000}])
    code, finished, _ = scene.run("silent")
    assert (code, finished["outcome"], finished["limit"]) == (5, "budget", "minutes")
    scene.script([FIX, DONE], [shell("true")] * 500)
    code, finished, events = scene.run("talks")
    assert (finished["outcome"], finished["checker"]["status"]) == ("escalated", "unproven")
    assert len([one for one in events if one["type"] == "model_turn" and one["role"] == "checker"]) <= 6
    scene.script()
    assert scene.run()[1]["outcome"] == "escalated"  # the control: the same work with a checker that answers


def test_control_a_storm_outside_is_seen() -> None:
    with subprocess.Popen(["sh", "-c", "echo; sleep 10000; true", MARK], stdout=-1, start_new_session=True) as process:
        assert process.stdout is not None and process.stdout.readline() and survivors()
        os.killpg(process.pid, signal.SIGKILL)
    assert survivors() == []
