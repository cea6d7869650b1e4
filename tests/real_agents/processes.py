"""Look at processes from the host: parents, marks, and the time they take to die."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PATIENCE_SECS = 240
"""On a busy machine."""
MORTAL_SECS = 10
"""A process that still runs so long after the order to end counts as a survivor."""


def marked(mark: str) -> list[int]:
    """Processes of the machine that were started with this word, anywhere."""
    return [pid for pid in _every() if mark.encode() in _words(pid)]


def confined(pid: int) -> list[int]:
    """All processes below a process that are in another pid namespace: those in its sandboxes."""
    children: dict[int, list[int]] = {}
    for one in _every():
        children.setdefault(_parent(one), []).append(one)
    found, below = list[int](), [pid]
    while below:
        one = below.pop()
        found.append(one)
        below += children.get(one, [])
    ours = _world(os.getpid())
    return [one for one in found if _world(one) not in ("", ours)]


@dataclass(frozen=True, slots=True)
class Deaths:
    secs: Mapping[int, float]
    """The time that each dead process took."""
    survivors: list[int]

    def last(self, among: Iterable[int] | None = None) -> float:
        """When the last of them, or of some, was dead."""
        return max((self.secs[pid] for pid in (self.secs if among is None else among) if pid in self.secs), default=0.0)


def deaths(pids: Iterable[int], order: Callable[[], None], patience_secs: float = MORTAL_SECS) -> Deaths:
    """Order the end of these processes and watch them. A reused process id is not taken for the old process."""
    alive = {descriptor: pid for pid in pids if (descriptor := _descriptor(pid)) is not None}
    secs: dict[int, float] = {}
    with select.epoll() as watch:
        for descriptor in alive:
            watch.register(descriptor, select.EPOLLIN)
        began = time.monotonic()
        order()
        while alive and (left := began + patience_secs - time.monotonic()) > 0:
            for descriptor, _ in watch.poll(left):
                watch.unregister(descriptor)
                os.close(descriptor)
                secs[alive.pop(descriptor)] = time.monotonic() - began
    for descriptor in alive:
        os.close(descriptor)
    return Deaths(secs, sorted(alive.values()))


def kill_all(pids: Iterable[int]) -> None:
    all_pids = list(pids)

    def order() -> None:
        for pid in all_pids:
            _kill(pid)

    deaths(all_pids, order)


def waited(holds: Callable[[], bool]) -> bool:
    """Wait until a condition holds; it is polled, because nothing signals it."""
    deadline = time.monotonic() + PATIENCE_SECS
    while not (held := holds()) and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    return held


def _every() -> list[int]:
    return [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _world(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
