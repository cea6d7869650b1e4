"""Log file of one session: a second copy of its records, from which a database can be rebuilt.

Each line is a checksum and JSON: first a header that describes the session, then its records. Lines are appended after
the database has the records, so the file may be behind the database. It is ahead only if the database lost records. A
line that cannot be read is skipped and reported. Later records keep their positions, so a lost record leaves a gap.
"""

import json
import os
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from donewhen.records import frozen
from donewhen.storage.record import LONGEST, Written, record_in

_LONGEST_LINE = LONGEST + 1024 * 1024
_BLOCK = 64 * 1024
_WINDOWS = (_BLOCK, 16 * _BLOCK)
"""Bytes at the end of the file that are searched for the last record, before the whole file is read."""
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW


@frozen
class LogHeader:
    """The first line: a description of the session."""

    session: str
    repo: str
    title: str
    created_at: str


@frozen
class LogFile:
    path: Path

    @property
    def session(self) -> str:
        return self.path.name.removesuffix(".jsonl")

    def begin(self, head: LogHeader) -> None:
        """Create the file, or replace an existing one."""
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = self.path.with_suffix(".new")
        temporary.unlink(missing_ok=True)
        fields = {"session": head.session, "repo": head.repo, "title": head.title, "created_at": head.created_at}
        with _open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
            _write_all(descriptor, _line(json.dumps({"format": 1, **fields})))
        temporary.rename(self.path)

    def append(self, records: Iterable[Written]) -> None:
        """Append all records, or none if the disk is full."""
        data = b"".join(_line(record.payload()) for record in records)
        with _open(self.path, os.O_WRONLY | os.O_APPEND) as descriptor:
            size = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, data)
            except OSError:
                os.ftruncate(descriptor, size)
                raise

    def repair_end(self) -> list[str]:
        """Repair the end: add a missing line end, or move an incomplete last line to another file. Return warnings."""
        with _open(self.path, os.O_RDWR) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
            end, good = os.fstat(descriptor).st_size, _end_of_last_line(file)
            if good == end:
                return []
            file.seek(good)
            if end - good <= _LONGEST_LINE and _decode(file.read(end - good)) is not None:
                os.pwrite(descriptor, b"\n", end)
                return []
            kept = self._move_incomplete(file, good)
            os.ftruncate(descriptor, good)
        return [f"{self.path}: the last write was incomplete; moved {end - good} bytes to {kept.name}"]

    def _move_incomplete(self, file: BinaryIO, start: int) -> Path:
        number = 1
        while (kept := self.path.with_name(f"{self.path.name}.cut-{number}")).exists():
            number += 1
        file.seek(start)
        with _open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
            while block := file.read(_BLOCK):
                _write_all(descriptor, block)
        return kept

    def last_position(self) -> int:
        """Return the position of the last readable record; 0 if there is none, -1 without a file or any valid line."""
        try:
            with open(self.path, "rb") as file:
                last = next((_position(entry) for window in _WINDOWS for entry in _last_entries(file, window)), None)
        except FileNotFoundError:
            return -1
        if last is not None:
            return last
        found = -1
        for entry in self.entries([]):
            found = max(found, entry.position if isinstance(entry, Written) else 0)
        return found

    def entries(self, warnings: list[str]) -> Iterator[LogHeader | Written]:
        """Yield every readable entry in order, line by line. Add a warning for each line that cannot be read."""
        with open(self.path, "rb") as file:
            for number, line in enumerate(_lines(file), 1):
                entry = None if line is None else _decode(line)
                found = None if entry is None else _head(entry) or record_in(entry)
                if found is None:
                    why = "is too long" if line is None else "cannot be read"
                    warnings.append(f"{self.path}: line {number} {why} and was skipped")
                else:
                    yield found

    def records(self, after: int) -> Iterator[Written]:
        """Yield the records after a position, for a database that lost them."""
        for entry in self.entries([]):
            if isinstance(entry, Written) and entry.position > after:
                yield entry

    def remove(self) -> None:
        cut = self.path.parent.glob(f"{self.path.name}.cut-*")
        for path in (self.path, self.path.with_suffix(".new"), *cut):
            path.unlink(missing_ok=True)


def log_files(directory: Path) -> list[LogFile]:
    return [LogFile(path) for path in sorted(directory.glob("*.jsonl"))]


def _line(payload: str) -> bytes:
    data = payload.encode()
    return b"%08x %s\n" % (zlib.crc32(data), data)


def _decode(line: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object of a line; None if the line is damaged."""
    data = line[9:].rstrip(b"\n")
    if line[:9] != b"%08x " % zlib.crc32(data):
        return None
    try:
        entry = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None  # pyright: ignore[reportUnknownVariableType] - any object of JSON


def _head(entry: Mapping[str, Any]) -> LogHeader | None:
    match entry:
        case {"session": str(session), "repo": str(repo), "title": str(title), "created_at": str(created_at)}:
            return LogHeader(session, repo, title, created_at)
        case _:
            return None


def _position(entry: Mapping[str, Any]) -> int:
    record = record_in(entry)
    return record.position if record else 0


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield each line; None for a line that is too long to be ours, which is skipped without keeping it in memory."""
    while line := file.readline(_LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < _LONGEST_LINE:
            yield line
            continue
        while (rest := file.readline(_BLOCK)) and not rest.endswith(b"\n"):
            pass
        yield None


def _last_entries(file: BinaryIO, window: int) -> Iterator[Mapping[str, Any]]:
    """Yield the valid lines among the last `window` bytes, last first."""
    start = max(0, file.seek(0, os.SEEK_END) - window)
    file.seek(start)
    whole = list(_lines(file))[1 if start else 0 :]
    return (entry for line in reversed(whole) if line and (entry := _decode(line)) is not None)


def _end_of_last_line(file: BinaryIO) -> int:
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


@contextmanager
def _open(path: Path, flags: int) -> Generator[int]:
    descriptor = os.open(path, flags | _FLAGS, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
