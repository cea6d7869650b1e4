"""Best-effort parts of a session: their failures are reported once and swallowed, those of the log are not."""

from pathlib import Path

import pytest

from donewhen.errors import MachineryBroke
from donewhen.session.log.state import SessionState, replay_log
from donewhen.session.log.writer import LogWriter, ignore_record
from donewhen.session.recall.session_memory import MOST_FAILURES, BestEffort
from donewhen.storage.archive import Archive
from donewhen.storage.lease import LeaseLost


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive.open(tmp_path)


def messages(archive: Archive) -> list[str]:
    return [event.body["message"] for event in archive.events("a")]


def test_a_failure_is_reported_once_even_after_a_resume(archive: Archive) -> None:
    tolerant = BestEffort(LogWriter(archive.create("a", "/r", "t"), SessionState(), ignore_record), "memory")
    for fault in (IndexError("a reader"), MachineryBroke("it is locked"), RecursionError("deep")):
        with tolerant():
            raise fault
    assert messages(archive) == ["IndexError: a reader; the session continues without it"]
    state = replay_log(archive.records("a"))
    with BestEffort(LogWriter(archive.claim("a", force=True), state, ignore_record), "memory")():
        raise OSError("again")
    assert len(messages(archive)) == 1
    archive.close()


def test_after_several_failures_it_is_disabled(archive: Archive) -> None:
    tolerant = BestEffort(LogWriter(archive.create("a", "/r", "t"), SessionState(), ignore_record), "memory")
    for _ in range(MOST_FAILURES):
        assert tolerant.is_usable
        with tolerant():
            raise ValueError
    assert not tolerant.is_usable
    archive.close()


def test_the_loss_of_the_lease_is_not_swallowed(archive: Archive) -> None:
    tolerant = BestEffort(LogWriter(archive.create("a", "/r", "t"), SessionState(), ignore_record), "memory")
    archive.claim("a", force=True)
    with pytest.raises(LeaseLost), tolerant():
        raise ValueError
    archive.close()
