"""Policy of a session, and which commands of a model may not run as checks.

Commands that the repository or a person already has as checks are theirs and are not examined. Nothing is run here.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from donewhen.engines.permission import refusal
from donewhen.session.settings.settings import Settings
from donewhen.session.workplace import Workplace

if TYPE_CHECKING:
    from donewhen.workspace.policy import Policy


async def refused_commands(workplace: Workplace, commands: Iterable[str]) -> dict[str, str]:
    """Return the commands that must not run, each with the reason. No person is asked."""
    policy, found = policy_of(workplace, workplace.settings), dict[str, str]()
    for command in dict.fromkeys(commands):
        denied = await refusal(workplace.launcher, policy, command, None, "")
        if denied is not None:
            found[command] = denied.why
    return found


def policy_of(workplace: Workplace, settings: Settings) -> "Policy":
    """Return the policy for engines: the built-in rules, and those that narrow them."""
    from donewhen.workspace.policy import Policy

    deny, ask = settings.texts("policy", "deny"), settings.texts("policy", "ask")
    return Policy.load(deny=deny, ask=ask, root=str(workplace.repo.root))
