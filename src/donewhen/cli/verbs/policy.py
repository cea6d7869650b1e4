"""The verb `donewhen policy COMMAND`: the decision of the policy on a command, and its rule. Nothing is run.

This module contains no rules: `workspace.policy` decides, called in the same way as by an engine. The parser is loaded
only when the verb is called.
"""

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from donewhen.cli.group import one_line
from donewhen.errors import BadInput
from donewhen.session.settings import settings

if TYPE_CHECKING:
    from donewhen.workspace.policy import Policy, Ruling

EXIT_CODES = {"allow": 0, "deny": 1, "ask": 3}


@click.command("policy", context_settings={"allow_interspersed_args": False})
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a line.")
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
def command(as_json: bool, words: tuple[str, ...]) -> int:
    """Say whether an engine may run COMMAND: allow, ask or deny, the rule and its reason. Runs nothing.

    Exit 0 for allow, 1 for deny, 3 for ask. This is early feedback; what confines a command is the sandbox.
    COMMAND is one argument, as a shell would get it, or several words.
    """
    text = words[0] if len(words) == 1 else shlex.join(words)
    if not text.strip():
        raise BadInput("policy: the command is empty")
    import anyio

    from donewhen.workspace.policy import Policy

    here = Path.cwd()
    root = tree_root(here)
    found = settings.load(here, root, os.environ, trust=None)  # rules can only restrict, so they need no trust
    deny, ask = found.texts("policy", "deny"), found.texts("policy", "ask")
    try:
        policy = Policy.load(deny, ask, root=str(root))
    except BadInput as error:
        key = str(error).partition("[")[0].removeprefix("policy.")
        raise BadInput(f"{found.get('policy', key).source}: {error}") from error
    ruling = anyio.run(_ruling, policy, text)
    answer = {
        "decision": ruling.decision.value,
        "rule": ruling.rule,
        "reason": ruling.reason,
        "command": ruling.command,
    }
    if as_json:
        click.echo(json.dumps(answer))
    else:
        click.echo(one_line(f"{answer['decision']}  {ruling.rule}  {ruling.reason}: {ruling.command}"))
    return EXIT_CODES[answer["decision"]]


async def _ruling(policy: "Policy", text: str) -> "Ruling":
    from donewhen.workspace.policy_process.client import consult
    from donewhen.workspace.process.launch import Launcher

    async with Launcher.open() as launcher:
        return await consult(launcher, policy, text)


def tree_root(start: Path) -> Path:
    """Return the root of the repository that contains `start`, or `start` itself outside of a repository."""
    return next((place for place in (start, *start.parents) if (place / ".git").exists()), start)
