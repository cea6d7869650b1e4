"""Warnings about a contract: checks that can hardly fail, or cannot finish. Nothing is rejected here.

A person may have reasons for such a check. `contract.require_sound` rejects invalid contracts.
"""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from donewhen.judge.contract import Check, Contract
from donewhen.short_lines import LONGEST_LINE

PROVES_NOTHING = frozenset(
    ["true", ":", "echo", "printf", "exit", "pwd", "ls", "date", "sleep", "whoami", "hostname", "cat"]
)
"""Programs that succeed whatever the work is."""
VERSION = frozenset({"--version", "-V", "version", "-version"})
LONGEST_SECS = 24 * 3600
SHORTEST_SECS = 1
_HIDES_FAILURE = re.compile(r"\|\|\s*(?:(?:true|:|exit\s+0|/bin/true)\s*|echo\b[^|;&]*)$")
_PROMISES_OUTPUT = re.compile(r"\b(prints?|outputs?|shows?|says?|reports?)\b", re.IGNORECASE)


class ContractWarning(NamedTuple):
    """One warning for a person."""

    check: int
    """The index of the check in the contract, or -1 for the contract itself."""
    key: str
    message: str


def warnings_about(contract: Contract) -> list[ContractWarning]:
    found = [
        ContractWarning(number, key, f"check '{check.name}': {message}")
        for number, check in enumerate(contract.checks)
        for key, message in _check_warnings(check)
    ]
    if contract.checks and all(check.held_out for check in contract.checks):
        found.append(ContractWarning(-1, "check", "every check is held out: the engine would see no checks"))
    if _PROMISES_OUTPUT.search(contract.description) and not any(check.output_contains for check in contract.checks):
        message = "the description promises output, but no check has output_contains"
        found.append(ContractWarning(-1, "description", message))
    return found


def _check_warnings(check: Check) -> Iterator[tuple[str, str]]:
    command = check.command.strip()
    if _HIDES_FAILURE.search(command):
        yield "command", "its end hides the failure, so it cannot fail"
    elif command.endswith("&") and not command.endswith("&&"):
        yield "command", "it runs in the background, so its result is ignored"
    elif re.search(r"(^|[^|])\|($|[^|])", command) and "pipefail" not in command:
        yield "command", "only the last program of a pipe decides; /bin/sh has no pipefail"
    elif re.search(r";\s*(true|:|exit\s+0)\s*$", command):
        yield "command", "its last command always succeeds"
    yield from _proves_nothing(check)
    if check.timeout_secs > LONGEST_SECS:
        yield "timeout_secs", f"a timeout of {check.timeout_secs:g} s is more than a day"
    elif check.timeout_secs < SHORTEST_SECS:
        yield "timeout_secs", f"a timeout of {check.timeout_secs:g} s is less than most programs need to start"


def _proves_nothing(check: Check) -> Iterator[tuple[str, str]]:
    if check.output_contains:
        return
    words = _words(check.command)
    if not words:
        return
    if words[0].rpartition("/")[2] in PROVES_NOTHING and not set(check.command) & set("|;&"):
        yield "command", f"'{words[0]}' proves nothing about the work"
    elif len(words) == 2 and words[1] in VERSION:
        yield "command", "it prints a version, which proves nothing about the work"


def _words(command: str) -> list[str]:
    if len(command) > LONGEST_LINE:  # shlex takes quadratic time for a long word
        return command.split()
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
