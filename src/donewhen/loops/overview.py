"""What the loops of a repository are, when they are due and how they went, as plain values for programs and people."""

import datetime
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from donewhen.errors import BadInput
from donewhen.loops.autonomy import PROMOTED_AFTER, evidence, in_force, may_be_promoted
from donewhen.loops.loop_records import LoopState, Occurrence, OccurrenceStatus, repo_key
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.notes import NOTEBOOK, LoopProposal
from donewhen.loops.spec import spec_of
from donewhen.loops.spec_files import StatedLoop, loop_named, usable_loops
from donewhen.session.log.state import replay_log
from donewhen.session.settings import settings
from donewhen.session.settings.settings import repository_above
from donewhen.session.settings.trust import TrustBook
from donewhen.storage.archive import Archive
from donewhen.workspace.state_dir import state_root

SHOWN_OCCURRENCES = 3
STRIP = 10
"""How many outcomes the list shows."""


def repository(start: Path) -> Path:
    top = repository_above(Path(os.path.realpath(start)))
    if top is None:
        raise BadInput(f"{start} is not in a git repository")
    return top


def loop_at(start: Path, name: str) -> StatedLoop:
    """Return a loop of a repository by its name. An invalid file of another loop does not keep it from being paused."""
    loops, errors = usable_loops(repository(start), TrustBook(state_root(os.environ)))
    if errors and name not in {loop.spec.name for loop in loops}:
        raise errors[0]
    return loop_named(loops, name)


def loop_of_caller(start: Path, table: Mapping[str, Any]) -> StatedLoop:
    """Return a loop that a caller states, with the keys of a loop in a file. A caller who may do that accepts it.

    Raise BadInput if it is not sound, or if the repository has a loop of that name: their rounds would be mixed up.
    """
    top, source = repository(start), Path("the stated loop")
    settings.check_loop(source, dict(table))
    try:
        spec = spec_of(table, "")
    except BadInput as error:
        raise BadInput(f"{source}: {error}") from error
    for known in usable_loops(top, TrustBook(state_root(os.environ)))[0]:
        if known.spec.name == spec.name:
            raise BadInput(f"{source}: the name '{spec.name}' is that of a loop in {known.file}")
    return StatedLoop(spec, source, (), True, top, table)


def proposal_of(archive: Archive, prefix: str) -> dict[str, Any]:
    """Return what the round of a loop proposes, as a gate sees it, and why a person has to decide."""
    session = archive.find(prefix)
    notes = replay_log(archive.records(session)).notes.get(NOTEBOOK, ())
    found = LoopProposal.all_in(notes)
    if not found or not found[-1].shown:
        raise BadInput(f"session {session} proposes nothing: it is no round of a loop, or it has not come to that")
    return {**found[-1].shown, "reason": found[-1].reason}


def loop_list(start: Path, store: LoopStore) -> dict[str, Any]:
    """Return the sound loops of a repository, and what is wrong with the others, one line each."""
    loops, errors = usable_loops(repository(start), TrustBook(state_root(os.environ)))
    return {"loops": [_row(loop, store) for loop in loops], "errors": [str(error) for error in errors]}


def loop_names(start: Path) -> list[str]:
    """Return the names of the sound loops of a repository."""
    return [loop.spec.name for loop in usable_loops(repository(start), TrustBook(state_root(os.environ)))[0]]


def loop_show(start: Path, store: LoopStore, name: str) -> dict[str, Any]:
    loop = loop_at(start, name)
    spec, row = loop.spec, _row(loop, store)
    keys = {key: value for key, value in asdict(spec).items() if key not in ("schedule", "action", "gate")}
    due = [] if row["paused"] else _next_times(loop)
    return {**keys, **row, "only_reads": spec.only_reads, "next": due, "evidence": _evidence(loop, store)}


def _next_times(loop: StatedLoop) -> list[str]:
    moment, due = _now(), list[str]()
    for _ in range(SHOWN_OCCURRENCES):
        moment = loop.spec.schedule.next_after(moment)
        due.append(_in_zone(loop, moment))
    return due


def _evidence(loop: StatedLoop, store: LoopStore) -> dict[str, Any] | None:
    """Return what counts for a promotion; None if there is none for this loop."""
    repo, name = repo_key(loop.top), loop.spec.name
    if not may_be_promoted(loop):
        return None
    found = evidence(store.works.of_loop(repo, name), store.state(repo, name))
    return {"sessions": list(found.sessions), "needed": PROMOTED_AFTER, "fault": found.fault}


def loop_history(start: Path, store: LoopStore, name: str, limit: int) -> list[dict[str, Any]]:
    """Return the occurrences of one loop, or of all that the repository has or had, the newest first."""
    repo = repo_key(repository(start))
    names = [name] if name else [state.loop for state in store.states(repo)]
    rows = [(one, row) for one in names for row in store.history(repo, one, limit)]
    if name and not rows:
        loop_at(start, name)
    rows.sort(key=lambda pair: pair[1].started_at or pair[1].due_at, reverse=True)
    interrupted = {round.session for round in store.interrupted(repo)}
    return [_occurrence(one, row, interrupted) for one, row in rows[:limit]]


def _occurrence(loop: str, row: Occurrence, interrupted: Collection[str]) -> dict[str, Any]:
    times = {key: moment.isoformat() if moment else None for key, moment in _times(row)}
    ran = row.status is OccurrenceStatus.RAN
    return {
        "loop": loop,
        **asdict(row),
        "status": row.status.value,
        **times,
        "usd": row.usd if ran else 0.0,
        "interrupted": row.status is OccurrenceStatus.RUNNING and row.session in interrupted,
    }


def _times(row: Occurrence) -> Iterator[tuple[str, datetime.datetime | None]]:
    yield "due_at", row.due_at
    yield "started_at", row.started_at
    yield "finished_at", row.finished_at


def _row(loop: StatedLoop, store: LoopStore) -> dict[str, Any]:
    spec, repo = loop.spec, repo_key(loop.top)
    state = store.state(repo, spec.name)
    running = state.running
    now_in_force = in_force(loop, state).spec
    today = store.usage(repo, spec.name, _now().replace(hour=0, minute=0, second=0, microsecond=0))
    return {
        "name": spec.name,
        "intent": spec.intent,
        "level": now_in_force.level.value,
        "stated_level": spec.level.value,
        "level_reason": state.level_reason if state.level == now_in_force.level else "",
        "schedule": spec.schedule.text,
        "words": spec.schedule.words,
        "on": list(spec.on),
        "timezone": str(spec.schedule.zone),
        "next_at": None if state.paused else _in_zone(loop, _next(loop, state)),
        "looked_at": state.looked_at.isoformat() if state.looked_at is not None else None,
        "paused": state.paused,
        "running": running.session if running is not None and not running.is_interrupted else "",
        "interrupted": running.session if running is not None and running.is_interrupted else "",
        "strip": store.strip(repo, spec.name, STRIP),
        "tokens_today": today.input_tokens + today.output_tokens,
        "usd_today": today.usd,
        "action": str(spec.action),
        "gate": str(now_in_force.gate),
        "file": str(loop.file),
        "trusted": loop.is_accepted,
        "widening": list(loop.widening),
    }


def _next(loop: StatedLoop, state: LoopState) -> datetime.datetime:
    """Return when the loop is due: as the scheduler has recorded it, else by its schedule."""
    by_schedule = loop.spec.schedule.next_after(_now())
    return state.due_at if state.due_at is not None and state.due_at > _now() else by_schedule


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _in_zone(loop: StatedLoop, moment: datetime.datetime) -> str:
    return moment.astimezone(loop.spec.schedule.zone).isoformat()
