"""How much a command may use: processes, memory, file size. By control group where we may make one, else by watcher.

A control group is exact and costs a fraction of a millisecond; the launcher's watcher looks ten times a second and is
there for everyone else. Either way every sandboxed process is also the kernel's first choice when memory runs out.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

GIB = 1 << 30
OOM_SCORE = 1000
"""The kernel kills this process before any other when the machine is out of memory."""
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Limits:
    """What one command may use; 0 means no limit."""

    processes: int = 2048
    memory: int = field(default_factory=lambda: _memory_total() * 3 // 4)
    file_bytes: int = 16 * GIB
    scratch: int = field(default_factory=lambda: _memory_total() // 4)
    """Size of each private tmpfs."""

    def rlimits(self) -> dict[str, int]:
        bounds = {"CORE": 0}
        if self.file_bytes:
            bounds["FSIZE"] = self.file_bytes
        return bounds


@dataclass(slots=True)
class Group:
    """The control groups of one command: files to join through, and where to read afterwards what happened."""

    directories: list[Path] = field(default_factory=list[Path])

    @property
    def joins(self) -> tuple[str, ...]:
        return tuple(str(directory / "cgroup.procs") for directory in self.directories)

    def exceeded(self) -> str:
        """Which limit the kernel had to enforce, in words."""
        for directory in self.directories:
            if _count(directory / "memory.events", "oom_kill") or _count(directory / "memory.oom_control", "oom_kill"):
                return "memory"
            if _count(directory / "pids.events", "max"):
                return "processes"
        return ""


@contextlib.contextmanager
def group(limits: Limits) -> Iterator[Group]:
    """Control groups for one command, removed afterwards; an empty one where none can be made."""
    made = Group()
    name = f"donewhen-{os.getpid()}-{next(_numbers)}"
    try:
        for parent, settings in _parents():
            directory = parent / name
            with contextlib.suppress(OSError):
                directory.mkdir()
                made.directories.append(directory)
                for file, limit in settings:
                    if value := getattr(limits, limit):
                        (directory / file).write_text(str(value))
        yield made
    finally:
        for directory in made.directories:
            with contextlib.suppress(OSError):
                directory.rmdir()


@cache
def _parents() -> tuple[tuple[Path, tuple[tuple[str, str], ...]], ...]:
    """Where groups can be made here, with the files that set each limit. Found by trying, once."""
    usable: list[tuple[Path, tuple[tuple[str, str], ...]]] = []
    for parent, settings in _candidates():
        probe = parent / f"donewhen-probe-{os.getpid()}"
        try:
            probe.mkdir()
        except OSError:
            continue
        try:
            writable = all(os.access(probe / file, os.W_OK) for file, _ in settings)
            if writable and os.access(parent / "cgroup.procs", os.W_OK):
                usable.append((parent, settings))
        finally:
            probe.rmdir()
    return tuple(usable)


def _candidates() -> Iterator[tuple[Path, tuple[tuple[str, str], ...]]]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        relative = path.lstrip("/")
        if controllers == "" and relative:
            # Version 2: a group with processes cannot hand out controllers, so ours are made beside it.
            settings = (("pids.max", "processes"), ("memory.max", "memory"))
            yield Path("/sys/fs/cgroup", relative).parent, settings
        elif "pids" in controllers.split(","):
            yield Path("/sys/fs/cgroup", controllers, relative), (("pids.max", "processes"),)
        elif "memory" in controllers.split(","):
            yield Path("/sys/fs/cgroup", controllers, relative), (("memory.limit_in_bytes", "memory"),)


def enforced_by() -> str:
    """In a word, for people: how processes and memory are limited on this machine."""
    held = {limit for _, settings in _parents() for _, limit in settings}
    return "control groups" if held == {"processes", "memory"} else "watcher"


def watched(limits: Limits) -> dict[str, int]:
    """What the launcher must watch because no control group does."""
    held = {limit for _, settings in _parents() for _, limit in settings}
    wanted = {"processes": limits.processes, "memory": limits.memory}
    return {name: value for name, value in wanted.items() if value and name not in held}


def _count(file: Path, key: str) -> int:
    try:
        pairs = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return 0
    return sum(int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] == key)


@cache
def _memory_total() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
