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
        return "", "is not a valid agent name: use at most 64 letters, digits, '_', '.' or '-'"
    return _of_known(name, given) if name in shipped() else _of_own(given)


def _of_known(name: str, given: Mapping[str, object]) -> tuple[str, str] | None:
    if "command" in given:
        return "command", (
            f"cannot be set for {name}, which has a profile; set 'path' for its program, or choose another name"
        )
    path = str(given.get("path", "/"))
    if not path.startswith("/"):
        return "path", f"must be an absolute path, not {shortened(path)!r}"
    interfaces = shipped()[name].interfaces
    if given.get("way", next(iter(interfaces))) not in interfaces:
        return "way", f"is not an interface of {name}, which has {' and '.join(interfaces)}"
    return None


def _of_own(given: Mapping[str, object]) -> tuple[str, str] | None:
    if "command" not in given:
        return "command", f"is missing; agents that need none: {', '.join(shipped())}"
    if TASK not in str(given["command"]):
        return "command", f"must contain {TASK}, the place for the task"
    for key in ("path", "way"):
        if key in given:
            return key, "is only for agents with a profile; this one has a command"
    return None
