"""A damaged database file is detected, kept aside, and rebuilt from the log files."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_points import destroy_index
from places import RUNNING, SAID, Place, says

from donewhen.events import PlanText, SessionFinished, StateChanged
from donewhen.storage.archive import Archive
from donewhen.storage.connection import Damaged
from donewhen.storage.record import Record, SessionRow

Damage = Callable[[Path], None]

LONG = PlanText(text="x" * 3000)


def fill(archive: Archive) -> tuple[list[SessionRow], list[Record]]:
    """Three sessions, some pages of database; returns what a reader sees."""
    for name in ("one", "two", "three"):
        lease = archive.create(name, f"/{name}", f"title {name}")
        lease.write(RUNNING, note=("note", {"name": name}))
        for _ in range(20):
            lease.write(LONG)
        done = SessionFinished(outcome="red", reason="why", iterations=1, results=(), summary="", tree="")
        lease.write(done, StateChanged(from_="running", to="finished"))
        lease.release()
    return seen(archive)


def seen(archive: Archive) -> tuple[list[SessionRow], list[Record]]:
    rows = sorted(archive.sessions(), key=lambda row: row.id)
    return rows, [record for row in rows for record in archive.records(row.id)]


def overwrite(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


def destroy_header(database: Path) -> None:
    overwrite(database, 0, b"\0" * 100)


def destroy_interior_page(database: Path) -> None:
    """A damaged inner page breaks the tree."""
    data = database.read_bytes()
    place = next(start for start in range(4096, len(data), 4096) if data[start] in (2, 5))
    overwrite(database, place, b"\xa5" * 4096)


def destroy_half(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2)


def destroy_every_second_page(database: Path) -> None:
    for start in range(4096, database.stat().st_size, 8192):
        overwrite(database, start, os.urandom(4096))


def empty(database: Path) -> None:
    os.truncate(database, 0)


def replace_by_text(database: Path) -> None:
    database.write_text("this is no database\n" * 500)


@pytest.mark.parametrize(
    "damage",
    [destroy_header, destroy_interior_page, destroy_half, destroy_every_second_page, replace_by_text],
)
def test_a_damaged_file_is_kept_aside_and_rebuilt_with_everything(sqlite: Place, damage: Damage) -> None:
    archive = sqlite.open()
    before = fill(archive)
    archive.close()
    damage(sqlite.database)
    broken = sqlite.database.read_bytes()
    archive = sqlite.open()
    aside = sqlite.directory / "sessions.db.damaged-1"
    assert archive.warnings == [
        f"{sqlite.database} was damaged and was rebuilt from 72 records in {sqlite.directory / 'logs'}; "
        f"the old one was kept as {aside}"
    ]
    assert aside.read_bytes() == broken
    assert seen(archive) == before
    assert archive.claim("two").write(SAID)[0].seq == before[0][2].events + 1
    archive.close()
    assert sqlite.open().warnings == []


@pytest.mark.parametrize("damage", [empty, Path.unlink])
def test_a_missing_file_is_rebuilt_from_the_log_files(sqlite: Place, damage: Damage) -> None:
    archive = sqlite.open()
    before = fill(archive)
    archive.close()
    damage(sqlite.database)
    archive = sqlite.open()
    assert "was missing and was rebuilt from 72 records" in archive.warnings[0]
    assert seen(archive) == before
    assert sqlite.database.stat().st_mode & 0o777 == 0o600


CRASH = """
lease = archive.create("last", "/r", "title")
for n in range(30):
    lease.write(PlanText(text="y" * 3000))
ready()
"""


def cut_journal(database: Path) -> None:
    journal = Path(f"{database}-wal")
    os.truncate(journal, journal.stat().st_size // 2)


def remove_journal(database: Path) -> None:
    Path(f"{database}-wal").unlink()


def spoil_journal(database: Path) -> None:
    journal = Path(f"{database}-wal")
    overwrite(journal, journal.stat().st_size // 2, b"\xff" * 5000)


def spoil_index_of_journal(database: Path) -> None:
    overwrite(Path(f"{database}-shm"), 0, b"\xff" * 1000)


@pytest.mark.parametrize("damage", [cut_journal, remove_journal, spoil_journal])
def test_records_lost_with_the_journal_are_restored(sqlite: Place, damage: Damage) -> None:
    archive = sqlite.open()
    before = fill(archive)
    archive.close()
    crash(sqlite)
    damage(sqlite.database)
    parts = {path.name for path in sqlite.directory.glob("sessions.db-*")}
    archive = sqlite.open()
    assert "had lost records and was rebuilt from 102 records" in archive.warnings[0]
    kept = {path.name for path in sqlite.directory.glob("sessions.db.damaged-1*")}
    assert kept >= {f"sessions.db.damaged-1{part.removeprefix('sessions.db')}" for part in parts}
    rows, records = seen(archive)
    assert [record.seq for record in archive.events("last")] == list(range(1, 31))
    assert [row for row in rows if row.id != "last"] == before[0]
    assert [record for record in records if record.session != "last"] == before[1]


def test_a_damaged_journal_index_loses_nothing(sqlite: Place) -> None:
    crash(sqlite)
    spoil_index_of_journal(sqlite.database)
    archive = sqlite.open()
    assert archive.warnings == [] and len(list(archive.events("last"))) == 30


def crash(place: Place) -> None:
    worker = place.start(CRASH)
    assert says(worker) == "ready"
    worker.kill()
    worker.wait()


def test_a_record_missing_in_the_log_file_is_taken_from_the_damaged_database(sqlite: Place) -> None:
    archive = sqlite.open()
    before = fill(archive)
    archive.close()
    log = sqlite.log("one")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:5], b"bad\n", *lines[6:-1]]))
    sqlite.log("three").unlink()
    destroy_index(sqlite.database)
    archive = sqlite.open()
    assert archive.warnings[0].startswith(f"{sqlite.database} was damaged")
    assert archive.warnings[1:] == [f"{log}: line 6 cannot be read and was skipped"]
    assert seen(archive) == before


def test_a_record_lost_in_both_places_leaves_a_gap_and_shifts_nothing(sqlite: Place) -> None:
    archive = sqlite.open()
    archive.create("a", "/r", "title").write(*(PlanText(text=str(n)) for n in range(1, 8)))
    archive.close()
    lines = sqlite.log("a").read_bytes().splitlines(keepends=True)
    sqlite.log("a").write_bytes(b"".join([*lines[:3], b"bad\n", *lines[4:]]))
    destroy_header(sqlite.database)
    archive = sqlite.open()
    assert [(record.position, record.seq) for record in archive.events("a")] == [(n, n) for n in (1, 2, 4, 5, 6, 7)]
    assert archive.claim("a").write(SAID)[0].position == 8


def test_a_log_file_that_lost_its_first_line_still_gives_a_session(sqlite: Place) -> None:
    archive = sqlite.open()
    lease = archive.create("a", "/r", "title")
    lease.write(SAID, note=("session_started", {"repo": "/said", "intent": "wanted"}))
    archive.close()
    lines = sqlite.log("a").read_bytes().splitlines(keepends=True)
    sqlite.log("a").write_bytes(b"".join([b"bad\n", *lines[1:]]))
    sqlite.database.unlink()
    (row,) = sqlite.open().sessions()
    assert (row.id, row.repo, row.title, row.events) == ("a", "/said", "wanted", 1)


def test_one_flipped_byte_in_a_body_is_detected_and_restored_from_the_log_file(sqlite: Place) -> None:
    archive = sqlite.open()
    archive.create("a", "/r", "title").write(PlanText(text="first"), PlanText(text="precious"), PlanText(text="last"))
    archive.close()
    for flipped in (b"precioUs", b"preci\xffus"):
        data = sqlite.database.read_bytes()
        overwrite(sqlite.database, data.index(b"preci"), flipped)
        archive = sqlite.open()
        assert [record.body["text"] for record in archive.events("a")] == ["first", "precious", "last"]
        assert archive.warnings == ["record 2 of session a is damaged in the database and was read from its log file"]
        archive.close()
    shutil.rmtree(sqlite.directory / "logs")
    archive = sqlite.open()
    assert [record.seq for record in archive.events("a")] == [1, 3]
    assert archive.warnings == ["record 2 of session a is damaged in the database and is lost"]


def test_an_interrupted_rebuild_is_repeated(sqlite: Place) -> None:
    archive = sqlite.open()
    before = fill(archive)
    archive.close()
    sqlite.database.rename(sqlite.directory / "good")
    for left_over in ("sessions.db.rebuilding", "sessions.db.rebuilding-wal", "sessions.db-wal"):
        (sqlite.directory / left_over).write_bytes(b"half" * 2000)
    archive = sqlite.open()
    assert seen(archive) == before
    archive.close()
    sqlite.database.rename(sqlite.directory / "sessions.db.rebuilt")
    Path(f"{sqlite.database}-wal").write_bytes(b"of the damaged one" * 500)
    archive = sqlite.open()
    assert seen(archive) == before and archive.warnings == []


def test_a_damaged_file_is_not_replaced_while_another_process_has_it_open(sqlite: Place) -> None:
    archive = sqlite.open()
    fill(archive)
    archive.close()
    holder = sqlite.open()
    destroy_header(sqlite.database)
    with pytest.raises(Damaged, match=r"is damaged .* rebuilt when no other donewhen process has it open"):
        sqlite.open()
    holder.close()
    archive = sqlite.open()
    assert len(archive.sessions()) == 3 and "rebuilt" in archive.warnings[0]


def test_a_cleanly_closed_file_is_not_examined_again(sqlite: Place) -> None:
    """The control of the thorough start: with a stamp that says it is intact, damage is found only on use."""
    archive = sqlite.open()
    fill(archive)
    archive.close()
    stamp, status = sqlite.directory / "sessions.db.stamp", sqlite.database.stat()
    vouched = stamp.read_text()
    destroy_interior_page(sqlite.database)
    os.utime(sqlite.database, ns=(status.st_atime_ns, status.st_mtime_ns))
    archive = sqlite.open()
    assert archive.warnings == [] and stamp.read_text() == vouched
    with pytest.raises(Damaged):
        seen(archive)
    archive.close()
    assert not stamp.exists()
    assert "was damaged and was rebuilt" in sqlite.open().warnings[0]


def test_a_file_that_cannot_be_opened_is_rebuilt_for_any_stamp(sqlite: Place) -> None:
    archive = sqlite.open()
    before = fill(archive)
    archive.close()
    status = sqlite.database.stat()
    destroy_header(sqlite.database)
    os.utime(sqlite.database, ns=(status.st_atime_ns, status.st_mtime_ns))
    archive = sqlite.open()
    assert seen(archive) == before and "was damaged and was rebuilt" in archive.warnings[0]


def test_reading_changes_neither_file_nor_stamp(sqlite: Place) -> None:
    archive = sqlite.open()
    before = fill(archive)
    archive.close()
    files = {path: path.stat().st_mtime_ns for path in sqlite.directory.rglob("*")}
    for _ in range(2):
        archive = sqlite.open()
        assert seen(archive) == before
        archive.close()
    assert {path: path.stat().st_mtime_ns for path in sqlite.directory.rglob("*") if path.is_file()} == {
        path: time for path, time in files.items() if path.is_file()
    }
