"""Checks that a model drafted, read like donewhen.toml but more strictly: odd checks are refused.

A person may have reasons for a check that can hardly fail. A model that grades its own work may not use one. Nothing
is run here.
"""

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

from donewhen.errors import BadInput
from donewhen.judge.contract import Check, Contract, require_sound
from donewhen.judge.contract_lint import warnings_about
from donewhen.records import frozen
from donewhen.session.settings.schema import CHECK

COVERS = "covers"
"""Key of a draft that names the items which a check proves. A contract does not have it."""
NOT_A_MODELS = ("quarantine", "allow_skips", "held_out", "min_tests")
"""Keys that weaken or hide a check. Only a person may set them."""
PLACEHOLDERS = frozenset({"short-name", "placeholder"})
_UNFINISHED = re.compile(r"…|^(COMMAND|command|TODO)$")
LONGEST_SECS = 3600


@frozen
class DraftedContract:
    """The usable checks of a draft, and what is wrong with the rest."""

    checks: tuple[Check, ...]
    entries: tuple[Mapping[str, Any], ...]
    """The same checks as they were drafted."""
    issues: tuple[str, ...]

    def without(self, commands: Container[str]) -> "DraftedContract":
        """Return the draft without the checks that have these commands."""
        kept = [pair for pair in zip(self.checks, self.entries, strict=True) if pair[0].command not in commands]
        return DraftedContract(tuple(check for check, _ in kept), tuple(entry for _, entry in kept), self.issues)


def read_drafts(entries: Sequence[Mapping[str, Any]]) -> DraftedContract:
    """Read each check separately, so that a bad one does not hide what is wrong with the others."""
    kept: list[tuple[Check, Mapping[str, Any]]] = []
    issues: list[str] = []
    for number, entry in enumerate(entries):
        try:
            check = _check(entry)
            require_sound([*(one for one, _ in kept), check])
        except BadInput as error:
            issues.append(re.sub(r"check\[\d+\]", f"checks[{number}]", str(error)))
            continue
        if odd := _odd(check):
            issues += [f"checks[{number}]: {one}" for one in odd]
        else:
            kept.append((check, entry))
    return DraftedContract(tuple(check for check, _ in kept), tuple(entry for _, entry in kept), tuple(issues))


def _check(entry: Mapping[str, Any]) -> Check:
    known: dict[str, Any] = {}
    for key, value in entry.items():
        if key == COVERS:
            continue
        if key in NOT_A_MODELS:
            raise BadInput(f"'check[0].{key}' is for a person to decide; leave it out")
        if key not in CHECK:
            raise BadInput(f"unknown key 'check[0].{key}'; known keys: {', '.join(CHECK)}")
        if not CHECK[key].fits(value):
            raise BadInput(f"'check[0].{key}' must be {CHECK[key].kind}")
        known[key] = value.strip() if key in ("name", "command") else value
    if not known.get("name") or not known.get("command"):
        raise BadInput("'check[0]' needs a name and a command")
    if known.get("timeout_secs", 1) > LONGEST_SECS:
        raise BadInput(f"'check[0].timeout_secs' is more than {LONGEST_SECS}")
    return Check(**known)


def _odd(check: Check) -> list[str]:
    found = [one.message for one in warnings_about(Contract(checks=(check,))) if one.check >= 0]
    if check.name.lower() in PLACEHOLDERS:
        found.append(f"'{check.name}' is a placeholder, not a name")
    if _UNFINISHED.search(check.command):
        found.append(f"check '{check.name}': the command is a placeholder")
    return found
