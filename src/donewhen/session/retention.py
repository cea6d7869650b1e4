"""Old sessions are forgotten: at most 200, and none older than 30 days. Nothing that is unfinished or unsaved goes."""

import datetime

from donewhen.session import discarding
from donewhen.session.workplace import Workplace
from donewhen.storage.archive import Archive

MOST_SESSIONS = 200
OLDEST_DAYS = 30


async def forget_old(place: Workplace, archive: Archive) -> list[str]:
    """The ids of the sessions of this repository that were forgotten; their branches stay."""
    rows = sorted(archive.sessions(str(place.repo.root)), key=lambda row: row.last_at, reverse=True)
    oldest = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=OLDEST_DAYS)
    gone: list[str] = []
    for number, row in enumerate(rows):
        old = number >= MOST_SESSIONS or datetime.datetime.fromisoformat(row.last_at) < oldest
        if old and row.state == "finished" and archive.owner(row.id) is None:
            await discarding.forget(place, archive, row.id)
            gone.append(row.id)
    return gone
