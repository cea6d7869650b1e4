"""pi, for real, against a scripted model."""

from collections.abc import Callable
from pathlib import Path

import pytest

from real_agents.cases import CASES
from real_agents.scenery import Real

CLI = Real(
    name="pi",
    way="cli",
    program="node_modules/.bin/pi",
    model="anthropic:claude-sonnet-4-5",
    key="ANTHROPIC_API_KEY",
    write=lambda path, content: ("write", {"path": path, "content": content}),
    shell=lambda command: ("bash", {"command": command}),
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("agent", [CLI], ids=str)
def test_of_the_real_program_it_holds_that(
    agent: Real, case: str, tmp_path: Path, home: Path, show_table: Callable[[str], None]
) -> None:
    if told := CASES[case](agent, tmp_path / "repo", home):
        show_table(f"{agent}: {told}")
