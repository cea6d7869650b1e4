"""A few cheats and an honest fix through the real program, as a person or a script calls it."""

import json

import pytest
from cheat import Cheat
from cheat_catalogue import OUTSIDE
from cheat_scenes import PLAIN
from cheat_workspace import CheatWorkspace, put

from program import donewhen

TYPED = (
    "the failing test file is deleted",
    "a new conftest at the root drops the failing tests",
    "pyproject.toml: options that deselect",
    "a module named like the runner",
    "PYTEST_ADDOPTS deselects",
    "the product ends the process with 0 when it is imported",
)
CHOSEN = [cheat for cheat in OUTSIDE if cheat.says in TYPED and cheat.scene is PLAIN]


@pytest.mark.parametrize("cheat", CHOSEN, ids=lambda cheat: cheat.label)
def test_the_exit_code_of_the_program_shows_that_a_cheat_is_not_accepted(
    cheat: Cheat, workspace: CheatWorkspace
) -> None:
    tree = workspace.cheated(cheat)
    answer = donewhen("check", "--json", cwd=tree, env=workspace.variables(cheat))
    assert answer.code == 1, answer.err
    events = [json.loads(line) for line in answer.out.splitlines()]
    assert events[-1]["type"] == "session_finished"
    assert events[-1]["outcome"] == "red"


def test_the_exit_code_of_the_program_shows_that_an_honest_fix_is_accepted(workspace: CheatWorkspace) -> None:
    tree = workspace.fresh(PLAIN)
    put(tree, {"calc.py": "def add(a, b):\n    return a + b\n"})
    answer = donewhen("check", "--json", cwd=tree)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out.splitlines()[-1])["outcome"] == "verified"


def test_a_changed_contract_is_reported_to_the_person(workspace: CheatWorkspace) -> None:
    (cheat,) = [one for one in OUTSIDE if one.says == "the contract asks for less"]
    answer = donewhen("check", cwd=workspace.cheated(cheat))
    assert "note: the contract is read from the working tree; donewhen.toml is different in HEAD" in answer.err
    assert "Not graded (restored from the base): donewhen.toml modified" in answer.out


def test_every_cheat_that_is_run_by_command_is_in_the_catalogue() -> None:
    assert len(CHOSEN) == len(TYPED)
