"""Guarding one command: from its start until everything it started is dead, and telling how it ended.

What is not here: what happens between two commands (`warden`), how the process came about (`child`, `ahead`).
"""

from __future__ import annotations

import json
import os
import select
import socket
import time

from donewhen.workspace.launcher import limits, sweep
from donewhen.workspace.launcher.process_calls import ProcessCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from donewhen.workspace.launcher.ahead import Sandbox
    from donewhen.workspace.launcher.child import Recruit

NOTE_BYTES = 4096
"""What is kept of bubblewrap's own complaints."""
LONGEST_NAP_SECS = 3600.0
"""The kernel counts the milliseconds of one wait in an int."""


class Guard:
    """One command, from its start to the last of its processes."""

    def __init__(
        self,
        order: dict[str, Any],
        control: socket.socket,
        recruit: Recruit,
        sandbox: Sandbox | None,
        deaths: sweep.Deaths,
        watcher: limits.Watcher,
    ) -> None:
        self.control = control
        self.recruit = recruit
        self.sandbox = sandbox
        self.deaths = deaths
        self.deadline = time.monotonic() + order["timeout"] if order["timeout"] is not None else limits.NEVER
        self.watcher = watcher
        self.why = "exit"
        self.detail = ""
        self.status = 0
        self.note = b""
        self.calls: ProcessCalls | None = None
        """Those of a command whose filter hands calls over."""

    def run(self) -> None:
        self._watch()
        swept, left = sweep.kill_all(self.deaths)
        if self.calls is not None:
            self.calls.close()
        failure = self.recruit.failure()
        if failure:
            self.why, self.detail = "failed", failure
        if left:
            self.why, self.detail = "stuck", " ".join(map(str, left[:10]))
        self.note += self.recruit.rest_of_notes(NOTE_BYTES - len(self.note))
        say(
            self.control,
            say="ended",
            status=self.status,
            why=self.why,
            detail=self.detail,
            swept=swept,
            ready=self.sandbox is None or self.sandbox.became(),
            note=self.note.decode("utf-8", "replace"),
        )

    def _watch(self) -> None:
        """Until the command has ended, or must end."""
        poll = select.poll()
        for fd in (self.deaths.fileno(), self.control.fileno(), self.recruit.notes):
            poll.register(fd, select.POLLIN)
        poll.register(self.recruit.channel, select.POLLIN)
        if self.sandbox is not None and not self.sandbox.stands:
            poll.register(self.recruit.ready, select.POLLIN)
        while True:
            events = {fd for fd, _ in poll.poll(self._nap())}
            if self.deaths.fileno() in events and self._has_ended():
                return
            if self.control.fileno() in events:
                self.why = "killed"
                return
            if self.sandbox is not None:
                self._attend(self.sandbox, events, poll)
            else:
                self._decide(events, poll)
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

    def _attend(self, sandbox: Sandbox, events: set[int], poll: select.poll) -> None:
        """The sandbox comes up, and gets its tree."""
        if self.recruit.ready in events:
            poll.unregister(self.recruit.ready)
            sandbox.hear_inside()
        if self.recruit.channel.fileno() in events and not sandbox.hear():
            poll.unregister(self.recruit.channel)
            if not sandbox.has_tree:
                sweep.strike([self.recruit.pid])  # it would wait for ever

    def _decide(self, events: set[int], poll: select.poll) -> None:
        """A command without a sandbox brings its filter, and makes calls that its filter hands over."""
        if self.recruit.channel.fileno() in events:
            poll.unregister(self.recruit.channel)
            self.calls = self.recruit.process_calls()
            if self.calls is not None:
                poll.register(self.calls.listener, select.POLLIN)
        if self.calls is not None and self.calls.listener in events:
            self.calls.answer_one()

    def _take_note(self, poll: select.poll) -> None:
        chunk = os.read(self.recruit.notes, NOTE_BYTES)
        if not chunk:
            poll.unregister(self.recruit.notes)
        self.note = (self.note + chunk)[:NOTE_BYTES]


def say(control: socket.socket, fds: list[int] | None = None, **message: Any) -> None:
    try:
        socket.send_fds(control, [json.dumps(message).encode()], fds or [])
    except OSError:
        return  # a harness that is gone does not hear us; the work is done all the same
