"""Killing everything below a process, whatever it did to get away.

Works because the caller is a child sub-reaper: an orphan, a `setsid` daemon or a double fork comes back as its child.
"""

import os
import signal

PATIENCE_SECS = 0.02
"""How long one round waits for a child to die before it looks for new ones."""


def descendants(root: int) -> list[int]:
    """Every living process below `root`, parents first."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        for child in _children(waiting.pop()):
            found.append(child)
            waiting.append(child)
    return found


def _children(pid: int) -> list[int]:
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


def kill_all() -> int:
    """Kill and reap everything below this process; the number of processes that got a signal.

    SIGCHLD must be blocked in the caller: it is what a round waits for.
    """
    signalled: set[int] = set()
    while True:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
                signalled.add(pid)
            except ProcessLookupError:
                pass
        if not reap_dead():
            return len(signalled)
        signal.sigtimedwait([signal.SIGCHLD], PATIENCE_SECS)


def reap_dead() -> bool:
    """Reap every child that has ended; whether any child is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
