"""The lock and the stamp beside a SQLite file: who has it open, and whether it is as the last one left it.

Many may have the file open; only somebody who is alone with it may examine and replace it. The stamp is written by
the last who closes, and taken away by the first who writes. A file that differs from its stamp, or has none, is
examined before it is used: so an ordinary start costs a few system calls, and the start after a crash is thorough.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from donewhen.storage.connection import Busy

_STEP = 0.005


class Guard:
    def __init__(self, database: Path, patience: float) -> None:
        self._database = database
        self._stamp = database.with_name(f"{database.name}.stamp")
        self._patience = patience
        self._descriptor = os.open(
            database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )

    def enter(self) -> bool:
        """Whether we are alone with the file; otherwise others have it open, and have examined it."""
        deadline = time.monotonic() + self._patience
        while True:
            if self._lock(fcntl.LOCK_EX):
                return True
            if self._lock(fcntl.LOCK_SH):
                return False
            if time.monotonic() > deadline:
                raise Busy(f"{self._database} is being examined by another process for {self._patience:g} s by now")
            time.sleep(_STEP)

    def share(self) -> None:
        """Let others in. Whoever comes between finds the file as good as we do."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def is_trusted(self) -> bool:
        """Whether the file is just as the last one who closed it left it."""
        with contextlib.suppress(OSError):
            return not self._has_journal() and self._stamp.read_text() == self._state()
        return False

    def distrust(self) -> None:
        """To be called before anything is written, and when something is found to be wrong."""
        self._stamp.unlink(missing_ok=True)

    def leave(self, sound: bool) -> None:
        """To be called when the connection is closed. The last one vouches for the file, if it seemed sound."""
        with contextlib.suppress(OSError):  # without a stamp the next start is thorough, that is all
            if not sound:
                self.distrust()
            elif self._lock(fcntl.LOCK_EX) and not self._has_journal():
                self._renew_stamp()
        os.close(self._descriptor)

    def _renew_stamp(self) -> None:
        """One that is still there says that none of us has written. Then whatever changed, changed by other hands."""
        if not self._stamp.exists():
            self._write_stamp()
        elif not self.is_trusted():
            self.distrust()

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
