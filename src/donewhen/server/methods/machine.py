"""The methods about this machine and what a repository may do on it: agents, models, diagnosis, policy, trust."""

import os
from typing import TYPE_CHECKING, cast

from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.place import place

if TYPE_CHECKING:
    from donewhen.server.methods.machine_results import (
        AgentEntry,
        DoctorFinding,
        ModelEntry,
        PolicyRuling,
        TrustedFile,
    )


async def agents_list(context: CallContext) -> "list[AgentEntry]":
    """Return the known agents, and whether each can be used here. A key is never returned."""
    from donewhen.session.crew import agent_list

    return cast("list[AgentEntry]", await agent_list.agents_list(context.say))


def models_list() -> "list[ModelEntry]":
    """Return the known providers and whether their key or address is set. A key itself is never returned."""
    from donewhen.model.providers import PROVIDERS
    from donewhen.model.router import DEFAULTS

    found: list[ModelEntry] = []
    for name, provider in PROVIDERS.items():
        wanted = provider.key_variables if provider.needs_key else provider.url_variables
        there = [variable for variable in wanted if os.environ.get(variable, "").strip()]
        why = f"{there[0]} is set" if there else f"set {' or '.join(wanted)}"
        found.append({"provider": name, "ready": bool(there), "why": why, "model": DEFAULTS.get(name)})
    return found


async def doctor_run() -> "list[DoctorFinding]":
    """Return what this machine can and cannot do, the most important first."""
    from donewhen.session.verbs.doctor import diagnose

    return [
        {"name": one.name, "ok": one.ok, "found": one.found, "cost": one.cost, "fix": one.fix}
        for one in await diagnose()
    ]


async def policy_decide(command: str, repo: str = "") -> "PolicyRuling":
    """Return the decision of the policy on a command of an engine. Nothing is run."""
    from donewhen.session.verbs.policy import decide

    ruling = await decide(command, place(repo))
    return {
        "decision": ruling.decision.value,
        "rule": ruling.rule,
        "reason": ruling.reason,
        "command": ruling.command,
    }


def trust_accept(repo: str = "") -> "list[TrustedFile]":
    """Accept the widening keys of a repository's donewhen.toml and of its loops, as the files are now."""
    from donewhen.session.verbs.trust import accept

    return [
        {"file": str(one.file), "keys": [{"key": key, "value": value} for key, value in one.widened]}
        for one in accept(place(repo))
    ]
