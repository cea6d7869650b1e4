"""Several real processes on one archive: they start together, write together, and die at any moment."""

import random
import subprocess
import sys
from contextlib import ExitStack, aclosing
from pathlib import Path

import anyio
import pytest
from places import Place, says, tell

from donewhen.storage.archive import Archive
from donewhen.storage.disposable_db import connect
from donewhen.storage.migrations import Schema

STARTS = 15
WRITERS = 6
KILLS = 12

OPEN_TOGETHER = """
from donewhen.storage import archive as storage
archive.close()
print("warm", flush=True)
for line in sys.stdin:
    opened = Archive.open(Path(line.strip()), sys.argv[2])
    opened.create(f"s{os.getpid()}", "/r", "title").write(PlanText(text="here"))
    opened.close()
    print("done", flush=True)
"""


def test_processes_that_start_at_once_without_a_database_all_work(sqlite: Place, tmp_path: Path) -> None:
    starters = [sqlite.start(OPEN_TOGETHER) for _ in range(3)]
    assert [says(starter) for starter in starters] == ["warm"] * 3
    for number in range(STARTS):
        place = Place(tmp_path / f"new{number}", "", sqlite.stack)
        for starter in starters:
            assert starter.stdin
            starter.stdin.write(f"{place.directory}\n")
            starter.stdin.flush()
        assert [says(starter) for starter in starters] == ["done"] * 3
        archive = place.open()
        assert len(archive.sessions()) == 3 and archive.warnings == []


def test_processes_that_start_at_once_on_an_empty_server_all_work(schema: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        place = Place(tmp_path, schema, stack)
        starters = [place.start("archive.create(f's{os.getpid()}', '/r', '')\nprint('done')") for _ in range(4)]
        assert [says(starter) for starter in starters] == ["done"] * 4
        assert len(place.open().sessions()) == 4


APPEND = """
lease = archive.claim(sys.argv[3])
print("ready", flush=True)
while True:
    lease.write(PlanText(text="x" * 200), PlanText(text="y"), note=("note", {"a": 1}))
"""


@pytest.mark.anyio
async def test_writers_killed_at_any_moment_leave_complete_logs_and_readers_see_no_gap(sqlite: Place) -> None:
    """Six append to one file. One after the other is killed and replaced, while readers follow every session."""
    archive, sessions = sqlite.open(), [f"s{n}" for n in range(WRITERS)]
    for session in sessions:
        archive.create(session, "/r", "title").release()
    writers = {session: sqlite.start(APPEND, session) for session in sessions}
    seen: dict[str, list[int | None]] = {session: [] for session in sessions}
    choice = random.Random(7)

    async def read(session: str, reading: Archive) -> None:
        async with aclosing(reading.follow(session)) as records:
            async for record in records:
                seen[session].append(record.seq)

    async def everybody_wrote_again(session: str) -> None:
        before = len(seen[session])
        while len(seen[session]) <= before:
            await anyio.lowlevel.checkpoint()

    with anyio.fail_after(120):
        async with anyio.create_task_group() as group:
            for session in sessions:
                group.start_soon(read, session, sqlite.open())
            for _ in range(KILLS):
                session = choice.choice(sessions)
                assert await anyio.to_thread.run_sync(says, writers[session]) == "ready"
                await everybody_wrote_again(session)
                writers[session].kill()
                await anyio.to_thread.run_sync(writers[session].wait)
                writers[session] = sqlite.start(APPEND, session)
            group.cancel_scope.cancel()
    for session, writer in writers.items():
        writer.kill()
        writer.wait()
        lease = archive.claim(session)
        assert [record.position for record in archive.records(session)] == list(range(1, lease_end(archive, session)))
        numbers = [record.seq for record in archive.events(session)]
        assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) % 2 == 0
        assert seen[session] == numbers[: len(seen[session])]
        assert len(sqlite.log(session).read_bytes().splitlines()) == lease_end(archive, session)
        lease.release()
    assert [warning for warning in archive.warnings if "the last write was incomplete" not in warning] == []


def lease_end(archive: Archive, session: str) -> int:
    """One more than the last position: a log file has a line for each record and one for the session."""
    return max((record.position for record in archive.records(session)), default=0) + 1


def test_an_archive_after_a_crash_is_examined_and_found_intact(sqlite: Place) -> None:
    worker = sqlite.start(
        "lease = archive.create('a', '/r', 'title')\nlease.write(*[PlanText(text='x')] * 20)\nready()"
    )
    assert says(worker) == "ready"
    worker.kill()
    worker.wait()
    assert Path(f"{sqlite.database}-wal").exists()
    archive = sqlite.open()
    assert archive.warnings == []
    assert len(list(archive.events("a"))) == 20


def test_a_writer_that_waits_for_another_continues_when_it_is_done(place: Place) -> None:
    """Ten sessions, one file or server, all at once."""
    program = """
lease = archive.create(f"s{os.getpid()}", "/r", "title")
ready()
for n in range(60):
    lease.write(PlanText(text=str(n)), sync=n % 10 == 0)
print("done", flush=True)
"""
    workers = [place.start(program) for _ in range(4)]
    assert [says(worker) for worker in workers] == ["ready"] * 4
    for worker in workers:
        tell(worker)
    assert [says(worker) for worker in workers] == ["done"] * 4
    archive = place.open()
    assert [row.events for row in archive.sessions()] == [60] * 4


NOTES = Schema("the notes were", "migrations", (("CREATE TABLE notes (text {text} NOT NULL)",),))
ADD_AND_LIST = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
with connection:
    connection.execute("INSERT INTO notes VALUES ('theirs')")
print(*[row[0] for row in connection.execute("SELECT text FROM notes ORDER BY text")])
connection.close()
"""


def test_two_connections_of_a_process_keep_the_journal_from_being_removed_by_another_process(tmp_path: Path) -> None:
    file, command = tmp_path / "notes.db", [sys.executable, "-c", ADD_AND_LIST, str(tmp_path / "notes.db")]
    with ExitStack() as stack:
        first, second = connect(file, NOTES, 5.0), connect(file, NOTES, 5.0)
        stack.callback(first.close)
        stack.callback(second.close)
        subprocess.run(command, check=True, capture_output=True)
        first.run("INSERT INTO notes VALUES ('ours')")
        seen = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert seen == ["ours", "theirs", "theirs"]
        assert [row[0] for row in first.run("SELECT text FROM notes ORDER BY text")] == seen
