"""Who writes to a session: one process, told apart from all others of this machine, of other boots and other hosts."""

import contextlib
import json
import os
from dataclasses import asdict
from functools import cache
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.records import frozen

_STATE, _START = 0, 19
"""Fields 3 and 22 of /proc/PID/stat, counted from behind the name."""


@frozen
class Owner:
    pid: int
    started: int
    """In clock ticks after boot: a number that was given to another process does not match."""
    boot: str
    host: str

    @classmethod
    def here(cls) -> "Owner":
        """This process."""
        return cls(os.getpid(), _started(os.getpid()) or 0, _boot(), os.uname().nodename)

    def is_alive(self) -> bool:
        """Whether it may still write. A process of another host cannot be seen from here and counts as living."""
        if self.host != os.uname().nodename:
            return True
        return self.boot == _boot() and _started(self.pid) == self.started

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Owner | None":
        """The way back; nothing for a session that nobody owns."""
        with contextlib.suppress(ValueError, TypeError):
            return cls(**json.loads(text)) if text else None
        return None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Owned(BadInput):
    """Somebody who lives is at work on this session."""

    def __init__(self, session: str, owner: Owner) -> None:
        super().__init__(f"session {session} is being worked on by {owner}")
        self.owner = owner


@cache
def _boot() -> str:
    """Empty where it is hidden; then the start time has to do."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """None for a process that is gone, or that is dead and only waits to be collected."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[_STATE] in (b"Z", b"X") else int(fields[_START])
