"""The methods that read sessions: the list, everything about one session, and its events.

The functions whose names do not begin with `session_` are for the views of the command line, which show records.
"""

import contextlib
import json
import os
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.events import RoundFinished
from donewhen.server.methods.call_context import CallContext
from donewhen.server.methods.session_details import plain_state
from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.state import LeftOutEdits, replay_log
from donewhen.session.person import left_out
from donewhen.session.person.gates import GateKind
from donewhen.session.verbs.optional import open_decisions
from donewhen.storage.archive import Archive
from donewhen.storage.owner import Owner
from donewhen.storage.record import Record
from donewhen.workspace.state_dir import state_root

if TYPE_CHECKING:
    from donewhen.server.methods.results import EventPage, OptionalDecision, SessionDetails, SessionEntry, SettingEntry
    from donewhen.session.verbs.newest import Chosen

MOST_EVENTS = 1000
"""Events of one page."""
LONGEST_PAGE = 1 << 20
"""Characters of JSON after which a page ends. One event is never cut, and it may be longer."""


def session_list(context: CallContext, repo: str = "", limit: int = 0) -> "list[SessionEntry]":
    """Return all sessions, or those of one repository, newest first. A limit of 0 is none."""
    with any_archive(context.say) as archive:
        rows = archive.sessions(repo or None, limit or None)
        optional = open_decisions(archive, rows, left_out.now())
        return [
            {
                "id": row.id,
                "repo": row.repo,
                "title": row.title,
                "created_at": row.created_at,
                "last_at": row.last_at,
                "state": row.state,
                "outcome": row.outcome,
                "reason": row.reason,
                "events": row.events,
                "live": is_live(archive.owner(row.id)),
                "optional": _expiry(optional.get(row.id)),
            }
            for row in rows
        ]


def _expiry(edits: LeftOutEdits | None) -> "OptionalDecision | None":
    return {"gate": GateKind.AMENDMENT.value, "expires_at": edits.expires_at} if edits is not None else None


def session_get(id: str) -> "SessionDetails":
    """Return everything that is known about one session."""
    with any_archive() as archive:
        id = archive.find(id)
        state = replay_log(archive.records(id))
        known = {"id": id, "live": is_live(archive.owner(id)), **plain_state(state), "action": _action(archive, id)}
    return cast("SessionDetails", {**known, "artifacts": _artifacts(id)})


def _action(archive: Archive, session: str) -> dict[str, Any] | None:
    """Return what a loop round has carried out; None for another session, or if it carried out nothing."""
    rounds = [record.event for record in archive.records(session, kinds=(RoundFinished.type(),))]
    last = rounds[-1] if rounds else None
    return dict(last.action) if isinstance(last, RoundFinished) and last.action else None


def _artifacts(session: str) -> dict[str, str]:
    """Return the artifact files of a session by name."""
    here = state_root(os.environ) / "artifacts" / session
    if not here.is_dir():
        return {}
    from donewhen.session.log import plan_files  # loaded on use: it imports the plan classes

    return plan_files.existing_files(session)


def session_events(id: str, from_seq: int = 0, limit: int = MOST_EVENTS) -> "EventPage":
    """Return a page of the events of a session: those from `from_seq` on, that one included.

    The next page begins at `next_seq`. A page with no events is the end, for the moment. A limit of 0 is the greatest.
    """
    most = min(limit or MOST_EVENTS, MOST_EVENTS)
    found: list[dict[str, Any]] = []
    length, next_seq = 0, max(1, from_seq)
    for record in records_of(id, after_seq=next_seq - 1):
        found.append(record.line())
        next_seq = (record.seq or 0) + 1
        length += len(json.dumps(found[-1]))
        if len(found) >= most or length >= LONGEST_PAGE:
            break
    return {"events": found, "next_seq": next_seq}


def records_of(id: str, after_seq: int = 0) -> Iterator[Record]:
    """Yield the events of a session as records."""
    with any_archive() as archive:
        yield from archive.events(archive.find(id), after_seq)


async def follow(id: str) -> AsyncGenerator[Record]:
    """Yield past and new events for as long as a process owns the session."""
    with any_archive() as archive:
        id = archive.find(id)
        async with contextlib.aclosing(archive.follow(id, is_over=lambda: not is_live(archive.owner(id)))) as records:
            async for record in records:
                yield record


def newest_session(verb: str) -> "Chosen":
    """Return the session of the current directory's repository that a verb means if no id is given."""
    from donewhen.session.verbs.newest import newest

    with any_archive() as archive:
        return newest(archive, verb, Path.cwd())


def session_config(id: str) -> "list[SettingEntry]":
    """Return every setting of a session with its value and its source."""
    from donewhen.session.log.start_record import settings_in

    with any_archive() as archive:
        start_note = replay_log(archive.records(archive.find(id))).start_note
    return cast("list[SettingEntry]", settings_in(start_note))


def has_left_out(id: str) -> bool:
    """Return True if a session that has ended left edits out, so that a decision is about them."""
    with any_archive() as archive:
        state = replay_log(archive.records(archive.find(id)))
        return state.run_state == "finished" and state.left_out is not None and not state.discarded


def is_live(owner: Owner | None) -> bool:
    return owner is not None and owner.is_alive()
