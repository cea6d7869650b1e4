"""The output of a command in bounded memory: head, tail, total size, and a spool file on disk of limited size.

`OutputPipe` is the pipe that a command writes to; `OutputBuffer` keeps what was read from it. Bytes only: decoding,
splitting into lines and redaction belong to the code that shows the output.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from donewhen.errors import MachineryBroke

KEEP_BYTES = 64 * 1024
SPOOL_BYTES = 64 * 1024 * 1024
PIPE_BYTES = 1 << 20
F_SETPIPE_SZ = 1031

Watch = Callable[[bytes], None]


class Output(NamedTuple):
    head: bytes = b""
    tail: bytes = b""
    total: int = 0
    """Number of bytes printed, kept or not."""

    @property
    def cut(self) -> int:
        """Return how many bytes between head and tail were not kept."""
        return self.total - len(self.head) - len(self.tail)

    def whole(self) -> bytes:
        """Return all output, or head and tail with the gap marked between them."""
        if not self.cut:
            return self.head + self.tail
        return self.head + b"\n[... %d bytes cut ...]\n" % self.cut + self.tail


class OutputBuffer:
    """Collects one stream: the first `keep_bytes`, the last `keep_bytes`, and the first `spool_bytes` on disk."""

    def __init__(self, keep_bytes: int = KEEP_BYTES, spool: Path | None = None, spool_bytes: int = SPOOL_BYTES) -> None:
        self._keep = keep_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._spool_path = spool
        self._spool = _new_file(spool) if spool is not None else None
        self._spool_left = spool_bytes

    def add(self, chunk: bytes) -> None:
        self._total += len(chunk)
        self._write_spool(chunk)
        space = self._keep - len(self._head)
        if space > 0:
            self._head += chunk[:space]
            chunk = chunk[space:]
        if chunk and self._keep:
            self._tail += chunk[-self._keep :]
            if len(self._tail) > 2 * self._keep:  # not at every chunk: moving the tail is O(its length)
                del self._tail[: -self._keep]

    def _write_spool(self, chunk: bytes) -> None:
        if self._spool is None or self._spool_left <= 0:
            return
        part = memoryview(chunk)[: self._spool_left]
        self._spool_left -= len(part)
        try:
            while part:
                part = part[os.write(self._spool, part) :]
        except OSError as error:
            raise MachineryBroke(f"cannot keep output in {self._spool_path}: {error.strerror}") from error

    def output(self) -> Output:
        return Output(bytes(self._head), bytes(self._tail[-self._keep :]) if self._keep else b"", self._total)

    def close(self) -> None:
        if self._spool is not None:
            os.close(self._spool)
            self._spool = None


def _new_file(path: Path) -> int:
    """Create a file that only this user can access. Never follow a link or overwrite an existing file."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise MachineryBroke(f"cannot keep output in {path}: {error.strerror}") from error


class OutputPipe:
    """One output pipe of a command, read without blocking into an `OutputBuffer`."""

    def __init__(self, buffer: OutputBuffer, listener: Watch | None) -> None:
        self._buffer = buffer
        self._listener = listener
        self.reader = self.writer = -1

    def open(self) -> None:
        reader, self.writer = os.pipe()
        self.read_from(reader)

    def read_from(self, reader: int) -> None:
        """Read from this end of a pipe; another process may hold the other end."""
        self.reader = reader
        os.set_blocking(reader, False)
        with contextlib.suppress(OSError):  # an ordinary user may exceed the quota for large pipes
            fcntl.fcntl(reader, F_SETPIPE_SZ, PIPE_BYTES)

    def read(self) -> int:
        """Record the available bytes; return their number, 0 if every writer has closed its end."""
        chunk = os.read(self.reader, PIPE_BYTES)
        if chunk:
            self._buffer.add(chunk)
            if self._listener is not None:
                self._listener(chunk)
        return len(chunk)

    def drain(self) -> None:
        """Read the rest, at most what a pipe holds: a process outside the command may have been given the write end."""
        left = PIPE_BYTES if self.reader >= 0 else 0
        with contextlib.suppress(BlockingIOError):
            while left > 0 and (count := self.read()):
                left -= count

    def output(self) -> Output:
        return self._buffer.output()

    def close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        self.close_writer()
        if self.reader >= 0:
            os.close(self.reader)
            self.reader = -1
        self._buffer.close()
