"""The watcher: counts the processes and the memory of one command, and looks at the disk it writes to.

Looks ten times a second. It overshoots where a control group would not, and it costs a command nothing to start; it is
there so that a fork bomb, a memory bomb or a full disk ends the command and not the machine. What it may not exceed
arrives as data.
"""

from __future__ import annotations

import os

from donewhen.workspace.launcher import sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAUSE_SECS = 0.1
PAGE = os.sysconf("SC_PAGE_SIZE")
INODE_RESERVE = 10_000


class Watcher:
    def __init__(self, limits: dict[str, Any]) -> None:
        self.processes = int(limits.get("processes", 0))
        self.memory = int(limits.get("memory", 0))
        self.reserve = int(limits.get("disk_reserve", 0))
        self.disk = str(limits.get("disk", ""))
        self.pause_secs = PAUSE_SECS if self.processes or self.memory or self.disk else None

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
        return self._full_disk() if self.disk else ""

    def _full_disk(self) -> str:
        try:
            disk = os.statvfs(self.disk)
        except OSError:
            return ""
        left = disk.f_bavail * disk.f_frsize
        if left < self.reserve:
            return f"disk: {left >> 20} MiB left, {self.reserve >> 20} MiB are kept free"
        if disk.f_files and disk.f_favail < INODE_RESERVE:
            return f"disk: {disk.f_favail} files left, {INODE_RESERVE} are kept free"
        return ""


def _resident(pid: int) -> int:
    """Private memory of a process: what it shares with its siblings (program text, shared maps) is not counted."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * PAGE
