"""Agents of other vendors, for real, against a scripted model: what holds for each with each interface."""

from collections.abc import Callable
from pathlib import Path

import pytest

from real_agents.cases import CASES
from real_agents.roster import ROSTER
from real_agents.scenery import Real


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("agent", ROSTER, ids=str)
def test_the_real_program_fulfils(
    agent: Real, case: str, tmp_path: Path, home: Path, show_table: Callable[[str], None]
) -> None:
    if told := CASES[case](agent, tmp_path / "repo", home):
        show_table(f"{agent}: {told}")
