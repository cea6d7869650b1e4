"""The launcher's main loop: each message starts a supervisor; the end of the stream ends the program.

A message carries the supervisor's end of a socket to the harness. From then on the two communicate without the server.
A supervisor runs one command after the other, so that starting a command need not wait for a fork of this program.

The server is the second line of defence: it is a child sub-reaper too. Processes that a killed supervisor leaves behind
become its children, and it kills them.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import time

from donewhen.workspace.process.launcher import kernel, kill_tree, supervisor

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
"""Ignored because the harness ends the launcher, by closing the socket."""
GRACE_SECS = 0.5
"""After the harness is gone, supervisors have this long to kill their commands; then the server kills the rest."""


def serve(descriptor: int) -> None:
    _forget_inherited_signals()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    gc.disable()
    gc.freeze()
    deaths = kill_tree.Deaths()
    supervisors: set[int] = set()
    harness = _harness()
    with socket.socket(fileno=descriptor) as requests:
        _answer(requests, harness, deaths, supervisors)
    _end(deaths, supervisors)
    os._exit(0)


def _forget_inherited_signals() -> None:
    """Reset ignored and blocked signals that were inherited from the harness, so that commands start without them."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in IGNORED else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _harness() -> int:
    """Return a descriptor that is readable once the harness is dead, even if a fork of it still holds its sockets."""
    try:
        return os.pidfd_open(os.getppid())
    except OSError:
        return -1  # then only the end of the stream shows it


def _answer(requests: socket.socket, harness: int, deaths: kill_tree.Deaths, supervisors: set[int]) -> None:
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    poll.register(deaths, select.POLLIN)
    if harness >= 0:
        poll.register(harness, select.POLLIN)
    while True:
        events = {fd for fd, _ in poll.poll()}
        if harness in events:
            return
        if deaths.fileno() in events:
            _reap(deaths, supervisors)
        if requests.fileno() in events:
            message, fds, _, _ = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            for fd in fds:
                supervisors.update(_new_supervisor(requests, fd))


def _new_supervisor(requests: socket.socket, fd: int) -> list[int]:
    """Start a supervisor; return its pid in a list.

    The list is empty if the fork failed. The harness then sees the end of the supervisor's socket.
    """
    try:
        pid = os.fork()
    except OSError:
        os.close(fd)
        return []
    if pid == 0:
        try:
            requests.close()
            supervisor.serve(socket.socket(fileno=fd))
        finally:
            os._exit(0)  # a supervisor must never return into the server's loop
    os.close(fd)
    return [pid]


def _reap(deaths: kill_tree.Deaths, supervisors: set[int]) -> None:
    """Reap ended children and kill the orphans of killed supervisors. Each of their deaths triggers another call."""
    supervisors.difference_update(deaths.reap())
    kill_tree.kill_groups([pid for pid in kill_tree.children(os.getpid()) if pid not in supervisors])


def _end(deaths: kill_tree.Deaths, supervisors: set[int]) -> None:
    deadline = time.monotonic() + GRACE_SECS
    while supervisors and (left := deadline - time.monotonic()) > 0:
        deaths.wait(left)
        _reap(deaths, supervisors)
    kill_tree.kill_all(deaths)
