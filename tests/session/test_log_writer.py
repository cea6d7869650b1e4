"""The log writer: listeners cannot disturb it, and neither can the clock of the machine."""

import datetime
import errno
import sqlite3
from pathlib import Path

import pytest

from donewhen.events import PlanText
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.log.writer import LogWriter, ignore_record
from donewhen.storage.archive import Archive
from donewhen.storage.record import Record

SAID = PlanText(text="said")
HOUR = 3600.0


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive.open(tmp_path)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EPIPE, errno.EBADF])
def test_a_listener_with_a_lost_terminal_or_disk_does_not_end_the_work(archive: Archive, number: int) -> None:
    def gone(record: Record) -> None:
        raise OSError(number, record.kind)

    log = LogWriter(archive.create("a", "/r", "t"), SessionState(), gone)
    log.write(SAID)
    log.write(SAID)
    assert log.state.position == 2
    archive.close()


def test_time_not_shown_by_the_machine_clock_is_counted(archive: Archive) -> None:
    clock = Clock()
    log = LogWriter(archive.create("a", "/r", "t"), SessionState(), ignore_record, clock=clock)
    for _ in range(3):
        log.write(SAID)
        clock.now += HOUR  # the clock was set back, or does not move
    log.write(SAID)
    later = replay_log(archive.records("a"))
    assert later.active_secs == pytest.approx(3 * HOUR, abs=60)
    assert later.active_secs == log.state.active_secs
    archive.close()


def test_time_shown_only_by_the_machine_clock_is_not_counted(archive: Archive, tmp_path: Path) -> None:
    log = LogWriter(archive.create("a", "/r", "t"), SessionState(), ignore_record)
    log.write(SAID)
    tomorrow = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    with sqlite3.connect(tmp_path / "sessions.db") as database:
        database.execute("UPDATE donewhen_sessions SET last_at = ?", (tomorrow.isoformat().replace("+00:00", "Z"),))
    log.write(SAID)
    later = replay_log(archive.records("a"))
    assert later.active_secs < HOUR
    assert [record.kind for record in archive.records("a")] == ["plan_text", "plan_text", "clock"]
    archive.close()


def test_a_correct_clock_leaves_no_note(archive: Archive) -> None:
    log = LogWriter(archive.create("a", "/r", "t"), SessionState(), ignore_record)
    for _ in range(50):
        log.write(SAID)
    assert {record.kind for record in archive.records("a")} == {"plan_text"}
    archive.close()
