"""The launcher's main loop: each message starts a supervisor or an observer; the end of the stream ends the program.

A message carries its end of a socket to the harness. From then on the two communicate without the server.
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

from donewhen.workspace.process.launcher import kernel, kill_tree, messages, supervisor

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
    started: set[int] = set()
    harness = _harness()
    with socket.socket(fileno=descriptor) as requests:
        _answer(requests, harness, deaths, started)
    _end(deaths, started)
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


def _answer(requests: socket.socket, harness: int, deaths: kill_tree.Deaths, started: set[int]) -> None:
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
            _reap(deaths, started)
        if requests.fileno() in events:
            message, fds, _, _ = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            for fd in fds:
                started.update(_start(requests, message, fd))


def _start(requests: socket.socket, message: bytes, fd: int) -> list[int]:
    """Start a supervisor or an observer; return its pid in a list.

    The list is empty if the fork failed. The harness then sees the end of the socket.
    """
    try:
        pid = os.fork()
    except OSError:
        os.close(fd)
        return []
    if pid == 0:
        try:
            requests.close()
            _serve_as(message, socket.socket(fileno=fd))
        finally:
            os._exit(0)  # it must never return into the server's loop
    os.close(fd)
    return [pid]


def _serve_as(message: bytes, orders: socket.socket) -> None:
    if message == messages.OBSERVER:
        from donewhen.workspace.process.launcher import observer  # few commands are observed

        observer.serve(orders)
    else:
        supervisor.serve(orders)


def _reap(deaths: kill_tree.Deaths, started: set[int]) -> None:
    """Reap ended children and kill the orphans of killed supervisors. Each of their deaths triggers another call."""
    started.difference_update(deaths.reap())
    kill_tree.kill_groups([pid for pid in kill_tree.children(os.getpid()) if pid not in started])


def _end(deaths: kill_tree.Deaths, started: set[int]) -> None:
    deadline = time.monotonic() + GRACE_SECS
    while started and (left := deadline - time.monotonic()) > 0:
        deaths.wait(left)
        _reap(deaths, started)
    kill_tree.kill_all(deaths)
