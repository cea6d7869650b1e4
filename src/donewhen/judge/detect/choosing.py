"""Out of everything that was found: one way to do each thing, in the order in which it matters, each with a name."""

import re
from collections.abc import Iterable, Sequence

from donewhen.judge.contract import Check
from donewhen.judge.detect.proposal import KINDS, Found, Proposed

INDIRECT = ("make", "just", "composer")
"""Runners that only lead to others: left out where anything more direct was found."""


def choose(found: Iterable[Found], usual: bool = True) -> list[Found]:
    """Tests first, then types and lint, no two for the same thing; `usual` leaves builds out."""
    wanted = [one for one in found if not usual or one.kind != "build"]
    chosen: dict[tuple[str, str, str], Found] = {}
    for one in sorted(wanted, key=lambda one: KINDS.index(one.kind)):
        chosen.setdefault((one.kind, one.runner, one.dir), one)
    kept = list(chosen.values())
    return [one for one in kept if one.runner not in INDIRECT or not _is_done_directly(one, kept)]


def _is_done_directly(indirect: Found, among: Sequence[Found]) -> bool:
    return any(one.kind == indirect.kind and one.runner not in INDIRECT for one in among)


def as_checks(found: Sequence[Found]) -> tuple[Proposed, ...]:
    taken: set[str] = set()
    proposed: list[Proposed] = []
    for one in found:
        twin = any(other is not one and other.kind == one.kind and other.dir == one.dir for other in found)
        name = unused(_name(one, twin), taken)
        taken.add(name)
        check = Check(name=name, command=one.command, dir=one.dir, timeout_secs=one.timeout_secs)
        proposed.append(Proposed(check, _on_one_line(one.why), one.kind))
    return tuple(proposed)


def _on_one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


def _name(found: Found, twin: bool) -> str:
    """What it checks, with which tool where there are two, and where."""
    parts = [found.kind, *([found.runner] if twin else []), *([found.dir] if found.dir != "." else [])]
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(parts)).strip("-")[:64] or "check"


def unused(name: str, taken: Iterable[str]) -> str:
    """A name, or the same with a number, that nothing else has."""
    names = set(taken)
    number, candidate = 2, name
    while candidate in names:
        candidate = f"{name[:60]}-{number}"
        number += 1
    return candidate
