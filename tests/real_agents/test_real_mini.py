"""mini-SWE-agent, for real, against a scripted model. Its only tool is a shell, and its end is a command."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from real_agents.cases import CASES
from real_agents.scenery import Real
from wire_server import Answer, SaidCall, Says


def _writes(path: str, content: str) -> tuple[str, dict[str, str]]:
    return "bash", {"command": f"printf %s {shlex.quote(content)} > {shlex.quote(path)}"}


def _closing(text: str) -> Says:
    submit = {"command": f"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo {shlex.quote(text)}"}
    return Says(Answer(text=text, calls=(SaidCall("call_last", "bash", json.dumps(submit)),)))


CLI = Real(
    name="mini-swe-agent",
    way="cli",
    program="bin/mini",
    model="openai:scripted",
    key="OPENAI_API_KEY",
    path="/v1",
    write=_writes,
    shell=lambda command: ("bash", {"command": command}),
    closing=_closing,
)


@pytest.mark.parametrize("case", CASES)
def test_of_the_real_program_it_holds_that(
    case: str, tmp_path: Path, home: Path, show_table: Callable[[str], None]
) -> None:
    if told := CASES[case](CLI, tmp_path / "repo", home):
        show_table(f"{CLI}: {told}")
