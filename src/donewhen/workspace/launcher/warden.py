"""A warden: starts a command, watches its limits and its deadline, kills all of it, tells how it ended; then the next.

Orders and answers are JSON objects over one socket. An order tells what concerns the warden, and its descriptors are
handed on to the process that becomes the command (see `child`). It is answered by

    {"say": "started", "pid": N}
    {"say": "listening"}                                 with one descriptor per requested listener
    {"say": "ended", "status": wait status, "why": "exit" | "killed" | "timeout" | "limit" | "failed" | "stuck", …}

"ended" is said once, after everything the command started is dead and reaped ("stuck": except for what no signal
kills). While a command runs, any message and the end of the stream mean "kill it now": a warden outlives a killed
harness just long enough to do that.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time

from donewhen.workspace.launcher import child, groups, kernel, limits, sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PRIORITY = -10
NOTE_BYTES = 4096
"""What is kept of bubblewrap's own complaints."""
ORDER_BYTES = 1 << 16
LONGEST_NAP_SECS = 3600.0
"""The kernel counts the milliseconds of one wait in an int."""


def serve(orders: socket.socket) -> None:
    """Guard one command after the other until the harness closes the socket. Leaves nothing behind, even on a fault."""
    os.setsid()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    _come_first()
    deaths = sweep.Deaths()
    group = groups.Group()
    group.join()
    watcher = limits.Watcher(group)
    try:
        while _serve_one(orders, deaths, watcher):
            pass
    finally:
        sweep.kill_all(deaths)
        group.leave()


def _come_first() -> None:
    """A warden has little to do and must get to do it, whatever its command does to the machine."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except PermissionError:
        return


def _serve_one(orders: socket.socket, deaths: sweep.Deaths, watcher: limits.Watcher) -> bool:
    recruit = child.Recruit(orders)
    message, fds = _next_order(orders)
    if not message:
        return False
    if recruit.pid in deaths.reap():  # killed while it waited
        recruit.close()
        recruit = child.Recruit(orders)
    order = json.loads(message)
    watcher.begin(order["limits"])
    # Said first: a harness that does not hear it may be sure that nothing was started, and ask somebody else.
    _say(orders, say="started", pid=recruit.pid)
    recruit.send(b"run", fds)
    for fd in fds:
        os.close(fd)
    _Guard(order, orders, recruit, deaths, watcher).run()
    watcher.end()
    return True


def _next_order(orders: socket.socket) -> tuple[bytes, list[int]]:
    """The next command. A "kill" that arrives here came too late: what it meant has ended already."""
    while True:
        message, fds, _, _ = socket.recv_fds(orders, ORDER_BYTES, child.DESCRIPTORS)
        if message != b"kill":
            return message, fds


class _Guard:
    """One command, from its start to the last of its processes."""

    def __init__(
        self,
        order: dict[str, Any],
        control: socket.socket,
        recruit: child.Recruit,
        deaths: sweep.Deaths,
        watcher: limits.Watcher,
    ) -> None:
        self.control = control
        self.recruit = recruit
        self.deaths = deaths
        self.deadline = time.monotonic() + order["timeout"] if order["timeout"] is not None else limits.NEVER
        self.watcher = watcher
        self.why = "exit"
        self.detail = ""
        self.status = 0
        self.ready = not order["handshake"]
        self.note = b""

    def run(self) -> None:
        self._watch()
        swept, left = sweep.kill_all(self.deaths)
        failure = self.recruit.failure()
        if failure:
            self.why, self.detail = "failed", failure
        if left:
            self.why, self.detail = "stuck", " ".join(map(str, left[:10]))
        self.note += self.recruit.rest_of_notes(NOTE_BYTES - len(self.note))
        self.recruit.close()
        _say(
            self.control,
            say="ended",
            status=self.status,
            why=self.why,
            detail=self.detail,
            swept=swept,
            ready=self.ready,
            note=self.note.decode("utf-8", "replace"),
        )

    def _watch(self) -> None:
        """Until the command has ended, or must end."""
        poll = select.poll()
        for fd in (self.deaths.fileno(), self.control.fileno(), self.recruit.ready, self.recruit.notes):
            poll.register(fd, select.POLLIN)
        while True:
            events = {fd for fd, _ in poll.poll(self._nap())}
            if self.deaths.fileno() in events and self._has_ended():
                return
            if self.control.fileno() in events:
                self.why = "killed"
                return
            if self.recruit.ready in events:
                poll.unregister(self.recruit.ready)
                self._let_go()
            if self.recruit.notes in events:
                self._take_note(poll)
            if time.monotonic() >= self.deadline:
                self.why = "timeout"
                return
            self.detail = self.watcher.broken()
            if self.detail:
                self.why = "limit"
                return

    def _nap(self) -> float:
        """How many milliseconds may pass before there is something to look at."""
        left = min(self.deadline, self.watcher.next_look) - time.monotonic()
        return max(min(left, LONGEST_NAP_SECS), 0) * 1000 + 1

    def _has_ended(self) -> bool:
        """Reap the command itself, and every orphan that ended meanwhile: they came to us and wait for nobody else."""
        ended = self.deaths.reap()
        if self.recruit.pid not in ended:
            return False
        self.status = ended[self.recruit.pid]
        self.detail = self.watcher.stopped_by_kernel()
        if self.detail and self.status:  # the kernel ended it, for its memory or for want of a process
            self.why = "limit"
        return True

    def _let_go(self) -> None:
        """The first program inside is up, so the kernel now ties it to us: only from here on may it run anything."""
        if os.read(self.recruit.ready, 1):
            self.ready = True
            try:
                os.write(self.recruit.go, b"g\n")
            except BrokenPipeError:
                return  # it was killed in between; its end is the next thing we see

    def _take_note(self, poll: select.poll) -> None:
        chunk = os.read(self.recruit.notes, NOTE_BYTES)
        if not chunk:
            poll.unregister(self.recruit.notes)
        self.note = (self.note + chunk)[:NOTE_BYTES]


def _say(control: socket.socket, **message: Any) -> None:
    try:
        control.send(json.dumps(message).encode())
    except OSError:
        return  # a harness that is gone does not hear us; the work is done all the same
