"""Old sessions are forgotten: at most 200, and none older than 30 days. Nothing that is unfinished or unsaved goes.

Work that was made and is in no branch is unsaved: such a session stays until a person lands or discards it.
"""

import contextlib
import datetime

from donewhen.errors import DonewhenError
from donewhen.session import discarding
from donewhen.session.story import told
from donewhen.session.workplace import Workplace
from donewhen.storage.archive import Archive

MOST_SESSIONS = 200
OLDEST_DAYS = 30


async def forget_old(place: Workplace, archive: Archive, most: int = MOST_SESSIONS) -> list[str]:
    """The ids of the sessions of this repository that were forgotten; their branches stay."""
    rows = sorted(archive.sessions(str(place.repo.root)), key=lambda row: row.last_at, reverse=True)
    oldest = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=OLDEST_DAYS)
    gone: list[str] = []
    for number, row in enumerate(rows):
        old = number >= most or datetime.datetime.fromisoformat(row.last_at) < oldest
        if old and row.state == "finished" and archive.owner(row.id) is None and _is_saved(archive, row.id):
            with contextlib.suppress(DonewhenError):  # another run that ended just now may be at it as well
                await discarding.forget(place, archive, row.id)
                gone.append(row.id)
    return gone


def _is_saved(archive: Archive, session: str) -> bool:
    """Whether nothing would be lost: it landed, or it was discarded, or nothing was made."""
    story = told(archive.records(session))
    nothing_made = all(not one.attempted for one in story.rounds)
    return story.landed is not None or story.discarded or nothing_made
