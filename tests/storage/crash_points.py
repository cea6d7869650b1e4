"""A program that kills itself at every line of the storage code, one child for each, and examines the result.

`python crash_points.py SCENE DIRECTORY` prints the number of points. It is not a test module because it forks, which
only a process with a single thread may do.
"""

import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from donewhen.events import PlanText
from donewhen.storage import archive as storage
from donewhen.storage.archive import Archive
from donewhen.storage.log_file import LogFile, Written

ROOM = str(Path(storage.__file__).parent)
WRITES = 4
MOST = 120
"""Crash points of one scene; of longer ones every second, third … line is used."""


def die_at(point: int) -> Callable[[], int]:
    """Count the lines of the storage from now on, and die at one of them. Return the count for survivors."""
    passed = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(ROOM):
            return None
        if event == "line":
            passed += 1
            if passed == point:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    return lambda: passed


def in_child(act: Callable[[], None], point: int) -> int:
    """Return the number of lines, or 0 if it was killed."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        passed = die_at(point)
        act()
        os.write(writing, str(passed()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        took = answer.read()
    os.waitpid(child, 0)
    return int(took or 0)


# Writing: acknowledged records are there, no partial records are there, and the next write works.


def write(directory: Path) -> None:
    archive = Archive.open(directory)
    lease = archive.create("a", "/r", "title")
    for number in range(WRITES):
        lease.write(PlanText(text=str(number)), PlanText(text="more"), note=("note", {}), sync=number % 2 == 0)
        (directory / "acknowledged").write_text(str(number + 1))
    lease.release()
    archive.close()


def look_after_writing(directory: Path) -> None:
    acknowledged = directory / "acknowledged"
    promised = int(acknowledged.read_text()) if acknowledged.exists() else 0
    archive = Archive.open(directory)
    assert archive.warnings == [], archive.warnings
    if archive.sessions():
        lease = archive.claim("a")
        assert archive.warnings == [], archive.warnings
        count = len(list(archive.records("a")))
        assert count in (3 * promised, 3 * promised + 3), (count, promised)
        assert lease.write(PlanText(text="after"))[0].seq == count // 3 * 2 + 1
        warnings: list[str] = []
        copies = list(LogFile(directory / "logs" / "a.jsonl").entries(warnings))
        assert warnings == [], warnings
        assert [copy.position for copy in copies if isinstance(copy, Written)] == list(range(1, count + 2))
    else:
        assert promised == 0
    archive.close()


# Rebuilding: after an interruption at any point the next start has everything, and the damaged file is kept.


def damage(directory: Path) -> None:
    """The last record of one session is only in the damaged file."""
    archive = Archive.open(directory)
    for name in ("a", "b"):
        archive.create(name, "/r", "title").write(*[PlanText(text="x" * 2000)] * 5)
    archive.close()
    lines = (directory / "logs" / "a.jsonl").read_bytes().splitlines(keepends=True)
    (directory / "logs" / "a.jsonl").write_bytes(b"".join(lines[:-1]))
    destroy_index(directory / "sessions.db")


def destroy_index(database: Path) -> None:
    """The table stays readable: only the root of the index over (session, seq) is lost."""
    connection = sqlite3.connect(database)
    named = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_donewhen_records_2'"
    (page,) = connection.execute(named).fetchone()
    connection.close()
    with database.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)


def rebuild(directory: Path) -> None:
    Archive.open(directory).close()


def look_after_rebuilding(directory: Path) -> None:
    archive = Archive.open(directory)
    for name in ("a", "b"):
        found = [record.seq for record in archive.events(name)]
        assert found == [1, 2, 3, 4, 5], found
    archive.close()
    assert any(path.name.startswith("sessions.db.damaged-") for path in directory.iterdir())
    assert not list(directory.glob("*.re*")), list(directory.iterdir())


def nothing(directory: Path) -> None:
    """To start with an empty directory."""


SCENES = {"write": (nothing, write, look_after_writing), "rebuild": (damage, rebuild, look_after_rebuilding)}


def main(scene: str, place: Path, sparse: int) -> None:
    prepare, act, look = SCENES[scene]
    original, directory = place / "original", place / "state"
    original.mkdir()
    prepare(original)
    shutil.copytree(original, directory)
    total, points = in_child(lambda: act(directory), 0), 0
    for point in range(1, total + 1, -(-total // MOST) * sparse):
        shutil.rmtree(directory)
        shutil.copytree(original, directory)
        assert in_child(lambda: act(directory), point) == 0
        # Again, during the recovery of the next start.
        in_child(lambda: rebuild(directory), point // 2 + 1)
        look(directory)
        points += 1
    sys.stdout.write(f"{points} of {total}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
