"""Problems with the file of the memory: it is set aside, waited for briefly, or reported in one line."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from donewhen.errors import MachineryBroke
from donewhen.memory.counting import Counts
from donewhen.memory.open_store import FILE, RepairStoreHandle
from donewhen.memory.repair_store import RepairStore
from donewhen.memory.schema import MEMORY
from donewhen.storage.connection import Busy
from donewhen.storage.migrations import NewerSchema
from memory.repairs import learnt, patch

LEARNER = Path(__file__).with_name("learner.py")
GOLDEN = Path(__file__).parent / "golden"


def everything(store: RepairStore) -> int:
    return len(store.all())


def add(store: RepairStore) -> bool:
    return store.add(learnt())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    handle = RepairStoreHandle(tmp_path)
    assert handle.write(add)
    handle.close()
    return tmp_path / FILE


@pytest.mark.parametrize("how", ["text", "cut", "pages"])
def test_a_damaged_file_is_set_aside_with_one_line_and_a_new_one_is_created(file: Path, how: str) -> None:
    content = file.read_bytes()
    damaged = {"text": b"no database" * 100, "cut": content[: len(content) // 2 + 77], "pages": content[:4096]}[how]
    damaged += os.urandom(len(content) - 4096) if how == "pages" else b""
    file.write_bytes(damaged)
    handle = RepairStoreHandle(file.parent)
    assert handle.write(add)
    assert handle.read(everything, -1) == 1
    handle.close()
    (line,) = handle.warnings
    assert line.startswith(f"{file} was damaged and is kept as {file}.damaged-1")
    assert Path(f"{file}.damaged-1").exists()
    again = RepairStoreHandle(file.parent)
    assert (again.read(everything, -1), again.warnings) == (1, [])
    again.close()


def test_a_file_already_replaced_by_another_process_is_not_replaced_again(file: Path) -> None:
    first = RepairStoreHandle(file.parent)
    assert first.read(everything, -1) == 1
    file.write_bytes(b"no database" * 1000)
    for part in ("-wal", "-shm"):
        Path(f"{file}{part}").unlink(missing_ok=True)
    second = RepairStoreHandle(file.parent)
    assert second.write(add)
    assert len(second.warnings) == 1
    first.close()
    third = RepairStoreHandle(file.parent)
    assert (third.read(everything, -1), third.warnings) == (1, [])
    second.close()
    third.close()


def test_a_lock_is_waited_for_briefly_and_reading_still_works(file: Path) -> None:
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    handle = RepairStoreHandle(file.parent, lock_timeout=0.01)
    assert handle.read(everything, -1) == 1
    with pytest.raises(Busy, match="locked by another process"):
        handle.write(lambda store: store.forget([learnt().id]))
    holder.execute("ROLLBACK")
    holder.close()
    assert handle.write(lambda store: store.forget([learnt().id])) == 1
    handle.close()


def test_parallel_processes_that_create_and_write_the_memory_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(LEARNER.parents[1]))
    processes = [
        subprocess.Popen(
            [sys.executable, LEARNER, tmp_path, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "two", "three")
    ]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0]
    handle = RepairStoreHandle(tmp_path)
    assert handle.read(everything, -1) == 3 + 3 * 5
    handle.close()


def test_a_directory_at_the_path_of_the_memory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(MachineryBroke, match=r"memory\.db: Is a directory"):
        RepairStoreHandle(tmp_path).read(everything, -1)


def test_a_file_that_cannot_be_written_is_one_line() -> None:
    with tempfile.TemporaryDirectory() as place, as_an_ordinary_user(Path(place)):
        with pytest.raises(MachineryBroke, match=r"memory\.db: Permission denied"):
            RepairStoreHandle(Path(place)).read(everything, -1)


@contextmanager
def as_an_ordinary_user(place: Path) -> Generator[Path]:
    """With a memory file that this user may not write, and an unreadable directory; root may do everything."""
    place.chmod(0o755)
    (place / FILE).touch(0o444)
    inner = place / "inner"
    inner.mkdir(0o000)
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield inner
    finally:
        os.seteuid(before)


def test_a_file_of_a_newer_donewhen_is_refused_and_left_alone(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO donewhen_memory_migrations VALUES (99)")
    connection.close()
    with pytest.raises(NewerSchema, match=r"^the memory was written by a newer donewhen"):
        RepairStoreHandle(file.parent).write(add)
    assert not list(file.parent.glob("*.damaged-*"))


def test_every_schema_version_has_a_golden_file_that_still_opens(tmp_path: Path) -> None:
    assert [path.name for path in sorted(GOLDEN.iterdir())] == [
        f"v{n}.sqlite.db" for n in range(1, len(MEMORY.steps) + 1)
    ]
    for golden in GOLDEN.iterdir():
        shutil.copy(golden, tmp_path / FILE)
        handle = RepairStoreHandle(tmp_path)
        found = handle.read(lambda store: store.all("declared"), [])
        assert {known.repair.approach for known in found} == {"declared it", "declared vat"}
        assert handle.read(lambda store: store.find(learnt().id).counts, None) == Counts(
            shown=1, helped=1, withheld=1, withheld_red=1
        )
        texts = handle.read(lambda store: store.texts.newest("/repo", "loop:sweeper", 5), [])
        assert [one.text for one in texts] == ([] if golden.name < "v3" else ["reported — all is green"])
        assert handle.write(lambda store: store.add(learnt(said="a new one", patch=patch("new"))))
        assert handle.warnings == []
        handle.close()


def test_only_the_owner_can_read_the_memory(file: Path) -> None:
    assert [path.name for path in file.parent.iterdir() if path.stat().st_mode & 0o077] == []


def test_forgotten_text_is_erased_from_the_file(file: Path) -> None:
    handle = RepairStoreHandle(file.parent)
    words = (b"zebrafish", b"okapi")
    secret = learnt(said="the zebrafish", patch=patch("okapi"))
    assert handle.write(lambda store: store.add(secret))
    assert all(_somewhere(file, word) for word in words)
    assert handle.write(lambda store: store.forget([secret.id])) == 1
    assert not any(_somewhere(file, word) for word in words)  # also while it is open
    handle.close()
    assert not any(_somewhere(file, word) for word in words)


def _somewhere(file: Path, word: bytes) -> bool:
    return any(word in part.read_bytes() for part in file.parent.glob(f"{file.name}*"))


def test_an_unreadable_directory_is_one_line_and_not_an_empty_memory() -> None:
    with tempfile.TemporaryDirectory() as place, as_an_ordinary_user(Path(place)) as inner:
        with pytest.raises(MachineryBroke, match=r"memory\.db: Permission denied"):
            RepairStoreHandle(inner).read(everything, -1)
