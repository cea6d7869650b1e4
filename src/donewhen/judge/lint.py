"""What is odd about a contract: checks that can hardly fail, or cannot finish. Warnings only; nothing is refused here.

A person may have reasons. What no contract may say at all is refused by `contract.require_sound`.
"""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from donewhen.judge.contract import Check, Contract

NOTHING = frozenset({"true", ":", "echo", "printf", "exit", "pwd", "ls", "date", "sleep", "whoami", "hostname", "cat"})
"""Programs that succeed whatever was made."""
VERSION = frozenset({"--version", "-V", "version", "-version"})
LONGEST_SECS = 24 * 3600
SHORTEST_SECS = 1
_SWALLOWED = re.compile(r"\|\|\s*(true|:|exit\s+0|echo\b[^|;&]*|/bin/true)\s*$")
_PROMISED = re.compile(r"\b(prints?|outputs?|shows?|says?|reports?)\b", re.IGNORECASE)


class Oddity(NamedTuple):
    """One thing that a person should look at."""

    check: int
    """The number of the check in the contract, or -1 for the contract itself."""
    key: str
    message: str


def oddities(contract: Contract) -> list[Oddity]:
    found = [
        Oddity(number, key, f"check '{check.name}': {message}")
        for number, check in enumerate(contract.checks)
        for key, message in _of_check(check)
    ]
    if contract.checks and all(check.held_out for check in contract.checks):
        found.append(Oddity(-1, "check", "every check is held out: an engine would be shown nothing to work towards"))
    if _PROMISED.search(contract.description) and not any(check.output_contains for check in contract.checks):
        found.append(Oddity(-1, "description", "output is promised, but no check has output_contains"))
    return found


def _of_check(check: Check) -> Iterator[tuple[str, str]]:
    command = check.command.strip()
    if _SWALLOWED.search(command):
        yield "command", "its end swallows the failure, so it cannot fail"
    elif command.endswith("&") and not command.endswith("&&"):
        yield "command", "it runs in the background, so nothing waits for its result"
    elif re.search(r"(^|[^|])\|($|[^|])", command) and "pipefail" not in command:
        yield "command", "only the last program of a pipe decides; /bin/sh has no pipefail"
    elif re.search(r";\s*(true|:|exit\s+0)\s*$", command):
        yield "command", "its last command always succeeds"
    yield from _asserts_nothing(check)
    if check.timeout_secs > LONGEST_SECS:
        yield "timeout_secs", f"{check.timeout_secs:g} s is more than a day; nobody will wait for it"
    elif check.timeout_secs < SHORTEST_SECS:
        yield "timeout_secs", f"{check.timeout_secs:g} s is less than most programs need to start"


def _asserts_nothing(check: Check) -> Iterator[tuple[str, str]]:
    if check.output_contains:
        return
    words = _words(check.command)
    if not words:
        return
    if words[0].rpartition("/")[2] in NOTHING and not set(check.command) & set("|;&"):
        yield "command", f"'{words[0]}' asserts nothing about the work"
    elif len(words) == 2 and words[1] in VERSION:
        yield "command", "it prints a version, which says nothing about the work"


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
