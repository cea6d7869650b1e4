"""Kills all descendants of this process, even those that try to escape.

This works because the caller is a child sub-reaper: an orphan, a `setsid` daemon or a double fork becomes its child.
Nothing here knows what a command is. `supervise`, `supervisor` and `server` decide when to kill and what to spare.
"""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

ROUND_SECS = 0.02
"""How long one loop round waits for a child to die before it looks for new ones."""
MOST_REAPED = 1000
PIPE_BYTES = 1 << 16
KILL_SECS = 5.0
"""A process that is alive after this time cannot be killed: it hangs in the kernel or has another owner."""


class Deaths:
    """A descriptor that is readable when a child may have ended. Create one per process, in its main thread."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _ignore_signal)

    def fileno(self) -> int:
        return self._reader

    def wait(self, secs: float) -> bool:
        """Wait at most `secs`; return whether a child may have ended."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(secs * 1000))

    def reap(self) -> dict[int, int]:
        """Reap the children that have ended; return their wait statuses by pid.

        At most MOST_REAPED at once: if processes fork and exit faster than they are reaped, this would not end.
        """
        self._clear()  # first, so that a later death makes it readable again
        ended: dict[int, int] = {}
        while len(ended) < MOST_REAPED:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            if os.WIFSTOPPED(status):
                _kill(pid)  # it made us its tracer (ptrace), and only a tracer can continue it
            else:
                ended[pid] = status
        os.write(self._writer, b"+")  # cannot block: the pipe was just emptied
        return ended

    def _clear(self) -> None:
        try:
            os.read(self._reader, PIPE_BYTES)
        except BlockingIOError:
            return


def _ignore_signal(_signal: int, _frame: FrameType | None) -> None:
    """Do nothing: the interpreter has already written the signal number into the descriptor."""


def descendants(root: int, enough: int = 0) -> list[int]:
    """Return the descendants of `root`, parents first. With `enough`, stop early after that many."""
    found = children(root)
    for pid in found:  # grows while it is walked
        if enough and len(found) >= enough:
            break
        found.extend(children(pid))
    return found


def children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found.extend(map(int, file.read().split()))
        except FileNotFoundError:
            if not os.path.exists("/proc/thread-self/children"):
                return _children_by_scan(pid)
        except OSError:
            continue
    return found


def _children_by_scan(parent: int) -> list[int]:
    """Find the children by reading the parent of every process, for kernels without `/proc/…/children`."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    stat = file.read()
            except OSError:
                continue
            if int(stat.rpartition(b")")[2].split()[1]) == parent:
                found.append(int(name))
    return found


def kill_groups(pids: list[int]) -> list[int]:
    """Kill these processes with their process groups; return those that existed.

    The kernel signals a group as a whole, so that no member can escape by forking. A group holds only processes of one
    command, because every command starts its own session.
    """
    ours = os.getpgrp()
    groups = {pid: _group(pid) for pid in pids}
    for group in set(groups.values()) - {0, 1, ours}:
        _kill(-group)
    for pid, group in groups.items():
        if group in (1, ours):
            _kill(pid)
    return [pid for pid, group in groups.items() if group]


def _group(pid: int) -> int:
    """Return the process group: 0 if the process is gone, 1 if its group has no number in this pid namespace."""
    try:
        return os.getpgid(pid) or 1
    except ProcessLookupError:
        return 0


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # kill_all finds what cannot be killed, after KILL_SECS


def kill_all(deaths: Deaths) -> tuple[int, list[int]]:
    """Kill and reap all descendants; return how many there were, and those left after KILL_SECS.

    Each loop round first kills only the direct children. The children of dead processes become ours, and a walk down
    the tree would give processes that fork and exit time to escape. Deeper descendants are killed when no child dies
    within ROUND_SECS.
    """
    deaths.reap()  # processes that had already ended do not count
    killed: set[int] = set()
    give_up = time.monotonic() + KILL_SECS
    while has_children():
        killed.update(kill_groups(children(os.getpid())))
        if not deaths.wait(ROUND_SECS):
            killed.update(kill_groups(descendants(os.getpid())))
        deaths.reap()
        if time.monotonic() > give_up:
            return len(killed), descendants(os.getpid())
    return len(killed), []


def has_children() -> bool:
    """Return whether there is any child, ended or not."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
