"""The verb `policy`: the decision of the policy on a command, as an engine would get it. Nothing is run."""

import os
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.session.settings import settings
from donewhen.workspace.policy import Policy, Ruling
from donewhen.workspace.policy_process.client import consult
from donewhen.workspace.process.launch import Launcher


async def decide(command: str, start: Path) -> Ruling:
    """Return the decision on a command in a directory, by the rules of its repository and of the user."""
    if not command.strip():
        raise BadInput("policy: the command is empty")
    root = settings.repository_above(start) or start
    found = settings.load(start, root, os.environ, trust=None)  # rules can only restrict, so they need no trust
    deny, ask = found.texts("policy", "deny"), found.texts("policy", "ask")
    try:
        policy = Policy.load(deny, ask, root=str(root))
    except BadInput as error:
        key = str(error).partition("[")[0].removeprefix("policy.")
        raise BadInput(f"{found.get('policy', key).source}: {error}") from error
    async with Launcher.open() as launcher:
        return await consult(launcher, policy, command)
