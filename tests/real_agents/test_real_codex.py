"""Codex, for real, against a scripted model."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from real_agents.cases import CASES
from real_agents.scenery import Real


def _writes(path: str, content: str) -> tuple[str, dict[str, str]]:
    """Models that it does not know have no other tool for it than a shell."""
    return "exec_command", {"cmd": f"printf %s {shlex.quote(content)} > {shlex.quote(path)}"}


ACP = Real(
    name="codex",
    way="acp",
    program="node_modules/.bin/codex-acp",
    model="openai:scripted",
    key="OPENAI_API_KEY",
    path="/v1",
    write=_writes,
    shell=lambda command: ("exec_command", {"cmd": command, "yield_time_ms": 60_000}),
)
CLI = replace(ACP, way="cli", program="node_modules/.bin/codex")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("agent", [ACP, CLI], ids=str)
def test_of_the_real_program_it_holds_that(
    agent: Real, case: str, tmp_path: Path, home: Path, show_table: Callable[[str], None]
) -> None:
    if told := CASES[case](agent, tmp_path / "repo", home):
        show_table(f"{agent}: {told}")
