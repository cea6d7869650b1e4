"""Lock file and stamp file next to a SQLite file: who has it open, and whether it changed since the last close.

Many processes may have the file open. Only a process that is alone with it may examine and replace it. The last process
that closes the file writes the stamp, and the first process that writes removes it. A file that differs from its stamp,
or has none, is examined before use. So a normal start costs a few system calls, and a start after a crash is thorough.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from donewhen.storage.connection import Busy

_STEP = 0.005


class DatabaseLock:
    def __init__(self, database: Path, lock_timeout: float) -> None:
        self._database = database
        self._stamp = database.with_name(f"{database.name}.stamp")
        self._lock_timeout = lock_timeout
        self._descriptor = os.open(
            database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )

    def acquire(self) -> bool:
        """Return True if this process is alone with the file. If not, others have it open and have examined it."""
        deadline = time.monotonic() + self._lock_timeout
        while True:
            if self._lock(fcntl.LOCK_EX):
                return True
            if self._lock(fcntl.LOCK_SH):
                return False
            if time.monotonic() > deadline:
                raise Busy(f"{self._database} has been locked by another process for {self._lock_timeout:g} s")
            time.sleep(_STEP)

    def share(self) -> None:
        """Change to a shared lock. A process that gets in between finds the file in the same good state."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def has_valid_stamp(self) -> bool:
        """Return True if the file is unchanged since the last process closed it."""
        with contextlib.suppress(OSError):
            return not self._has_journal() and self._stamp.read_text() == self._state()
        return False

    def remove_stamp(self) -> None:
        """Remove the stamp. Call this before any write, and when damage is found."""
        self._stamp.unlink(missing_ok=True)

    def release(self, sound: bool) -> None:
        """Release the lock after the connection is closed. The last process writes the stamp if the file is sound."""
        with contextlib.suppress(OSError):  # a missing stamp only makes the next start thorough
            if not sound:
                self.remove_stamp()
            elif self._lock(fcntl.LOCK_EX) and not self._has_journal():
                self._renew_stamp()
        os.close(self._descriptor)

    def _renew_stamp(self) -> None:
        """Write the stamp. If one exists, no donewhen wrote: then a change of the file came from another program."""
        if not self._stamp.exists():
            self._write_stamp()
        elif not self.has_valid_stamp():
            self.remove_stamp()

    def _write_stamp(self) -> None:
        descriptor = os.open(self._stamp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, self._state().encode())
        finally:
            os.close(descriptor)

    def _state(self) -> str:
        status = os.stat(self._database)
        return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}\n"

    def _has_journal(self) -> bool:
        return os.path.exists(f"{self._database}-wal")

    def _lock(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
