"""The watcher: counts the processes and the memory of one command, for machines where no control group does it.

Looks ten times a second. It is slower than a control group and overshoots; it is there so that a fork bomb or a
memory bomb ends the command and not the machine. What it may not exceed arrives as data.
"""

import os
from collections.abc import Mapping

from donewhen.workspace.launcher import sweep

PAUSE_SECS = 0.1
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watcher:
    def __init__(self, limits: Mapping[str, int]) -> None:
        self.processes = limits.get("processes", 0)
        self.memory = limits.get("memory", 0)
        self.pause_secs = PAUSE_SECS if self.processes or self.memory else None

    def broken(self) -> str:
        """Which limit the command is over, in words; nothing when it is within them."""
        if self.pause_secs is None:
            return ""
        pids = sweep.descendants(os.getpid())
        if self.processes and len(pids) > self.processes:
            return f"processes: {len(pids)} of {self.processes}"
        if self.memory:
            used = sum(map(_resident, pids))
            if used > self.memory:
                return f"memory: {used >> 20} of {self.memory >> 20} MiB"
        return ""


def _resident(pid: int) -> int:
    """Private memory of a process: what it shares with its siblings (program text, shared maps) is not counted."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * PAGE
