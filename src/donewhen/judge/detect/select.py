"""Selects one check for each purpose from everything that was found, in order of importance, and names them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from donewhen.judge.contract import Check
from donewhen.judge.detect.proposal import KINDS, FoundCheck, Proposed

INDIRECT = ("make", "just", "composer")
"""Runners that only call others. They are dropped if a more direct check was found."""


def choose(found: Iterable[FoundCheck], usual: bool = True) -> list[FoundCheck]:
    """Return tests first, then types and lint, without duplicates. `usual` excludes builds."""
    wanted = [one for one in found if not usual or one.kind != "build"]
    chosen: dict[tuple[str, str, str], FoundCheck] = {}
    for one in sorted(wanted, key=lambda one: KINDS.index(one.kind)):
        chosen.setdefault((one.kind, one.runner, one.dir), one)
    kept = list(chosen.values())
    dropped = [one for one in kept if one.runner in INDIRECT and _is_done_directly(one, kept)]
    return [_with_others(one, dropped) for one in kept if one not in dropped]


def _with_others(found: FoundCheck, dropped: Sequence[FoundCheck]) -> FoundCheck:
    """Return a check with the indirect commands for the same purpose, for a machine on which it cannot start."""
    others = [one.command for one in dropped if (one.kind, one.dir) == (found.kind, found.dir)]
    return replace(found, otherwise=(*found.otherwise, *others)) if others else found


def _is_done_directly(indirect: FoundCheck, among: Sequence[FoundCheck]) -> bool:
    return any(one.kind == indirect.kind and one.runner not in INDIRECT for one in among)


def as_checks(found: Sequence[FoundCheck]) -> tuple[Proposed, ...]:
    """Name the checks: what is checked, the tool if there are two for it, and the directory."""
    used: set[str] = set()
    proposed: list[Proposed] = []
    for one in found:
        twin = any(other is not one and other.kind == one.kind and other.dir == one.dir for other in found)
        parts = [one.kind, *([one.runner] if twin else []), *([one.dir] if one.dir != "." else [])]
        name = unused(re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(parts)).strip("-")[:64] or "check", used)
        used.add(name)
        check = Check(name=name, command=one.command, dir=one.dir, timeout_secs=one.timeout_secs)
        why = "".join(sign if sign.isprintable() else " " for sign in one.why)
        proposed.append(Proposed(check, why, one.kind, one.otherwise, one.only_if_clean))
    return tuple(proposed)


def unused(name: str, used: Iterable[str]) -> str:
    """Return the name, with a number if it is already used."""
    names = set(used)
    number, candidate = 2, name
    while candidate in names:
        candidate = f"{name[:60]}-{number}"
        number += 1
    return candidate
