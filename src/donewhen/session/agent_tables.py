"""What `[agent.NAME]` may say: a pin for an agent that is known, or a command for one of the user's own.

Types are checked by `schema`; this is about keys that must or must not stand together. Pure, but for the list of agents
that are known.
"""

import re
from collections.abc import Mapping

from donewhen.engines.external.profile import shipped

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
TASK = "{task}"


def problem(name: str, given: Mapping[str, object]) -> tuple[str, str] | None:
    """The key that is wrong, empty for the table itself, and why; None when all is well."""
    if not NAME.fullmatch(name):
        return "", "is no name for an agent; letters, digits, '_', '.' and '-' are, at most 64 of them"
    return _of_known(name, given) if name in shipped() else _of_own(given)


def _of_known(name: str, given: Mapping[str, object]) -> tuple[str, str] | None:
    if "command" in given:
        return "command", f"is not for {name}, which is known; pin its program by 'path', or choose another name"
    path = str(given.get("path", "/"))
    if not path.startswith("/"):
        return "path", f"must be an absolute path, not {path!r}"
    ways = shipped()[name].ways
    if given.get("way", next(iter(ways))) not in ways:
        return "way", f"is not one of {name}'s, which has {' and '.join(ways)}"
    return None


def _of_own(given: Mapping[str, object]) -> tuple[str, str] | None:
    if "command" not in given:
        return "command", f"is missing; known without one are {', '.join(shipped())}"
    if TASK not in str(given["command"]):
        return "command", f"must hold {TASK}, where the task is put"
    for key in ("path", "way"):
        if key in given:
            return key, "is for agents that are known; this one has a command"
    return None
