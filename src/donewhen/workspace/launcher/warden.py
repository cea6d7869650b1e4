"""A warden: starts a command, watches its limits and its deadline, kills all of it, tells how it ended; then the next.

Orders and answers go over one socket. An order is `run` with its descriptors (see `child`), answered by JSON objects:

    {"say": "started", "pid": N}
    {"say": "listening"}                                 with one descriptor per requested listener
    {"say": "ended", "status": wait status, "why": "exit" | "killed" | "timeout" | "limit" | "failed", …}

"ended" is said once, after everything the command started is dead and reaped. While a command runs, any message and
the end of the stream mean "kill it now": a warden outlives a killed harness just long enough to do that.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time

from donewhen.workspace.launcher import child, groups, kernel, limits, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRIORITY = -10
NOTE_BYTES = 8192
"""What is kept of bubblewrap's own complaints."""


def serve(orders: socket.socket) -> None:
    """Guard one command after the other until the harness closes the socket."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    os.setsid()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    _come_first()
    group = groups.Group()
    group.join()
    while True:
        recruit = child.Recruit(orders)
        message, fds = _next_order(orders)
        if not message:
            group.leave()
            return
        spec = child.specification(fds[child.SPECIFICATION])
        watcher = limits.Watcher(spec["limits"], group)
        recruit.send(message, fds)
        for fd in fds:
            os.close(fd)
        _Guard(spec, orders, recruit, watcher).run()


def _come_first() -> None:
    """A warden has little to do and must get to do it, whatever its command does to the machine."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except PermissionError:
        return


def _next_order(orders: socket.socket) -> tuple[bytes, list[int]]:
    """The next command. A "kill" that arrives here came too late: what it meant has ended already."""
    while True:
        message, fds, _, _ = socket.recv_fds(orders, 64, child.DESCRIPTORS)
        if message != b"kill":
            return message, fds


class _Guard:
    """One command, from its start to the last of its processes."""

    def __init__(
        self, spec: dict[str, Any], control: socket.socket, recruit: child.Recruit, watcher: limits.Watcher
    ) -> None:
        self.spec = spec
        self.watcher = watcher
        self.control = control
        self.recruit = recruit
        self.why = "exit"
        self.detail = ""
        self.ready = not spec["handshake"]
        self.note = b""

    def run(self) -> None:
        self._say(say="started", pid=self.recruit.pid)
        status = self._watch()
        swept = sweep.kill_all()
        failure = self.recruit.failure()
        if failure:
            self.why, self.detail = "failed", failure
        self.note += self.recruit.rest_of_notes(NOTE_BYTES - len(self.note))
        self.recruit.close()
        self._say(
            say="ended",
            status=status,
            why=self.why,
            detail=self.detail,
            swept=swept,
            ready=self.ready,
            note=self.note.decode("utf-8", "replace"),
        )

    def _watch(self) -> int:
        """Until the command ends or must end; its wait status."""
        recruit = self.recruit
        pidfd = os.pidfd_open(recruit.pid)
        poll = select.poll()
        for fd in (pidfd, self.control.fileno(), recruit.ready, recruit.notes):
            poll.register(fd, select.POLLIN)
        deadline = time.monotonic() + self.spec["timeout"] if self.spec["timeout"] is not None else None
        watcher = self.watcher
        try:
            while True:
                events = {fd for fd, _ in poll.poll(_milliseconds(deadline, watcher.pause_secs))}
                if pidfd in events:
                    return self._ended()
                if self.control.fileno() in events:
                    return self._kill("killed", "")
                if recruit.ready in events:
                    poll.unregister(recruit.ready)
                    self._let_go()
                if recruit.notes in events:
                    self._take_note(poll)
                if deadline is not None and time.monotonic() >= deadline:
                    return self._kill("timeout", "")
                broken = watcher.broken()
                if broken:
                    return self._kill("limit", broken)
        finally:
            os.close(pidfd)

    def _ended(self) -> int:
        """It ended by itself, unless the kernel ended it for its memory."""
        status = os.waitpid(self.recruit.pid, 0)[1]
        stopped = self.watcher.stopped_by_kernel()
        if stopped and status:
            self.why, self.detail = "limit", stopped
        return status

    def _let_go(self) -> None:
        """The first program inside is up, so the kernel now ties it to us: only from here on may it run anything."""
        if os.read(self.recruit.ready, 1):
            self.ready = True
            os.write(self.recruit.go, b"g\n")

    def _take_note(self, poll: select.poll) -> None:
        chunk = os.read(self.recruit.notes, NOTE_BYTES)
        if not chunk:
            poll.unregister(self.recruit.notes)
        self.note = (self.note + chunk)[:NOTE_BYTES]

    def _kill(self, why: str, detail: str) -> int:
        self.why, self.detail = why, detail
        for pid in (self.recruit.pid, *sweep.descendants(self.recruit.pid)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return os.waitpid(self.recruit.pid, 0)[1]

    def _say(self, **message: Any) -> None:
        try:
            self.control.send(json.dumps(message).encode())
        except OSError:
            return  # a harness that is gone does not hear us; the work is done all the same


def _milliseconds(deadline: float | None, pause_secs: float | None) -> float | None:
    left = [pause_secs] if pause_secs is not None else []
    if deadline is not None:
        left.append(max(deadline - time.monotonic(), 0))
    return min(left) * 1000 + 1 if left else None
