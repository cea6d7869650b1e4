"""Resource limits of a command: processes, memory, file size, scratch space, and the disk space that must stay free.

The launcher enforces them: exactly, through a control group that its supervisors join once, where this machine lets us
create one; elsewhere by counting ten times a second. Every sandboxed process is also the kernel's first choice when
memory runs out.
"""

import os
from dataclasses import field
from functools import cache
from typing import Any

from donewhen.records import frozen

GIB = 1 << 30
OOM_SCORE = 1000
"""The kernel kills a process with this score before any other when the machine is out of memory."""


@frozen
class ResourceLimits:
    """The limits of one command; 0 means no limit."""

    processes: int = 4096
    """Where the kernel counts (control group), threads count as well."""
    memory: int = field(default_factory=lambda: _memory_total() * 3 // 4)
    file_bytes: int = 16 * GIB
    scratch: int = field(default_factory=lambda: _memory_total() // 4)
    """The size of all empty directories together, and again the size of /dev/shm."""
    disk_reserve: int = GIB // 2
    """The space that must stay free where the tree is written."""

    def rlimits(self) -> dict[str, int]:
        # 1, not 0: with 0 the kernel still pipes a core dump to a crash handler outside; 1 means never.
        return {"CORE": 1, **({"FSIZE": self.file_bytes} if self.file_bytes else {})}

    def watch(self, disk: str) -> dict[str, Any]:
        """Return what the launcher watches, for a tree on the file system of `disk`."""
        return {
            "processes": self.processes,
            "memory": self.memory,
            "disk": disk,
            "disk_reserve": self.disk_reserve,
        }


@cache
def _memory_total() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
