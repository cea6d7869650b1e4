"""The inbox: everything that waits for a person, over all sessions and loops. Reads only.

A gate, a question and a loop that was paused by a failure or a budget wait. Left-out edits and the promotion of a loop
do not: nothing stops without a decision on them.
"""

import datetime
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from donewhen.loops.autonomy import proposal
from donewhen.loops.loop_records import PAUSED_BY_PERSON
from donewhen.loops.loop_store import LoopStore
from donewhen.loops.spec_files import StatedLoop
from donewhen.records import frozen
from donewhen.session.log.notes import Discarded
from donewhen.session.log.start_record import NOTE_KIND
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.person.gates import DECIDE, GateKind, is_expired
from donewhen.session.verbs.optional import open_decisions
from donewhen.storage.archive import Archive
from donewhen.storage.record import SessionRow

KINDS = (
    NOTE_KIND,
    Discarded.KIND,
    "state_changed",
    "gate_opened",
    "gate_decided",
    "question_asked",
    "question_answered",
    "question_expired",
    "session_finished",
)
"""The records on which it depends whether a session waits."""
EXPIRED = "expired: it counts as denied"
AFTER_EXPIRY = ("donewhen diff {id}", "donewhen deny {id}")
LoopsAt = Callable[[Path], Iterable[StatedLoop]]
"""Returns the loops of the repository at a path."""


@frozen(kw_only=True)
class InboxItem:
    kind: str
    """The kind of a gate, `question`, `left_out`, `paused` or `promotion`."""
    session: str
    """Empty for what is about a loop and not about one round of it."""
    loop: str
    """Empty for an ordinary session."""
    repo: str
    title: str
    reason: str
    since: str
    expires_at: str
    commands: tuple[str, ...]
    """What a person may type."""


def inbox_list(archive: Archive, store: LoopStore, stated: LoopsAt, now: datetime.datetime) -> list[InboxItem]:
    """Return everything that waits, what waits longest first."""
    rows = archive.sessions()
    repos = sorted({row.repo for row in rows} | set(store.repos()))
    found = [*_of_sessions(archive, rows, now), *_paused(store, repos), *_promotions(store, stated, repos)]
    return sorted(found, key=lambda item: item.since)


def commands_from(here: str, item: InboxItem) -> list[str]:
    """Return what a person may type in the repository `here`. A loop is named in its own; a session is anywhere."""
    there = "" if item.session or item.repo == here else f"cd {shlex.quote(item.repo)} && "
    return [f"{there}{command}" for command in item.commands]


def _of_sessions(archive: Archive, rows: Iterable[SessionRow], now: datetime.datetime) -> Iterator[InboxItem]:
    rows = list(rows)
    for row in rows:
        if row.state != "finished":  # also one that runs, or whose process was killed, may have asked something
            state = replay_log(archive.records(row.id, kinds=KINDS))
            waits = row.state == "waiting" or state.question is not None or state.gate is not None
            if waits and not state.discarded:
                yield _waiting(row, state)
    for id, edits in open_decisions(archive, rows, now).items():
        row = next(row for row in rows if row.id == id)
        commands = (f"donewhen show {id}", f"donewhen approve {id}", f"donewhen deny {id}")
        yield InboxItem(
            kind="left_out",
            session=id,
            loop="",  # a round offers none
            repo=row.repo,
            title=row.title,
            reason="edits were left out; they may be approved",
            since=row.last_at,
            expires_at=edits.expires_at,
            commands=commands,
        )


def _waiting(row: SessionRow, state: SessionState) -> InboxItem:
    gate, question, id = state.gate, state.question, row.id
    kind = GateKind.of(gate.kind) if gate is not None else None
    if question is not None:
        what, reason, commands = "question", question.prompt, (f"donewhen answer {id} 'TEXT'",)
    elif gate is not None:
        words = AFTER_EXPIRY if is_expired(gate) else kind.next if kind is not None else DECIDE
        what, reason = gate.kind, EXPIRED if is_expired(gate) else gate.reason
        commands = tuple(command.format(id=id) for command in words)
    else:
        what, reason, commands = "waiting", row.reason or "it waits", (f"donewhen resume {id}",)
    return InboxItem(
        kind=what,
        session=id,
        loop=_loop_in(state),
        repo=row.repo,
        title=row.title,
        reason=reason,
        since=row.last_at,
        expires_at=gate.expires_at if gate is not None else "",
        commands=commands,
    )


def _loop_in(state: SessionState) -> str:
    """Return the loop that a session is a round of; empty for an ordinary session."""
    stated: Mapping[str, Any] = state.start_note.get("loop") or {}
    return str(stated.get("loop", ""))


def overdue_rounds(archive: Archive, repo: str, loop: str) -> list[str]:
    """Return the sessions of a loop whose work waited too long for a decision, or whose decision was not carried out
    because the process died.
    """
    found: list[str] = []
    for row in (one for one in archive.sessions(repo) if one.state == "waiting"):
        state = replay_log(archive.records(row.id, kinds=KINDS))
        last = next(reversed(state.gates.values()), None)
        if _loop_in(state) == loop and last is not None and (last.decision or is_expired(last)):
            found.append(row.id)
    return found


def _paused(store: LoopStore, repos: Iterable[str]) -> Iterator[InboxItem]:
    for repo in repos:
        for state in store.states(repo):
            if state.paused not in ("", PAUSED_BY_PERSON):
                yield InboxItem(
                    kind="paused",
                    session="",
                    loop=state.loop,
                    repo=repo,
                    title=state.loop,
                    reason=f"the loop is paused: {state.paused}",
                    since=state.looked_at.isoformat() if state.looked_at else "",
                    expires_at="",
                    commands=(f"donewhen loop resume {state.loop}",),
                )


def _promotions(store: LoopStore, stated: LoopsAt, repos: Iterable[str]) -> Iterator[InboxItem]:
    for repo in repos:
        states = {state.loop: state for state in store.states(repo)}
        for loop in stated(Path(repo)) if states else ():
            name = loop.spec.name
            works = store.works.of_loop(repo, name) if name in states else []
            if works and (reason := proposal(loop, states[name], works)):
                yield InboxItem(
                    kind="promotion",
                    session="",
                    loop=name,
                    repo=repo,
                    title=name,
                    reason=f"it may act alone from now on, if you promote it: {reason}",
                    since=works[0].at.isoformat(),
                    expires_at="",
                    commands=(f"donewhen loop promote {name}", f"donewhen loop demote {name}"),
                )
