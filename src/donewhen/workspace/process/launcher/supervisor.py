"""A supervisor: starts a command, watches limits and deadline, kills all its processes, reports the end; then the next.

Orders and answers are JSON objects over one socket. An order holds what the supervisor needs to know. Its descriptors
are passed on to the process that becomes the command (see `child`), or to the sandbox for the command (`prewarm`). The
answers are

    {"say": "started", "pid": N}                         with the read ends of a sandbox's output pipes
    {"say": "listening"}                                 with one descriptor per requested listener
    {"say": "ended", "status": wait status, "why": "exit" | "killed" | "timeout" | "limit" | "failed" | "stuck", …}
    {"say": "ready"}                                     a prewarmed sandbox is ready for the next command

"ended" is sent once, after all processes of the command are dead and reaped ("stuck": except those that no signal
kills). While a command runs, any message and the end of the stream mean "kill it now". If the harness is killed, the
supervisor lives on only until that is done.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time

from donewhen.workspace.process.launcher import cgroup, child, kernel, kill_tree, limit_watch, prewarm, supervise

PRIORITY = -10
ORDER_BYTES = 1 << 16
POLL_SECS = 0.002
"""Wait this long for the next order or the end of the stream before prewarming a sandbox."""


def serve(orders: socket.socket) -> None:
    """Run one command after the other until the harness closes the socket. Leave no process behind, even on a fault."""
    os.setsid()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    _raise_priority()
    deaths = kill_tree.Deaths()
    group = cgroup.Group()
    group.join()
    loop = _Supervisor(orders, deaths, limit_watch.LimitWatcher(group))
    try:
        while loop.serve_one():
            pass
    finally:
        kill_tree.kill_all(deaths)
        group.leave()


def _raise_priority() -> None:
    """Raise the priority: a supervisor needs little CPU, but needs it even if its command overloads the machine."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except PermissionError:
        return


class _Supervisor:
    """The state of a supervisor between two commands: what it has prepared for the next one."""

    def __init__(self, orders: socket.socket, deaths: kill_tree.Deaths, watcher: limit_watch.LimitWatcher) -> None:
        self.orders = orders
        self.deaths = deaths
        self.watcher = watcher
        self.child = child.PreforkedChild(orders)
        self.sandbox: prewarm.PrewarmedSandbox | None = None
        self.kind: prewarm.Kind | None = None
        """Kind of the sandbox that was used last."""
        self.keep_secs = 0.0

    def serve_one(self) -> bool:
        message, fds = self._next_order()
        if not message:
            return False
        order = json.loads(message)
        self.watcher.begin(order["limits"])
        self.keep_secs = order["keep"]
        if order["handshake"]:
            self._choose_sandbox(fds, order["observe"])
        else:
            self._choose_process()
        # Sent first: a harness that does not get it knows that nothing was started and can use another supervisor.
        supervise.send(self.orders, self.sandbox.outputs if self.sandbox else [], say="started", pid=self.child.pid)
        if self.sandbox is not None:
            self.sandbox.give(*fds[1:4])
        else:
            self.child.send(child.RUN, fds)
        for fd in fds:
            os.close(fd)
        supervise.SupervisedCommand(order, self.orders, self.child, self.sandbox, self.deaths, self.watcher).run()
        self.watcher.end()
        self._fork_again()
        return True

    def _next_order(self) -> tuple[bytes, list[int]]:
        """Return the next order. A "kill" that arrives here is too late: its command has already ended."""
        while True:
            self._wait_for_order()
            message, fds, _, _ = socket.recv_fds(self.orders, ORDER_BYTES, child.DESCRIPTORS)
            if message != b"kill":
                return message, fds

    def _wait_for_order(self) -> None:
        """Wait for an order. If the last command used a sandbox, prewarm another one and keep it for a while."""
        poll = select.poll()
        poll.register(self.orders, select.POLLIN)
        if self.sandbox is None:
            if self.kind is None or not self.kind.can_wait or not self.keep_secs or poll.poll(POLL_SECS * 1000):
                return
            self.sandbox = prewarm.PrewarmedSandbox(self.child, self.kind)
            self.sandbox.start()
        if not self._has_order_in_time(self.sandbox, poll):
            self._fork_again()

    def _has_order_in_time(self, sandbox: prewarm.PrewarmedSandbox, poll: select.poll) -> bool:
        until = sandbox.started_at + self.keep_secs
        poll.register(self.child.channel, select.POLLIN)
        if not sandbox.is_ready:
            poll.register(self.child.ready, select.POLLIN)
        while (left := until - time.monotonic()) > 0:
            events = {fd for fd, _ in poll.poll(left * 1000)}
            if self.orders.fileno() in events:
                return True
            if self.child.channel.fileno() in events and not sandbox.read_message():
                poll.unregister(self.child.channel)
            if self.child.ready in events:
                poll.unregister(self.child.ready)
                sandbox.read_ready()
                if sandbox.is_ready:
                    supervise.send(self.orders, say="ready")
        return False

    def _choose_process(self) -> None:
        """Prepare for a command without a sandbox. Prewarm none after it: the next such command need not wait."""
        if self.kind is not None:
            self.kind.close()
            self.kind = None
        if self.sandbox is not None or self.child.pid in self.deaths.reap():  # it was killed while it waited
            self._fork_again()

    def _choose_sandbox(self, fds: list[int], is_observed: bool) -> None:
        """Use the prewarmed sandbox if it fits the order; otherwise start a new one.

        The last descriptor of an observed command is the channel to its observer.
        """
        received = [fds[0], *(fds[4:-1] if is_observed else fds[4:])]
        died = self.child.pid in self.deaths.reap()
        if self.kind is None or self.kind.text != prewarm.text_of(received[0]):
            if self.kind is not None:
                self.kind.close()
            self.kind = prewarm.Kind([os.dup(fd) for fd in received])
        if self.sandbox is not None and not died and self.sandbox.kind is self.kind and self.sandbox.is_current():
            return
        if self.sandbox is not None or died:
            self._fork_again()
        self.sandbox = prewarm.PrewarmedSandbox(self.child, self.kind)
        self.sandbox.start(fds[1], fds[-1] if is_observed else -1)

    def _fork_again(self) -> None:
        """Discard the waiting child or sandbox and fork a new child."""
        kill_tree.kill_all(self.deaths)
        self.child.close()
        if self.sandbox is not None:
            self.sandbox.close()
        self.child, self.sandbox = child.PreforkedChild(self.orders), None
