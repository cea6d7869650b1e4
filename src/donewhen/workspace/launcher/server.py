"""The launcher's main loop: one message is one more warden; the end of the stream is the end of the program.

A message carries the warden's end of its own socket to the harness; from then on the two talk without the server.
Wardens serve one command after the other, so that starting a command waits for no fork of this program.

The server is the second net: it is a sub-reaper too, so whatever a killed warden leaves behind comes here, and dies.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import time

from donewhen.workspace.launcher import kernel, sweep, warden

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
"""The harness decides when the launcher ends, by closing the socket."""
GRACE_SECS = 0.5
"""How long wardens may take to kill what they guard, once the harness is gone, before the server does it for them."""


def serve(descriptor: int) -> None:
    _forget_inherited_signals()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    gc.disable()
    gc.freeze()
    deaths = sweep.Deaths()
    wardens: set[int] = set()
    harness = _harness()
    with socket.socket(fileno=descriptor) as requests:
        _answer(requests, harness, deaths, wardens)
    _leave(deaths, wardens)
    os._exit(0)


def _forget_inherited_signals() -> None:
    """Whatever the harness ignores or blocks, commands start as from a login."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in IGNORED else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _harness() -> int:
    """A descriptor that is readable when the harness is dead, even if a fork of it still holds all its sockets."""
    try:
        return os.pidfd_open(os.getppid())
    except OSError:
        return -1  # the end of the stream must do


def _answer(requests: socket.socket, harness: int, deaths: sweep.Deaths, wardens: set[int]) -> None:
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
            _bury(deaths, wardens)
        if requests.fileno() in events:
            message, fds, _, _ = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            for fd in fds:
                wardens.update(_new_warden(requests, fd))


def _new_warden(requests: socket.socket, fd: int) -> list[int]:
    """Its process; none where no more can be made, which the harness learns from the end of the warden's socket."""
    try:
        pid = os.fork()
    except OSError:
        os.close(fd)
        return []
    if pid == 0:
        try:
            requests.close()
            warden.serve(socket.socket(fileno=fd))
        finally:
            os._exit(0)  # a warden must never fall back into the server's loop
    os.close(fd)
    return [pid]


def _bury(deaths: sweep.Deaths, wardens: set[int]) -> None:
    """Reap who has ended, and kill the orphans of a warden that was killed. Each of their deaths calls this again."""
    wardens.difference_update(deaths.reap())
    sweep.strike([pid for pid in sweep.children(os.getpid()) if pid not in wardens])


def _leave(deaths: sweep.Deaths, wardens: set[int]) -> None:
    deadline = time.monotonic() + GRACE_SECS
    while wardens and (left := deadline - time.monotonic()) > 0:
        deaths.wait(left)
        _bury(deaths, wardens)
    sweep.kill_all(deaths)
