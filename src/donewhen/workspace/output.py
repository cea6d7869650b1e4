"""What a command printed, in bounded memory: its head, its tail, how much there was, and a capped spool on disk.

Bytes only. Decoding, line-wise cutting and redaction belong to whoever shows it.
"""

import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path

KEEP_BYTES = 64 * 1024
SPOOL_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Output:
    head: bytes = b""
    tail: bytes = b""
    total: int = 0
    """All bytes that were printed, kept or not."""

    @property
    def cut(self) -> int:
        """How many bytes between head and tail were not kept."""
        return self.total - len(self.head) - len(self.tail)

    def whole(self) -> bytes:
        """Everything, or head and tail with the gap marked between them."""
        if not self.cut:
            return self.head + self.tail
        return self.head + b"\n[... %d bytes cut ...]\n" % self.cut + self.tail


class Recorder:
    """Collects one stream: the first `keep_bytes`, the last `keep_bytes`, and the first `spool_bytes` on disk."""

    def __init__(self, keep_bytes: int = KEEP_BYTES, spool: Path | None = None, spool_bytes: int = SPOOL_BYTES) -> None:
        self._keep = keep_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._total = 0
        self._spool = os.open(spool, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600) if spool else None
        self._spool_left = spool_bytes

    def add(self, chunk: bytes) -> None:
        self._total += len(chunk)
        self._write_spool(chunk)
        room = self._keep - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk[-self._keep :] if len(chunk) > self._keep else chunk)
            self._tail_bytes += len(self._tail[-1])
            while self._tail_bytes - len(self._tail[0]) >= self._keep:
                self._tail_bytes -= len(self._tail.popleft())

    def _write_spool(self, chunk: bytes) -> None:
        if self._spool is None or self._spool_left <= 0:
            return
        part = memoryview(chunk)[: self._spool_left]
        self._spool_left -= len(part)
        while part:
            part = part[os.write(self._spool, part) :]

    def finish(self) -> Output:
        if self._spool is not None:
            os.close(self._spool)
            self._spool = None
        tail = b"".join(self._tail)[-self._keep :] if self._keep else b""
        return Output(bytes(self._head), tail, self._total)
