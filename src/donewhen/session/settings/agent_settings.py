"""Validation of `[agent.NAME]`: a pin for a known agent, or a command for one of the user's own.

`schema` checks the types; this module checks which keys must or must not be used together. Pure, except for the list of
known agents.
"""

import re
from collections.abc import Mapping

from donewhen.engines.external.discover.profile import shipped
from donewhen.printable import shortened

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
TASK = "{task}"


def problem(name: str, given: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the key that is wrong, empty for the table itself, and why; None if all is valid."""
    if not NAME.fullmatch(name):
        return "", "is no name for an agent; letters, digits, '_', '.' and '-' are, at most 64 of them"
    return _of_known(name, given) if name in shipped() else _of_own(given)


def _of_known(name: str, given: Mapping[str, object]) -> tuple[str, str] | None:
    if "command" in given:
        return "command", f"is not for {name}, which is known; pin its program by 'path', or choose another name"
    path = str(given.get("path", "/"))
    if not path.startswith("/"):
        return "path", f"must be an absolute path, not {shortened(path)!r}"
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
