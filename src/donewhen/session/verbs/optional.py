"""Optional decisions that a person may make: edits that verified sessions left out. Nothing waits for them."""

import datetime
from collections.abc import Iterable

from donewhen.session.log.notes import Discarded
from donewhen.session.log.state import LeftOutEdits, replay_log
from donewhen.session.outcome import Outcome
from donewhen.session.person.left_out import open_edits
from donewhen.storage.archive import Archive
from donewhen.storage.record import SessionRow

KINDS = ("gate_opened", "gate_decided", Discarded.KIND)
"""The records that an optional decision depends on."""


def open_decisions(archive: Archive, rows: Iterable[SessionRow], at: datetime.datetime) -> dict[str, LeftOutEdits]:
    """Return the optional decisions of these sessions that are open at a time, by session."""
    found: dict[str, LeftOutEdits] = {}
    for row in rows:
        if Outcome.of(row.outcome) is Outcome.VERIFIED:
            edits = open_edits(replay_log(archive.records(row.id, kinds=KINDS)), at)
            if edits is not None:
                found[row.id] = edits
    return found
