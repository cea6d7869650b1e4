"""Versions of the tools that checks name, as reported inside and outside of the sandbox.

A sandbox that hides too much can turn one toolchain into another without an error. The checks would then judge with
tools that the person does not have. So the versions are compared once for each state of the installed tools.
"""

import os
import re
import shlex
import shutil

from donewhen.judge import tool_identity
from donewhen.judge.contract import Contract
from donewhen.judge.judge_host import JudgeEnvironment
from donewhen.session.workplace import Workplace
from donewhen.workspace.files import write_atomically
from donewhen.workspace.process.command import Command
from donewhen.workspace.sandbox import env_vars

SECS = 20
LONGEST = 200
OPTIONS = {"go": "version", "java": "-version"}
NO_VERSION = ("sh", "docker")


def tools_in(contract: Contract, path: str) -> list[str]:
    """Return the tools in the commands of a contract that are on PATH. Nothing that the repository brings counts."""
    words = {word for check in contract.checks for word in re.findall(r"[\w.+-]+", check.command)}
    return sorted(w for w in words if w in tool_identity.TOOLS and w not in NO_VERSION and shutil.which(w, path=path))


async def versions(workplace: Workplace, contract: Contract, environment: JudgeEnvironment) -> dict[str, str]:
    """Return, by tool, the first line that it prints about its version inside the sandbox."""
    commands = _version_commands(tools_in(contract, environment.path), environment.path)
    if not commands:
        return {}
    from donewhen.workspace.sandbox.sandbox import ShellCommand  # loaded on use: for tools not queried before

    async with workplace.tree("throwaway", workplace.repo.head, hidden=frozenset()) as tree:
        finished = await workplace.sandbox(tree).run(ShellCommand(text=commands, timeout_secs=SECS))
    return _versions_in(finished.stdout.whole())


async def mismatch(workplace: Workplace, contract: Contract, environment: JudgeEnvironment) -> str:
    """Return in one line how a tool differs inside from outside; empty if all are the same."""
    if not environment.tools:
        return ""
    names = tools_in(contract, environment.path)
    known = workplace.trees.directory / "tools" / tool_identity.key(environment.tools, names)
    if known.is_file():
        return known.read_text()
    inside = await versions(workplace, contract, environment)
    outside = await _versions_outside(workplace, names, environment.path)
    differing = [name for name in names if inside.get(name) != outside.get(name)]
    difference = ""
    if differing:
        name = differing[0]
        difference = (
            f"{name} is '{inside.get(name, 'missing')}' in the sandbox and '{outside.get(name, 'missing')}' outside"
        )
    known.parent.mkdir(exist_ok=True, mode=0o700)
    write_atomically(known, difference)
    return difference


async def _versions_outside(workplace: Workplace, names: list[str], path: str) -> dict[str, str]:
    # In the root directory: in the repository, its files could choose what is started.
    argv = ["/bin/sh", "-c", _version_commands(names, path) or ":"]
    # Only the variables that commands inside get as well: a variable of this one call must not look like a property of
    # the tools.
    env = {**env_vars.command_environment(os.environ, ()), "PATH": path}
    command = Command(argv=argv, cwd="/", env=env, timeout_secs=SECS, merge_stderr=True)
    return _versions_in((await workplace.launcher.run(command)).stdout.whole())


def _version_commands(names: list[str], path: str) -> str:
    asks = [f"{name} {OPTIONS.get(name, '--version')} 2>&1 </dev/null | head -n 1; echo" for name in names]
    lines = [f"printf '%s\\t' {name}; {ask}" for name, ask in zip(names, asks, strict=True)]
    return "; ".join([f"cd /; PATH={shlex.quote(path)}", *lines]) if lines else ""


def _versions_in(output: bytes) -> dict[str, str]:
    lines = (line.partition("\t") for line in output.decode("utf-8", "replace").splitlines() if "\t" in line)
    return {name: version.strip()[:LONGEST] for name, _, version in lines}
