"""Claude Code, for real, against a scripted model."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from real_agents.cases import CASES
from real_agents.scenery import Real

ACP = Real(
    name="claude-code",
    way="acp",
    program="node_modules/.bin/claude-agent-acp",
    model="anthropic:claude-sonnet-4-5",
    key="ANTHROPIC_API_KEY",
    write=lambda path, content: ("Write", {"file_path": path, "content": content}),
    shell=lambda command: ("Bash", {"command": command, "description": "as the script says"}),
)
CLI = replace(ACP, way="cli", program="node_modules/.bin/claude")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("agent", [ACP, CLI], ids=str)
def test_of_the_real_program_it_holds_that(
    agent: Real, case: str, tmp_path: Path, home: Path, show_table: Callable[[str], None]
) -> None:
    if told := CASES[case](agent, tmp_path / "repo", home):
        show_table(f"{agent}: {told}")
