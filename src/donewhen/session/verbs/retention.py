"""Deletion of old sessions: at most 200 stay, and none older than 30 days. Unfinished or unsaved ones are never
deleted.

Work that was made and is in no branch is unsaved: such a session stays until a person lands or discards it.
"""

import contextlib
import datetime

from donewhen.errors import DonewhenError
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.verbs import discard
from donewhen.session.workplace import Workplace
from donewhen.storage.archive import Archive

MOST_SESSIONS = 200
OLDEST_DAYS = 30


async def forget_old(workplace: Workplace, archive: Archive, most: int = MOST_SESSIONS) -> list[str]:
    """Delete old sessions of this repository. Return their ids. Their branches stay."""
    rows = sorted(archive.sessions(str(workplace.repo.root)), key=lambda row: row.last_at, reverse=True)
    oldest = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=OLDEST_DAYS)
    gone: list[str] = []
    for number, row in enumerate(rows):
        old = number >= most or datetime.datetime.fromisoformat(row.last_at) < oldest
        if old and row.state == "finished" and archive.owner(row.id) is None and _is_saved(archive, row.id):
            with contextlib.suppress(DonewhenError):  # another run that just ended may do the same
                await discard.forget(workplace, archive, row.id)
                gone.append(row.id)
    return gone


def _is_saved(archive: Archive, session: str) -> bool:
    """Return True if nothing would be lost: it landed, or it was discarded, or nothing was made."""
    state = replay_log(archive.records(session))
    nothing_made = all(not one.attempted for one in state.rounds) or _only_read(state)
    return state.landed is not None or state.discarded or nothing_made


def _only_read(state: SessionState) -> bool:
    """Return True for a loop round whose agents could not write."""
    return bool(state.start_note.get("loop", {}).get("reads_only"))
