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


def named(contract: Contract, path: str) -> list[str]:
    """Return the tools in the commands of a contract that are on PATH. Nothing that the repository brings counts."""
    words = {word for check in contract.checks for word in re.findall(r"[\w.+-]+", check.command)}
    return sorted(w for w in words if w in tool_identity.TOOLS and w not in NO_VERSION and shutil.which(w, path=path))


async def versions(place: Workplace, contract: Contract, around: JudgeEnvironment) -> dict[str, str]:
    """Return, by tool, the first line that it prints about its version inside the sandbox."""
    asked = _ask(named(contract, around.path), around.path)
    if not asked:
        return {}
    from donewhen.workspace.sandbox.sandbox import ShellCommand  # loaded on use: for tools not queried before

    async with place.tree("throwaway", place.repo.head) as tree:
        finished = await place.room(tree).run(ShellCommand(text=asked, timeout_secs=SECS))
    return _told(finished.stdout.whole())


async def mismatch(place: Workplace, contract: Contract, around: JudgeEnvironment) -> str:
    """Return in one line how a tool differs inside from outside; empty if all are the same."""
    if not around.tools:
        return ""
    names = named(contract, around.path)
    known = place.trees.directory / "tools" / tool_identity.key(around.tools, names)
    if known.is_file():
        return known.read_text()
    inside, outside = await versions(place, contract, around), await _outside(place, names, around.path)
    differing = [name for name in names if inside.get(name) != outside.get(name)]
    said = ""
    if differing:
        name = differing[0]
        said = f"{name} is '{inside.get(name, 'missing')}' in the sandbox and '{outside.get(name, 'missing')}' outside"
    known.parent.mkdir(exist_ok=True, mode=0o700)
    write_atomically(known, said)
    return said


async def _outside(place: Workplace, names: list[str], path: str) -> dict[str, str]:
    # In the root directory: in the repository, its files could choose what is started.
    argv = ["/bin/sh", "-c", _ask(names, path) or ":"]
    # Only the variables that commands inside get as well: a variable of this one call must not look like a property of
    # the tools.
    env = {**env_vars.command_environment(os.environ, ()), "PATH": path}
    command = Command(argv=argv, cwd="/", env=env, timeout_secs=SECS, merge_stderr=True)
    return _told((await place.launcher.run(command)).stdout.whole())


def _ask(names: list[str], path: str) -> str:
    asks = [f"{name} {OPTIONS.get(name, '--version')} 2>&1 </dev/null | head -n 1; echo" for name in names]
    lines = [f"printf '%s\\t' {name}; {ask}" for name, ask in zip(names, asks, strict=True)]
    return "; ".join([f"cd /; PATH={shlex.quote(path)}", *lines]) if lines else ""


def _told(output: bytes) -> dict[str, str]:
    lines = (line.partition("\t") for line in output.decode("utf-8", "replace").splitlines() if "\t" in line)
    return {name: said.strip()[:LONGEST] for name, _, said in lines}
