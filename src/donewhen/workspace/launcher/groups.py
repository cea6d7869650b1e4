"""The control group of a warden, where this machine lets us make one: exact limits for the command it guards.

A warden joins its group once (moving a process costs the kernel some ten milliseconds) and everything it forks is in
it from the start; only the numbers are set anew for each command. Version 1 and version 2 are both understood. Where
no group can be made, `limits.Watcher` counts instead.
"""

from __future__ import annotations

import os

PREFIX = "donewhen-"
ROOT = "/sys/fs/cgroup"


class Group:
    """The groups of this process: one directory per controller, or none at all."""

    def __init__(self) -> None:
        self.pids = ""
        self.memory = ""
        self._parents: list[str] = []

    def join(self) -> None:
        """Make groups of our own and move into them; whatever is not allowed is left out."""
        for parent, wanted in _candidates():
            directory = f"{parent}/{PREFIX}{os.getpid()}"
            try:
                _remove_stale(parent)
                os.mkdir(directory)
            except OSError:
                continue
            try:
                if not all(os.access(f"{directory}/{file}", os.W_OK) for file in wanted.values()):
                    raise PermissionError
                _write(f"{directory}/cgroup.procs", "0")
            except OSError:
                os.rmdir(directory)
                continue
            self.pids = directory if "pids" in wanted else self.pids
            self.memory = directory if "memory" in wanted else self.memory
            self._parents.append(parent)

    def leave(self) -> None:
        """Move out again and remove the groups; what a killed warden leaves is removed by the next one."""
        for parent in self._parents:
            try:
                _write(f"{parent}/cgroup.procs", "0")
                os.rmdir(f"{parent}/{PREFIX}{os.getpid()}")
            except OSError:
                continue

    def limit(self, processes: int, memory: int) -> None:
        """Numbers for the next command; the warden and the process it forks ahead count as well."""
        if self.pids:
            _write(f"{self.pids}/pids.max", str(processes + 2) if processes else "max")
        if self.memory:
            file = _memory_file(self.memory)
            unlimited = "max" if file == "memory.max" else "-1"
            _write(f"{self.memory}/{file}", str(memory) if memory else unlimited)

    def enforced(self) -> tuple[int, int]:
        """How often the kernel refused a process, and how often it killed one for its memory."""
        refused = _count(f"{self.pids}/pids.events", "max") if self.pids else 0
        events = "memory.events" if self.memory and _memory_file(self.memory) == "memory.max" else "memory.oom_control"
        return refused, _count(f"{self.memory}/{events}", "oom_kill") if self.memory else 0


def available() -> bool:
    """Whether this process could make groups that hold both processes and memory."""
    usable: set[str] = set()
    for parent, wanted in _candidates():
        probe = f"{parent}/{PREFIX}{os.getpid()}"
        try:
            os.mkdir(probe)
        except OSError:
            continue
        usable.update(name for name, file in wanted.items() if os.access(f"{probe}/{file}", os.W_OK))
        os.rmdir(probe)
    return usable == {"pids", "memory"}


def _memory_file(directory: str) -> str:
    return "memory.max" if os.path.exists(f"{directory}/memory.max") else "memory.limit_in_bytes"


def _candidates() -> list[tuple[str, dict[str, str]]]:
    """Where a group of ours could be made, and which file sets which limit there."""
    found: list[tuple[str, dict[str, str]]] = []
    try:
        with open("/proc/self/cgroup") as file:
            lines = file.read().splitlines()
    except OSError:
        return found
    for line in lines:
        _, controllers, path = line.split(":", 2)
        names, here = controllers.split(","), f"{ROOT}/{controllers}{path}".rstrip("/")
        if controllers == "" and path != "/":
            # Version 2: a group that holds processes cannot hand out controllers, so ours is made beside it.
            beside = f"{ROOT}{os.path.dirname(path)}".rstrip("/")
            found.append((beside, {"pids": "pids.max", "memory": "memory.max"}))
        elif "pids" in names:
            found.append((here, {"pids": "pids.max"}))
        elif "memory" in names:
            found.append((here, {"memory": "memory.limit_in_bytes"}))
    return found


def _remove_stale(parent: str) -> None:
    """Groups of wardens that were killed: empty ones can be removed, others belong to somebody."""
    for name in os.listdir(parent):
        if name.startswith(PREFIX) and not os.path.exists(f"/proc/{name.removeprefix(PREFIX)}"):
            try:
                os.rmdir(f"{parent}/{name}")
            except OSError:
                continue


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _count(path: str, key: str) -> int:
    try:
        with open(path) as file:
            pairs = [line.split() for line in file.read().splitlines()]
    except OSError:
        return 0
    return sum(int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] == key)
