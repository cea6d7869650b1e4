"""A warden: starts a command, watches its limits and its deadline, kills all of it, tells how it ended; then the next.

Orders and answers are JSON objects over one socket. An order tells what concerns the warden, and its descriptors are
handed on to the process that becomes the command (see `child`), or to the sandbox that the command comes to (`ahead`).
It is answered by

    {"say": "started", "pid": N}                         with the ends of a sandbox's output, to read from
    {"say": "listening"}                                 with one descriptor per requested listener
    {"say": "ended", "status": wait status, "why": "exit" | "killed" | "timeout" | "limit" | "failed" | "stuck", …}
    {"say": "ready"}                                     a sandbox stands that the next command may have

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

from donewhen.workspace.launcher import ahead, child, groups, guard, kernel, limits, sweep

PRIORITY = -10
ORDER_BYTES = 1 << 16
BREATH_SECS = 0.002
"""So long after a command the next order, or the end of the stream, is waited for before anything is put up ahead."""


def serve(orders: socket.socket) -> None:
    """Guard one command after the other until the harness closes the socket. Leaves nothing behind, even on a fault."""
    os.setsid()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    _come_first()
    deaths = sweep.Deaths()
    group = groups.Group()
    group.join()
    post = _Post(orders, deaths, limits.Watcher(group))
    try:
        while post.serve_one():
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


class _Post:
    """Where a warden waits between two commands, with what it has ready for the next."""

    def __init__(self, orders: socket.socket, deaths: sweep.Deaths, watcher: limits.Watcher) -> None:
        self.orders = orders
        self.deaths = deaths
        self.watcher = watcher
        self.recruit = child.Recruit(orders)
        self.sandbox: ahead.Sandbox | None = None
        self.kind: ahead.Kind | None = None
        """Of the sandbox that was used last."""
        self.keep_secs = 0.0

    def serve_one(self) -> bool:
        message, fds = self._next_order()
        if not message:
            return False
        order = json.loads(message)
        self.watcher.begin(order["limits"])
        self.keep_secs = order["keep"]
        if order["handshake"]:
            self._choose_sandbox(fds)
        else:
            self._choose_process()
        # Said first: a harness that does not hear it may be sure that nothing was started, and ask somebody else.
        guard.say(self.orders, self.sandbox.outputs if self.sandbox else [], say="started", pid=self.recruit.pid)
        if self.sandbox is not None:
            self.sandbox.give(*fds[1:4])
        else:
            self.recruit.send(child.RUN, fds)
        for fd in fds:
            os.close(fd)
        guard.Guard(order, self.orders, self.recruit, self.sandbox, self.deaths, self.watcher).run()
        self.watcher.end()
        self._begin_again()
        return True

    def _next_order(self) -> tuple[bytes, list[int]]:
        """The next command. A "kill" that arrives here came too late: what it meant has ended already."""
        while True:
            self._wait_for_order()
            message, fds, _, _ = socket.recv_fds(self.orders, ORDER_BYTES, child.DESCRIPTORS)
            if message != b"kill":
                return message, fds

    def _wait_for_order(self) -> None:
        """With a sandbox, when the last command had one: it is put up, and kept for a while."""
        poll = select.poll()
        poll.register(self.orders, select.POLLIN)
        if self.sandbox is None:
            if self.kind is None or not self.kind.can_wait or not self.keep_secs or poll.poll(BREATH_SECS * 1000):
                return
            self.sandbox = ahead.Sandbox(self.recruit, self.kind)
            self.sandbox.put_up()
        if not self._is_asked_while_kept(self.sandbox, poll):
            self._begin_again()

    def _is_asked_while_kept(self, sandbox: ahead.Sandbox, poll: select.poll) -> bool:
        until = sandbox.put_up_at + self.keep_secs
        poll.register(self.recruit.channel, select.POLLIN)
        if not sandbox.stands:
            poll.register(self.recruit.ready, select.POLLIN)
        while (left := until - time.monotonic()) > 0:
            events = {fd for fd, _ in poll.poll(left * 1000)}
            if self.orders.fileno() in events:
                return True
            if self.recruit.channel.fileno() in events and not sandbox.hear():
                poll.unregister(self.recruit.channel)
            if self.recruit.ready in events:
                poll.unregister(self.recruit.ready)
                sandbox.hear_inside()
                if sandbox.stands:
                    guard.say(self.orders, say="ready")
        return False

    def _choose_process(self) -> None:
        """Not a sandbox; and none is put up after this command either, so that the next one like it need not wait."""
        if self.kind is not None:
            self.kind.close()
            self.kind = None
        if self.sandbox is not None or self.recruit.pid in self.deaths.reap():  # killed while it waited
            self._begin_again()

    def _choose_sandbox(self, fds: list[int]) -> None:
        """The one that waits, where it is what is asked for, or else a new one."""
        asked = [fds[0], *fds[4:]]
        died = self.recruit.pid in self.deaths.reap()
        if self.kind is None or self.kind.text != ahead.text_of(asked[0]):
            if self.kind is not None:
                self.kind.close()
            self.kind = ahead.Kind([os.dup(fd) for fd in asked])
        if self.sandbox is not None and not died and self.sandbox.kind is self.kind and self.sandbox.is_true():
            return
        if self.sandbox is not None or died:
            self._begin_again()
        self.sandbox = ahead.Sandbox(self.recruit, self.kind)
        self.sandbox.put_up(fds[1])

    def _begin_again(self) -> None:
        """Whatever waits is no use any more."""
        sweep.kill_all(self.deaths)
        self.recruit.close()
        if self.sandbox is not None:
            self.sandbox.close()
        self.recruit, self.sandbox = child.Recruit(self.orders), None
