"""The log file next to the database: damaged parts are skipped, named and bounded. Nothing else is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import DEAD, RUNNING, SAID, Place, texts

from donewhen.events import PlanText
from donewhen.storage.log_file import LogFile, LogHeader
from donewhen.storage.record import Written, encode
from tiers import examples

HEAD = LogHeader("a", "/r", "title", "2026-01-01T00:00:00.000Z")


def record(position: int, text: str = "said") -> Written:
    return Written(position, position, "2026-01-01T00:00:00.000Z", 1, "plan_text", encode({"text": text}))


@pytest.fixture
def mirror(tmp_path: Path) -> LogFile:
    """Five records."""
    mirror = LogFile(tmp_path / "logs" / "a.jsonl")
    mirror.begin(HEAD)
    mirror.append(record(n, f"text {n} ä") for n in range(1, 6))
    return mirror


def read(mirror: LogFile) -> tuple[list[int], list[str]]:
    warnings: list[str] = []
    found = [entry.position for entry in mirror.entries(warnings) if isinstance(entry, Written)]
    return found, warnings


def test_a_complete_log_file_is_read_without_warnings_and_is_private(mirror: LogFile) -> None:
    assert read(mirror) == ([1, 2, 3, 4, 5], [])
    assert next(mirror.entries([])) == HEAD
    assert mirror.last_position() == 5 and mirror.repair_end() == []
    assert mirror.path.stat().st_mode & 0o777 == 0o600


def test_an_incomplete_end_is_cut_off_and_kept_aside_and_the_file_continues(mirror: LogFile) -> None:
    data = mirror.path.read_bytes()
    start = data.rindex(b"\n", 0, -1) + 1
    for size in range(start, len(data)):
        mirror.path.write_bytes(data[:size])
        warnings = mirror.repair_end()
        whole = size == len(data) - 1
        assert mirror.last_position() == (5 if whole else 4)
        assert bool(warnings) == (start < size and not whole)
        mirror.append([record(6), record(7)])
        assert read(mirror) == ([1, 2, 3, 4, *([5] if whole else []), 6, 7], [])
        for kept in mirror.path.parent.glob("*.cut-1"):
            assert data[start:size] == kept.read_bytes() and kept.stat().st_mode & 0o777 == 0o600
            kept.unlink()


def test_a_part_cut_off_earlier_is_never_overwritten(mirror: LogFile) -> None:
    for torn in (b"one", b"two"):
        with mirror.path.open("ab") as file:
            file.write(torn)
        assert mirror.repair_end() != []
    kept = sorted(mirror.path.parent.glob("a.jsonl.cut-*"))
    assert [path.read_bytes() for path in kept] == [b"one", b"two"]
    mirror.remove()
    assert list(mirror.path.parent.iterdir()) == []


def line_of(data: bytes, number: int) -> tuple[int, int]:
    lines = data.splitlines(keepends=True)
    start = sum(map(len, lines[: number - 1]))
    return start, start + len(lines[number - 1])


@pytest.mark.parametrize(
    "damage",
    [b"\0" * 60, b"\xff\xfe\x80" * 20, b"{}", b"", b"no line of ours", b"[" * 100_000],
    ids=["NUL", "not UTF-8", "other JSON", "empty", "words", "deep"],
)
def test_a_bad_line_in_the_middle_is_skipped_and_the_others_keep_their_positions(
    mirror: LogFile, damage: bytes
) -> None:
    data = mirror.path.read_bytes()
    start, end = line_of(data, 4)
    mirror.path.write_bytes(data[:start] + damage + b"\n" + data[end:])
    assert read(mirror) == ([1, 2, 4, 5], [f"{mirror.path}: line 4 cannot be read and was skipped"])


def test_a_block_of_nul_bytes_loses_only_the_lines_it_covers(mirror: LogFile) -> None:
    mirror.append(record(n, "x" * 50) for n in range(6, 30))
    data = bytearray(mirror.path.read_bytes())
    start = line_of(bytes(data), 8)[0] + 10
    data[start : start + 700] = b"\0" * 700
    mirror.path.write_bytes(data)
    found, warnings = read(mirror)
    assert found[:6] == [1, 2, 3, 4, 5, 6] and found[-1] == 29 and len(found) > 20
    assert found == sorted(found) and len(warnings) == 1


def test_a_flipped_bit_anywhere_in_a_record_is_detected(mirror: LogFile) -> None:
    data = mirror.path.read_bytes()
    start, end = line_of(data, 3)
    for place in range(start, end - 1):
        mirror.path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        assert 2 not in read(mirror)[0], place


READ = """
import resource, sys
from pathlib import Path
from donewhen.storage.log_file import LogFile, Written
resource.setrlimit(resource.RLIMIT_DATA, (120_000_000, 120_000_000))
warnings, mirror = [], LogFile(Path(sys.argv[1]))
positions = [entry.position for entry in mirror.entries(warnings) if isinstance(entry, Written)]
print(positions, mirror.last_position(), warnings)
"""


def test_a_line_of_a_hundred_megabytes_is_skipped_in_bounded_memory(mirror: LogFile) -> None:
    with mirror.path.open("ab") as file:
        file.truncate(mirror.path.stat().st_size + 300_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    mirror.append([record(6)])
    done = subprocess.run([sys.executable, "-c", READ, mirror.path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[1, 2, 3, 4, 5, 6] 6 [") and "line 7 is too long and was skipped" in done.stdout
    with mirror.path.open("ab") as file:
        file.truncate(mirror.path.stat().st_size + 100_000_000)
    assert "moved 100000000 bytes to" in mirror.repair_end()[0]
    assert mirror.last_position() == 6


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(noise=st.binary(max_size=300), share=st.floats(0, 1))
def test_any_bytes_in_a_log_file_can_be_read(tmp_path: Path, noise: bytes, share: float) -> None:
    mirror = LogFile(tmp_path / "logs" / "a.jsonl")
    mirror.begin(HEAD)
    mirror.append(record(n) for n in range(1, 8))
    data = mirror.path.read_bytes()
    place = int(len(data) * share)
    mirror.path.write_bytes(data[:place] + noise + data[place + len(noise) // 2 :])
    found, _ = read(mirror)
    assert found == sorted(found) and set(found) <= set(range(1, 8))
    mirror.repair_end()
    mirror.append([record(8)])
    assert mirror.last_position() == 8 and read(mirror)[0][-1] == 8


# With the database next to it.


def test_a_log_file_left_behind_by_a_crash_is_updated_by_the_next_claim(sqlite: Place) -> None:
    archive = sqlite.open()
    archive.create("a", "/r", "title", owner=DEAD).write(*[SAID] * 5)
    whole = sqlite.log("a").read_bytes()
    for damage in (whole[:-30], whole[: len(whole) // 2], b"", whole + b"\0" * 500):
        sqlite.log("a").write_bytes(damage)
        archive.claim("a", DEAD)
        assert sqlite.log("a").read_bytes() == whole
    sqlite.log("a").unlink()
    archive.claim("a", DEAD)
    assert sqlite.log("a").read_bytes() == whole


def test_a_log_file_removed_while_the_session_runs_is_written_again(sqlite: Place) -> None:
    lease = sqlite.open().create("a", "/r", "title")
    lease.write(SAID)
    sqlite.log("a").unlink()
    lease.write(SAID)
    lease.write(SAID)
    assert read(LogFile(sqlite.log("a"))) == ([1, 2, 3], [])


def test_an_unwritable_log_file_is_named_and_completed_later(sqlite: Place) -> None:
    archive = sqlite.open()
    lease = archive.create("a", "/r", "title")
    lease.write(PlanText(text="1"))
    kept = sqlite.log("a").rename(sqlite.directory / "elsewhere")
    sqlite.log("a").mkdir()
    lease.write(PlanText(text="2"))
    lease.write(PlanText(text="3"))
    assert archive.warnings == [f"{sqlite.log('a')} is behind the database: Is a directory"]
    sqlite.log("a").rmdir()
    kept.rename(sqlite.log("a"))
    lease.write(PlanText(text="4"))
    assert texts(list(archive.events("a"))) == ["1", "2", "3", "4"]
    assert read(LogFile(sqlite.log("a"))) == ([1, 2, 3, 4], [])


def test_records_that_only_the_log_file_has_are_restored_by_the_next_claim(sqlite: Place) -> None:
    archive = sqlite.open()
    archive.create("a", "/r", "title", owner=DEAD).write(*(PlanText(text=str(n)) for n in range(1, 6)), RUNNING)
    before, (row,) = list(archive.records("a")), archive.sessions()
    for lost in (
        "DELETE FROM donewhen_records WHERE position > 3",
        "UPDATE donewhen_sessions SET position = 3, seq = 3",
    ):
        archive._connection.run(lost)  # pyright: ignore[reportPrivateUsage] - a power failure, while others had it open
    archive._connection.run("UPDATE donewhen_sessions SET state = 'created'")  # pyright: ignore[reportPrivateUsage] - the same
    lease = archive.claim("a")
    assert archive.warnings == [f"3 records of session a were restored from {sqlite.log('a')}"]
    assert list(archive.records("a")) == before and archive.sessions() == [row]
    assert lease.write(SAID)[0].position == 7
    assert read(LogFile(sqlite.log("a"))) == ([1, 2, 3, 4, 5, 6, 7], [])
