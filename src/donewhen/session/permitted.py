"""Commands that a model wants the runtime to run as checks: the policy holds for them as for those that it runs itself.

What the repository or a person already has as a check is theirs and not asked about. Nothing is run here.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from donewhen.engines.permission import refusal
from donewhen.session.workplace import Workplace

if TYPE_CHECKING:
    from donewhen.workspace.policy import Policy


async def refused(place: Workplace, commands: Iterable[str]) -> dict[str, str]:
    """Those that must not run, each with the reason; nobody is asked."""
    policy, found = _policy(place), dict[str, str]()
    for command in dict.fromkeys(commands):
        denied = await refusal(place.launcher, policy, command, None, "")
        if denied is not None:
            found[command] = denied.why
    return found


def _policy(place: Workplace) -> "Policy":
    from donewhen.workspace.policy import Policy

    deny, ask = place.settings.texts("policy", "deny"), place.settings.texts("policy", "ask")
    return Policy.load(deny=deny, ask=ask, root=str(place.repo.root))
