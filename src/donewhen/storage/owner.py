"""Owner of a session: one process, identified uniquely among all processes of this machine, other boots and hosts."""

import contextlib
import json
import os
from dataclasses import asdict
from functools import cache
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen

_STATE, _START = 0, 19
"""Fields 3 and 22 of /proc/PID/stat, as indexes into the fields after the program name."""


@frozen
class Owner:
    pid: int
    started: int
    """Start time in clock ticks after boot. It differs if the pid was reused for another process."""
    boot: str
    host: str

    @classmethod
    def here(cls) -> "Owner":
        """Return the owner record of this process."""
        return cls(os.getpid(), _started(os.getpid()) or 0, _boot(), os.uname().nodename)

    def is_alive(self) -> bool:
        """Return True if the process may still write. A process on another host is not visible and counts as alive."""
        if self.host != os.uname().nodename:
            return True
        return self.boot == _boot() and _started(self.pid) == self.started

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Owner | None":
        """Parse the result of `text()`; None for a session without an owner, or for invalid text."""
        with contextlib.suppress(ValueError, TypeError):
            return cls(**json.loads(text)) if text else None
        return None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Owned(BadInput):
    """The session has an owner that is alive."""

    def __init__(self, session: str, owner: Owner) -> None:
        super().__init__(f"{owner} is working on session {session}")
        self.owner = owner


@cache
def _boot() -> str:
    """Return the boot id; empty if it is hidden, and then only the start time is compared."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """Return the start time of a process; None if it is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[_STATE] in (b"Z", b"X") else int(fields[_START])
