"""Killing everything below a process, whatever it did to get away.

Works because the caller is a child sub-reaper: an orphan, a `setsid` daemon or a double fork comes back as its child.
Nothing here knows what a command is; `warden` and `server` decide when to sweep and whom to spare.
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
"""How long one round waits for a child to die before it looks for new ones."""
HANDFUL = 1000
PIPE_BYTES = 1 << 16
PATIENCE_SECS = 5.0
"""What is still there after this long cannot be killed: it hangs in the kernel, or belongs to another user."""


class Deaths:
    """A descriptor that is readable when a child may have ended. Make one per process, in its main thread."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _nothing_more)

    def fileno(self) -> int:
        return self._reader

    def wait(self, secs: float) -> bool:
        """Whether a child may have ended within this time."""
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        return bool(poll.poll(secs * 1000))

    def reap(self) -> dict[int, int]:
        """The children that have ended, with their wait status; they are gone then.

        Not more than a handful at once: where processes fork and exit faster than they are reaped, this would not end.
        """
        self._clear()  # first, so that a death from here on is told again
        ended: dict[int, int] = {}
        while len(ended) < HANDFUL:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if pid == 0:
                return ended
            if os.WIFSTOPPED(status):
                _kill(pid)  # it made this process its tracer, and only a tracer can continue it
            else:
                ended[pid] = status
        os.write(self._writer, b"+")  # it has room: it was cleared a moment ago
        return ended

    def _clear(self) -> None:
        try:
            os.read(self._reader, PIPE_BYTES)
        except BlockingIOError:
            return


def _nothing_more(_signal: int, _frame: FrameType | None) -> None:
    """The interpreter wrote the signal's number into the descriptor; that is all that was wanted."""


def descendants(root: int, enough: int = 0) -> list[int]:
    """Every process below `root`, parents first; the walk ends early when `enough` of them were found."""
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
    """For kernels built without `/proc/…/children`: read every process's parent."""
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


def strike(pids: list[int]) -> list[int]:
    """Kill these processes with their process groups; who was there.

    The kernel signals a group as one, so that nobody in it can fork away. A group holds only what one command started,
    because every command begins a session of its own.
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
    """0 for a process that is gone, 1 for one whose group has no number here."""
    try:
        return os.getpgid(pid) or 1
    except ProcessLookupError:
        return 0


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # who may not be killed is found out by patience


def kill_all(deaths: Deaths) -> tuple[int, list[int]]:
    """Kill and reap everything below this process: how many there were, and who is left after all patience.

    Only children are struck at first, at once and again and again: the children of the dead come to us, and a walk down
    the tree would give who forks and exits the time to do so. Deeper ones are looked for when no child dies any more.
    """
    deaths.reap()  # who had ended by itself was not there any more
    struck: set[int] = set()
    give_up = time.monotonic() + PATIENCE_SECS
    while has_children():
        struck.update(strike(children(os.getpid())))
        if not deaths.wait(ROUND_SECS):
            struck.update(strike(descendants(os.getpid())))
        deaths.reap()
        if time.monotonic() > give_up:
            return len(struck), descendants(os.getpid())
    return len(struck), []


def has_children() -> bool:
    """Whether there is any child, ended or not."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
