"""Supervision of one command: from its start until all its processes are dead, and the report of how it ended.

Not here: what happens between two commands (`supervisor`), how the process is made (`child`, `prewarm`).
"""

from __future__ import annotations

import json
import os
import select
import socket
import time

from donewhen.workspace.process.launcher import kill_tree, limit_watch
from donewhen.workspace.process.launcher.process_calls import ProcessCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from donewhen.workspace.process.launcher.child import PreforkedChild
    from donewhen.workspace.process.launcher.prewarm import PrewarmedSandbox

NOTE_BYTES = 4096
"""How much of the error messages of bubblewrap itself is kept."""
LONGEST_WAIT_SECS = 3600.0
"""Upper limit of one wait: the kernel takes its milliseconds as an int."""


class SupervisedCommand:
    """One command, from its start to the end of its last process."""

    def __init__(
        self,
        order: dict[str, Any],
        control: socket.socket,
        child: PreforkedChild,
        sandbox: PrewarmedSandbox | None,
        deaths: kill_tree.Deaths,
        watcher: limit_watch.LimitWatcher,
    ) -> None:
        self.control = control
        self.child = child
        self.sandbox = sandbox
        self.deaths = deaths
        self.deadline = time.monotonic() + order["timeout"] if order["timeout"] is not None else limit_watch.NEVER
        self.watcher = watcher
        self.why = "exit"
        self.detail = ""
        self.status = 0
        self.note = b""
        self.calls: ProcessCalls | None = None
        """Set for a command whose filter hands calls over."""

    def run(self) -> None:
        self._watch()
        swept, left = kill_tree.kill_all(self.deaths)
        if self.calls is not None:
            self.calls.close()
        failure = self.child.failure()
        if failure:
            self.why, self.detail = "failed", failure
        if left:
            self.why, self.detail = "stuck", " ".join(map(str, left[:10]))
        self.note += self.child.rest_of_notes(NOTE_BYTES - len(self.note))
        send(
            self.control,
            say="ended",
            status=self.status,
            why=self.why,
            detail=self.detail,
            swept=swept,
            ready=self.sandbox is None or self.sandbox.has_become_command(),
            note=self.note.decode("utf-8", "replace"),
        )

    def _watch(self) -> None:
        """Wait until the command has ended or must be killed."""
        poll = select.poll()
        for fd in (self.deaths.fileno(), self.control.fileno(), self.child.notes):
            poll.register(fd, select.POLLIN)
        poll.register(self.child.channel, select.POLLIN)
        if self.sandbox is not None and not self.sandbox.is_ready:
            poll.register(self.child.ready, select.POLLIN)
        while True:
            events = {fd for fd, _ in poll.poll(self._wait_ms())}
            if self.deaths.fileno() in events and self._has_ended():
                return
            if self.control.fileno() in events:
                self.why = "killed"
                return
            if self.sandbox is not None:
                self._handle_sandbox(self.sandbox, events, poll)
            else:
                self._handle_process(events, poll)
            if self.child.notes in events:
                self._read_notes(poll)
            if time.monotonic() >= self.deadline:
                self.why = "timeout"
                return
            self.detail = self.watcher.broken()
            if self.detail:
                self.why = "limit"
                return

    def _wait_ms(self) -> float:
        """Return how many milliseconds to wait until the next deadline or limit check."""
        left = min(self.deadline, self.watcher.next_check) - time.monotonic()
        return max(min(left, LONGEST_WAIT_SECS), 0) * 1000 + 1

    def _has_ended(self) -> bool:
        """Reap the command and every ended orphan: orphans become our children, so only this process can reap them."""
        ended = self.deaths.reap()
        if self.child.pid not in ended:
            return False
        self.status = ended[self.child.pid]
        self.detail = self.watcher.stopped_by_kernel()
        if self.detail and self.status:  # the kernel enforced a memory or process limit
            self.why = "limit"
        return True

    def _handle_sandbox(self, sandbox: PrewarmedSandbox, events: set[int], poll: select.poll) -> None:
        """Handle events of a sandbox: it becomes ready, it gets its tree."""
        if self.child.ready in events:
            poll.unregister(self.child.ready)
            sandbox.read_ready()
        if self.child.channel.fileno() in events and not sandbox.read_message():
            poll.unregister(self.child.channel)
            if not sandbox.has_tree:
                kill_tree.kill_groups([self.child.pid])  # it would wait without end

    def _handle_process(self, events: set[int], poll: select.poll) -> None:
        """Handle events of a command without a sandbox: it sends its filter's listener, or makes a handed-over call."""
        if self.child.channel.fileno() in events:
            poll.unregister(self.child.channel)
            self.calls = self.child.process_calls()
            if self.calls is not None:
                poll.register(self.calls.listener, select.POLLIN)
        if self.calls is not None and self.calls.listener in events:
            self.calls.answer_one()

    def _read_notes(self, poll: select.poll) -> None:
        chunk = os.read(self.child.notes, NOTE_BYTES)
        if not chunk:
            poll.unregister(self.child.notes)
        self.note = (self.note + chunk)[:NOTE_BYTES]


def send(control: socket.socket, fds: list[int] | None = None, **message: Any) -> None:
    try:
        socket.send_fds(control, [json.dumps(message).encode()], fds or [])
    except OSError:
        return  # the harness is gone; the work is done anyway
