"""The content of the golden databases. Run as a program, it makes those of the present schema again, for a schema
that was not released yet: `python golden_scene.py DIRECTORY [POSTGRESQL_URL]`; dump the server with `pg_dump
--inserts`."""

import sys
from pathlib import Path

from donewhen.events import Event, PlanText, SessionFinished, StateChanged
from donewhen.storage.archive import Archive
from donewhen.storage.record import Record

FINISHED = SessionFinished(outcome="verified", reason="", iterations=1, results=(), summary="ok", tree="1" * 40)
ADDED = {"refused", "by"}
"""Fields that events got after the golden databases were made."""
STEPS: list[tuple[str, Event | None, tuple[str, dict[str, object]] | None]] = [
    ("first", StateChanged(from_="created", to="running"), None),
    ("first", None, ("turn", {"role": "maker", "text": "ä \0 \ud800 😀"})),
    ("first", PlanText(text="two\nlines"), ("snapshot", {"tree": "2" * 40})),
    ("first", FINISHED, None),
    ("first", StateChanged(from_="running", to="finished"), None),
    ("second", StateChanged(from_="created", to="waiting"), None),
]
ROWS = [("second", "/home/ü", "Zwei", "waiting", ""), ("first", "/r", "One", "finished", "verified")]


def _expected() -> list[Record]:
    found: list[Record] = []
    for session in ("second", "first"):
        position = seq = 0
        for owner, event, note in STEPS:
            if owner == session and note:
                position += 1
                found.append(Record(session, position, "", note[0], dict(note[1]), None))
            if owner == session and event:
                position, seq = position + 1, seq + 1
                body = {name: value for name, value in event.fields().items() if name not in ADDED}
                found.append(Record(session, position, "", event.type(), body, seq))
    return found


EVENTS = _expected()


def main(directory: str, url: str = "") -> None:
    archive = Archive.open(Path(directory), url)
    leases = {"first": archive.create("first", "/r", "One"), "second": archive.create("second", "/home/ü", "Zwei")}
    for session, event, note in STEPS:
        leases[session].write(*([event] if event else []), note=note)
    for lease in leases.values():
        lease.release()
    archive.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
