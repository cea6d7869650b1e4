"""What the loops of a repository are and when they are due, as plain values for programs and for people."""

import datetime
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput
from donewhen.loops.spec_files import StatedLoop, loop_named, read_loops
from donewhen.session.settings.settings import repository_above
from donewhen.session.settings.trust import TrustBook
from donewhen.workspace.state_dir import state_root

SHOWN_OCCURRENCES = 3


def loop_list(start: Path) -> list[dict[str, Any]]:
    return [_row(loop) for loop in _loops(start)]


def loop_show(start: Path, name: str) -> dict[str, Any]:
    loop = loop_named(_loops(start), name)
    spec, moment, due = loop.spec, _now(), list[str]()
    for _ in range(SHOWN_OCCURRENCES):
        moment = spec.schedule.next_after(moment)
        due.append(_in_zone(loop, moment))
    keys = {key: value for key, value in asdict(spec).items() if key not in ("schedule", "action", "gate")}
    return {**keys, **_row(loop), "next": due}


def _loops(start: Path) -> tuple[StatedLoop, ...]:
    top = repository_above(Path(os.path.realpath(start)))
    if top is None:
        raise BadInput(f"{start} is not in a git repository")
    return read_loops(top, TrustBook(state_root(os.environ)))


def _row(loop: StatedLoop) -> dict[str, Any]:
    spec = loop.spec
    return {
        "name": spec.name,
        "intent": spec.intent,
        "level": spec.level.value,
        "schedule": spec.schedule.text,
        "words": spec.schedule.words,
        "timezone": str(spec.schedule.zone),
        "next_at": _in_zone(loop, spec.schedule.next_after(_now())),
        "action": str(spec.action),
        "gate": str(spec.gate),
        "file": str(loop.file),
        "trusted": loop.is_trusted,
        "widening": list(loop.widening),
    }


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _in_zone(loop: StatedLoop, moment: datetime.datetime) -> str:
    return moment.astimezone(loop.spec.schedule.zone).isoformat()
