"""The control group of a supervisor, where the machine permits one: exact limits for its command.

A supervisor joins its group once, because moving a process costs the kernel about ten milliseconds. Everything that it
forks is in the group from the start; only the numbers are set again for each command. Versions 1 and 2 are supported.
Where no group can be made, `limit_watch.LimitWatcher` counts instead.
"""

from __future__ import annotations

import os

PREFIX = "donewhen-"
ROOT = "/sys/fs/cgroup"


class Group:
    """The control groups of this process: the directory of each controller; empty where there is none."""

    def __init__(self) -> None:
        self.pids = ""
        self.memory = ""
        self._parents: list[str] = []

    def join(self) -> None:
        """Create groups for this process and move into them. Skip those that are not permitted."""
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
        """Move out and remove the groups. The next supervisor removes those of a killed one."""
        for parent in self._parents:
            try:
                _write(f"{parent}/cgroup.procs", "0")
                os.rmdir(f"{parent}/{PREFIX}{os.getpid()}")
            except OSError:
                continue

    def limit(self, processes: int, memory: int) -> None:
        """Set the limits for the next command. The supervisor and its pre-forked child count too, hence the + 2."""
        if self.pids:
            _write(f"{self.pids}/pids.max", str(processes + 2) if processes else "max")
        if self.memory:
            file = _memory_file(self.memory)
            unlimited = "max" if file == "memory.max" else "-1"
            _write(f"{self.memory}/{file}", str(memory) if memory else unlimited)

    def enforced(self) -> tuple[int, int]:
        """Return how often the kernel refused a new process, and how often it killed one for its memory use."""
        refused = _count(f"{self.pids}/pids.events", "max") if self.pids else 0
        events = "memory.events" if self.memory and _memory_file(self.memory) == "memory.max" else "memory.oom_control"
        return refused, _count(f"{self.memory}/{events}", "oom_kill") if self.memory else 0


def available() -> bool:
    """Return whether this process could make groups that limit both processes and memory."""
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
    """Return the directories where a group could be made, and which file sets which limit there."""
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
            # Version 2: a group that holds processes cannot delegate controllers, so ours is made as its sibling.
            parent = f"{ROOT}{os.path.dirname(path)}".rstrip("/")
            found.append((parent, {"pids": "pids.max", "memory": "memory.max"}))
        elif "pids" in names:
            found.append((here, {"pids": "pids.max"}))
        elif "memory" in names:
            found.append((here, {"memory": "memory.limit_in_bytes"}))
    return found


def _remove_stale(parent: str) -> None:
    """Remove the groups of killed supervisors. Only an empty group can be removed; others are still in use."""
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
