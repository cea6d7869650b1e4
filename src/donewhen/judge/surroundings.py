"""The variables and mounts that commands get besides their tree: those of a check and those of an engine alike.

Product code runs in both. If they differed, it could tell that it is judged, and answer differently then.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from donewhen.judge import runners
from donewhen.judge.contract import Check
from donewhen.judge.judge_host import JudgeEnvironment
from donewhen.workspace.beneath import Root
from donewhen.workspace.sandbox.sandbox import SandboxTree
from donewhen.workspace.sandbox.view import Bind

REPORTS_INSIDE = "/tmp/reports"
PYTHON = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
"""With these, no honest run leaves bytecode in the tree.

(A separate bytecode directory would also work, but Python would compile its whole library in every run.)
"""
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
"""Some runners need it. All commands get it, so that it tells nothing."""


def engine_tree(
    tree: SandboxTree, reports: Path, checks: Iterable[Check], base_files: Root, environment: JudgeEnvironment
) -> SandboxTree:
    """Return a tree with the surroundings that the visible checks of a contract have."""
    variables: dict[str, str] = {}
    for check in checks:
        if not check.held_out:
            command = runners.instrument_command(check.command, base_files.below(check.dir), REPORTS_INSIDE)
            variables.update(command.variables)
    mount = Bind(str(reports), REPORTS_INSIDE, writable=True)
    ours = {**PYTHON, "PATH": environment.path}
    return with_surroundings(tree, {**ours, **report_variables(variables, environment)}, (mount,))


def report_variables(variables: Mapping[str, str], environment: JudgeEnvironment) -> dict[str, str]:
    """Return variables for runners. Where the user passes the same variable, our value follows the user's value."""
    passed = environment.passed
    return {name: f"{passed[name]} {value}" if name in passed else value for name, value in variables.items()}


def with_surroundings(tree: SandboxTree, variables: Mapping[str, str], mounts: tuple[Bind, ...]) -> SandboxTree:
    return replace(tree, layers=(*tree.layers, *mounts), variables={**tree.variables, **UNBUFFERED, **variables})
