"""Limit watcher: checks ten times a second that one command stays within its limits.

With a control group, it only asks whether the kernel had to enforce a limit. Without one, it counts processes and
memory itself. A command can exceed such a limit for a moment, but a fork bomb or memory bomb ends the command and not
the machine. It checks the free space of the disk in both cases. The limits arrive as data.
"""

from __future__ import annotations

import os
import time

from donewhen.workspace.process.launcher import kill_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from donewhen.workspace.process.launcher.cgroup import Group

PAUSE_SECS = 0.1
NEVER = float("inf")
PAGE = os.sysconf("SC_PAGE_SIZE")
INODE_RESERVE = 10_000


class LimitWatcher:
    """The limit watcher of one supervisor, used for one command after the other."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.processes = 0
        self.memory = 0
        self.reserve = 0
        self.disk = ""
        self.next_check = NEVER
        self.before = group.enforced()

    def begin(self, limits: dict[str, Any]) -> None:
        before = self.processes, self.memory
        self.processes = int(limits.get("processes", 0))
        self.memory = int(limits.get("memory", 0))
        if before != (self.processes, self.memory):
            self.group.limit(self.processes, self.memory)
        self.reserve = int(limits.get("disk_reserve", 0))
        self.disk = str(limits.get("disk", ""))
        watches = bool(self.processes or self.memory or self.disk)
        self.next_check = time.monotonic() + PAUSE_SECS if watches else NEVER

    def end(self) -> None:
        """Read the kernel's counters again. Called between two commands, when this delays no command."""
        self.before = self.group.enforced()

    def broken(self) -> str:
        """Return which limit is exceeded, as text; empty if none is, or if the next check is not due."""
        if time.monotonic() < self.next_check:
            return ""
        found = self.stopped_by_kernel() or self._counted() or (self._full_disk() if self.disk else "")
        self.next_check = time.monotonic() + PAUSE_SECS
        return found

    def stopped_by_kernel(self) -> str:
        """Return which limit the kernel had to enforce in our group, as text; empty if none."""
        refused, killed = self.group.enforced()
        if killed > self.before[1]:
            return f"memory: more than {self.memory >> 20} MiB"
        if refused > self.before[0]:
            return f"processes: more than {self.processes}"
        return ""

    def _counted(self) -> str:
        count_processes, count_memory = self.processes and not self.group.pids, self.memory and not self.group.memory
        if not count_processes and not count_memory:
            return ""
        # A fork bomb grows while it is counted, so counting stops above the limit.
        pids = kill_tree.descendants(os.getpid(), enough=self.processes + 1 if count_processes else 0)
        if count_processes and len(pids) > self.processes:
            return f"processes: more than {self.processes}"
        if count_memory and sum(map(_resident, pids)) > self.memory:
            return f"memory: more than {self.memory >> 20} MiB"
        return ""

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
    """Return the private memory of a process. Shared memory (program text, shared maps) is not counted."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared, *_ = file.read().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * PAGE
