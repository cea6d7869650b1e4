"""opencode, for real, against a scripted model."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from real_agents.cases import CASES
from real_agents.scenery import Real

ACP = Real(
    name="opencode",
    way="acp",
    program="node_modules/.bin/opencode",
    model="openai:scripted",
    key="OPENAI_API_KEY",
    path="/v1",
    write=lambda path, content: ("write", {"filePath": path, "content": content}),
    shell=lambda command: ("bash", {"command": command, "description": "as the script says", "timeout": 600_000}),
)
CLI = replace(ACP, way="cli")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("agent", [ACP, CLI], ids=str)
def test_of_the_real_program_it_holds_that(
    agent: Real, case: str, tmp_path: Path, home: Path, show_table: Callable[[str], None]
) -> None:
    if told := CASES[case](agent, tmp_path / "repo", home):
        show_table(f"{agent}: {told}")
