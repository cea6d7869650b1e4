"""Selects one check for each purpose from everything that was found, in order of importance, and names them."""

import re
from collections.abc import Iterable, Sequence

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
    return [one for one in kept if one.runner not in INDIRECT or not _is_done_directly(one, kept)]


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
        proposed.append(Proposed(check, why, one.kind))
    return tuple(proposed)


def unused(name: str, used: Iterable[str]) -> str:
    """Return the name, with a number if it is already used."""
    names = set(used)
    number, candidate = 2, name
    while candidate in names:
        candidate = f"{name[:60]}-{number}"
        number += 1
    return candidate
