"""A log under load: one process appends 10,000 events, another follows them with 20 readers, on both databases.

The readers share one archive, as those of the daemon do. None may miss an event or see one twice.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import aclosing
from pathlib import Path

import anyio

from donewhen.events import ToolResult
from donewhen.storage.archive import Archive

EVENTS = 10_000
READERS = 20
ROOT = Path(__file__).parents[1]


def append(directory: str, url: str) -> None:
    """The other process: tell the time in every event, so that readers know how late they are."""
    archive = Archive.open(Path(directory), url)
    lease = archive.claim("bench")
    print("ready", flush=True)
    sys.stdin.readline()
    began, cpu = time.monotonic(), time.process_time()
    for number in range(EVENTS):
        lease.write(ToolResult(id=str(number), tool="shell", ok=True, preview=str(time.monotonic_ns())))
    took, cpu = time.monotonic() - began, time.process_time() - cpu
    archive.close()
    print(f"{EVENTS / took:,.0f} events/s, {cpu / EVENTS * 1e6:.0f} µs of CPU each", flush=True)


async def read(archive: Archive, lags: list[float]) -> None:
    expected = 1
    async with aclosing(archive.follow("bench")) as records:
        async for record in records:
            assert record.seq == expected, f"a reader got {record.seq} instead of {expected}"
            lags.append((time.monotonic_ns() - int(record.body["preview"])) / 1e6)
            expected += 1
            if expected > EVENTS:
                return


async def follow(archive: Archive, writer: subprocess.Popen[str]) -> list[float]:
    lags: list[float] = []
    assert writer.stdin
    async with anyio.create_task_group() as group:
        for _ in range(READERS):
            group.start_soon(read, archive, lags)
        writer.stdin.write("\n")
        writer.stdin.flush()
    return lags


def measure(name: str, directory: str, url: str) -> None:
    archive = Archive.open(Path(directory), url)
    archive.create("bench", "/repository", "a bench").release()
    command = [sys.executable, __file__, directory, url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout and writer.stdout.readline() == "ready\n"
        began, cpu = time.monotonic(), time.process_time()
        lags = anyio.run(follow, archive, writer)
        took, cpu = time.monotonic() - began, time.process_time() - cpu
        wrote = writer.stdout.readline().strip()
    assert len(lags) == EVENTS * READERS
    archive.close()
    middle, late = statistics.median(lags), statistics.quantiles(lags, n=100)[98]
    print(f"{name}: written {wrote}")
    each = f"{cpu / len(lags) * 1e6:.0f} µs of CPU each"
    print(f"{name}: read {len(lags) / took:,.0f} events/s by {READERS} readers, {each}")
    print(f"{name}: no gap; behind by {middle:.0f} ms in the middle, {late:.0f} ms for one in a hundred")


def measure_start(directory: str) -> None:
    """What a command like `list` pays for the archive."""
    taken: list[float] = []
    for _ in range(21):
        began = time.perf_counter()
        archive = Archive.open(Path(directory))
        archive.sessions(limit=20)
        archive.close()
        taken.append((time.perf_counter() - began) * 1000)
    print(f"sqlite: open, list, close: {statistics.median(taken):.1f} ms (target 5)")
    os.utime(Path(directory) / "sessions.db")
    began = time.perf_counter()
    Archive.open(Path(directory)).close()
    print(f"sqlite: open with a full examination: {(time.perf_counter() - began) * 1000:.0f} ms")


def measure_on_server() -> None:
    if not (list(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb")):
        print("postgresql: left out, there is no server on this machine")
        return
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from tests.postgres import running

    with running() as port, tempfile.TemporaryDirectory() as directory:
        measure("postgresql", directory, f"postgresql://postgres@127.0.0.1:{port}/postgres")


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        measure("sqlite", directory, "")
        measure_start(directory)
    measure_on_server()


if __name__ == "__main__":
    append(*sys.argv[1:])
