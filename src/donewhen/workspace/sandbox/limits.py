"""How much a command may use: processes, memory, file size, scratch space, and the disk that must stay free.

Enforced by the launcher: exactly, through a control group that its wardens join once, where this machine lets us make
one; by counting ten times a second elsewhere. Every sandboxed process is also the kernel's first choice when memory
runs out.
"""

import os
from dataclasses import field
from functools import cache
from typing import Any

from donewhen.records import frozen

GIB = 1 << 30
OOM_SCORE = 1000
"""The kernel kills this process before any other when the machine is out of memory."""


@frozen
class Limits:
    """What one command may use; 0 means no limit."""

    processes: int = 4096
    """Threads count as well, where the kernel counts."""
    memory: int = field(default_factory=lambda: _memory_total() * 3 // 4)
    file_bytes: int = 16 * GIB
    scratch: int = field(default_factory=lambda: _memory_total() // 4)
    """What fits into all empty directories together, and once more into /dev/shm."""
    disk_reserve: int = GIB // 2
    """What must stay free where the tree is written."""

    def rlimits(self) -> dict[str, int]:
        # One and not zero: zero still pipes a core to a crash handler outside, one is the kernel's word for never.
        return {"CORE": 1, **({"FSIZE": self.file_bytes} if self.file_bytes else {})}

    def watch(self, disk: str) -> dict[str, Any]:
        """What the launcher looks at, for a tree on the file system of `disk`."""
        return {
            "processes": self.processes,
            "memory": self.memory,
            "disk": disk,
            "disk_reserve": self.disk_reserve,
        }


@cache
def _memory_total() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
