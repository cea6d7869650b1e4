"""Faults around a database: it is locked, the disk is full, it is not writable, the server is away.

Each is one line, nothing is half-written, and the same write works when the cause is gone.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from places import SAID, Place, says, tell, texts

from donewhen.errors import BadInput, MachineryBroke
from donewhen.events import PlanText
from donewhen.storage.archive import Archive
from donewhen.storage.connection import Busy
from donewhen.storage.log_file import LogFile, Written
from needs import leave_out, needs, needs_root

PAGES = 24


def test_a_locked_file_is_named_and_the_write_works_when_it_is_free(sqlite: Place) -> None:
    archive = sqlite.open(lock_timeout=0.2)
    lease = archive.create("a", "/r", "title")
    other = sqlite3.connect(sqlite.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match=rf"^{sqlite.database} has been locked by another process for 0.2 s$"):
        lease.write(SAID, sync=True)
    assert list(archive.records("a")) == []
    other.execute("ROLLBACK")
    other.close()
    assert [record.seq for record in lease.write(SAID)] == [1]


def test_a_permanently_locked_archive_times_out(sqlite: Place) -> None:
    sqlite.open().close()
    holder = sqlite.start(
        "import fcntl\nlock = os.open(sys.argv[1] + '/sessions.db.lock', os.O_RDWR)\n"
        "archive.close()\nfcntl.flock(lock, fcntl.LOCK_EX)\nready()"
    )
    assert says(holder) == "ready"
    with pytest.raises(Busy, match="has been locked by another process"):
        sqlite.open(lock_timeout=0.1)
    tell(holder)
    holder.wait()
    sqlite.open()


def test_a_locked_row_on_the_server_is_named(schema: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        place = Place(tmp_path, schema, stack)
        archive = place.open(lock_timeout=0.2)
        lease = archive.create("a", "/r", "title")
        with psycopg.connect(schema) as other:
            other.execute("SELECT * FROM donewhen_sessions FOR UPDATE")
            with pytest.raises(Busy, match=r"^the database postgres at 127.0.0.1 has been locked .* for 0.2 s$"):
                lease.write(SAID)
            assert list(archive.records("a")) == []
        assert [record.seq for record in lease.write(SAID)] == [1]


def test_a_lost_server_connection_is_reopened_by_the_next_write(schema: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        archive = Place(tmp_path, schema, stack).open()
        lease = archive.create("a", "/r", "title")
        lease.write(SAID)
        ours = archive._connection.run("SELECT pg_backend_pid()")[0][0]  # pyright: ignore[reportPrivateUsage] - to hang up on it
        with psycopg.connect(schema, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (ours,))
        with pytest.raises(MachineryBroke, match=r"^the database postgres at 127.0.0.1: .*$"):
            lease.write(SAID)
        assert [record.seq for record in lease.write(SAID)] == [2]


@pytest.mark.parametrize(
    ("url", "kind", "says"),
    [
        ("mysql://secret@x/y", BadInput, "storage.url must start with postgresql://"),
        ("postgresql://u:secret@x:y:z/d", BadInput, "storage.url is not a valid postgresql:// address"),
        ("postgresql://u:se/secret@h/d", BadInput, "storage.url is not a valid postgresql:// address"),
        ("postgresql://u:1/secret@h/d", BadInput, "storage.url is not a valid postgresql:// address"),
        ("postgresql://u:secret@h/d?none=1", BadInput, "storage.url is not a valid postgresql:// address"),
        ("postgresql://u:secret@127.0.0.1:1/d", MachineryBroke, "the database d at 127.0.0.1: "),
    ],
)
def test_an_unreachable_address_is_one_line_without_the_password(
    tmp_path: Path, url: str, kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind) as caught:
        Archive.open(tmp_path, url)
    line = str(caught.value)
    assert line.startswith(says) and "\n" not in line and "secret" not in line


def test_without_the_driver_the_line_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from pathlib import Path\nfrom donewhen.errors import BadInput\nfrom donewhen.storage.archive import Archive\n"
        "try:\n    Archive.open(Path(sys.argv[1]), 'postgresql://x/y')\nexcept BadInput as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "storage.url needs the PostgreSQL driver: install donewhen[postgres]\n"


def test_the_driver_is_not_loaded_without_an_address(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom donewhen.storage.archive import Archive\n"
        "Archive.open(Path(sys.argv[1])).close()\nprint({'psycopg', 'anyio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_a_file_in_place_of_the_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineryBroke, match=r"^/.*/file/state: Not a directory$"):
        Archive.open(tmp_path / "file" / "state")


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """Two megabytes."""
    needs_root()
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run([needs("mount"), "-t", "tmpfs", "-o", "size=2m", "none", disk], capture_output=True)
    if mounted.returncode:
        leave_out("the right to mount a tmpfs")
    try:
        yield disk
    finally:
        subprocess.run([needs("umount"), "-l", disk], check=True)


def leave_room(disk: Path, pages: int) -> Path:
    """Fill it, except for some pages."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096) == 4096:
                pass
        except OSError:
            pass
        file.truncate(max(0, file.tell() - file.tell() % 4096 - pages * 4096))
    return ballast


def test_a_full_disk_is_one_line_and_the_same_write_works_later(small_disk: Path) -> None:
    """With every amount of space from none to plenty, so that each step of a write fails once."""
    refused = 0
    for pages in range(PAGES):
        with ExitStack() as stack:
            place = Place(small_disk / f"state{pages}", "", stack)
            archive = place.open()
            lease = archive.create("a", "/r", "title")
            lease.write(PlanText(text="first"))
            ballast = leave_room(small_disk, pages)
            long = PlanText(text="x" * 10_000)
            try:
                lease.write(long, long, note=("note", {}), sync=True)
            except MachineryBroke as error:
                refused += 1
                assert str(error).startswith((f"the disk of {place.database} is full", f"{place.database}"))
                assert texts(list(archive.records("a"))) == ["first"]
                ballast.unlink()
                lease.write(long, long, note=("note", {}))
            ballast.unlink(missing_ok=True)
            lease.write(PlanText(text="last"))
            assert [record.position for record in archive.records("a")] == [1, 2, 3, 4, 5]
            copies = [entry.position for entry in LogFile(place.log("a")).entries([]) if isinstance(entry, Written)]
            assert copies == [1, 2, 3, 4, 5]
            archive.close()
            assert place.open().warnings == []
        for path in sorted((small_disk / f"state{pages}").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    assert 0 < refused < PAGES


def test_an_archive_cannot_be_opened_on_a_full_disk_and_can_afterwards(small_disk: Path) -> None:
    ballast = leave_room(small_disk, 1)
    with pytest.raises(MachineryBroke):
        Archive.open(small_disk / "state")
    ballast.unlink()
    archive = Archive.open(small_disk / "state")
    assert archive.sessions() == [] and archive.warnings == []
    archive.close()
