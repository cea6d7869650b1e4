"""The warden of one command: starts it, watches its limits and its deadline, kills all of it, tells how it ended.

Its only tie to the harness is the control socket: a message or the end of the stream means "kill it now". What the
warden says, one JSON object a message:

    {"say": "started", "pid": N}
    {"say": "listening"}                                 with one descriptor per requested listener
    {"say": "ended", "status": wait status, "why": "exit" | "killed" | "timeout" | "limit" | "failed", …}

"ended" is said once, after everything the command started is dead and reaped.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time
from typing import Any

from donewhen.workspace.launcher import child, kernel, limits, sweep

NOTE_BYTES = 8192
"""What is kept of bubblewrap's own complaints."""


class Warden:
    def __init__(self, spec: dict[str, Any], fds: list[int]) -> None:
        self.spec = spec
        self.stdio = fds[:3]
        self.control = socket.socket(fileno=fds[3])
        self.extra = fds[4:]
        self.why = "exit"
        self.detail = ""
        self.ready = not spec["handshake"]
        self.note = b""

    def guard(self) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        os.setsid()
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        status, swept = 0, 0
        try:
            status, swept = self._run()
        except OSError as error:
            self.why, self.detail = "failed", str(error)
            sweep.kill_all()
        self._say(
            say="ended",
            status=status,
            why=self.why,
            detail=self.detail,
            swept=swept,
            ready=self.ready,
            note=self.note.decode("utf-8", "replace"),
        )

    def _run(self) -> tuple[int, int]:
        pipes = child.Pipes.make()
        pid = os.fork()
        if pid == 0:
            self._become_the_command(pipes)
        pipes.close_child_ends()
        for fd in (*self.stdio, *self.extra):
            os.close(fd)
        self._say(say="started", pid=pid)
        status = self._watch(pid, pipes)
        swept = sweep.kill_all()
        failure = pipes.failure()
        if failure:
            self.why, self.detail = "failed", failure
        self.note += pipes.rest_of_notes(NOTE_BYTES - len(self.note))
        return status, swept

    def _become_the_command(self, pipes: child.Pipes) -> None:
        """In the forked process: never returns."""
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            child.become(self.spec, self.stdio, self.extra, pipes, self._hand_over_listeners)
        except BaseException as error:  # noqa: BLE001 - a fork of the warden must end here, with its reason told
            pipes.tell_failure(error)
        finally:
            os._exit(127)

    def _hand_over_listeners(self, listeners: list[int]) -> None:
        socket.send_fds(self.control, [json.dumps({"say": "listening"}).encode()], listeners)

    def _watch(self, pid: int, pipes: child.Pipes) -> int:
        """Until the command ends or must end; its wait status."""
        pidfd = os.pidfd_open(pid)
        poll = select.poll()
        for fd in (pidfd, self.control.fileno(), pipes.ready, pipes.notes):
            poll.register(fd, select.POLLIN)
        deadline = time.monotonic() + self.spec["timeout"] if self.spec["timeout"] is not None else None
        watcher = limits.Watcher(self.spec["limits"])
        while True:
            events = {fd for fd, _ in poll.poll(_milliseconds(deadline, watcher.pause_secs))}
            if pidfd in events:
                return os.waitpid(pid, 0)[1]
            if self.control.fileno() in events:
                return self._kill(pid, "killed", "")
            if pipes.ready in events:
                poll.unregister(pipes.ready)
                self._let_go(pipes)
            if pipes.notes in events:
                self._take_note(pipes, poll)
            if deadline is not None and time.monotonic() >= deadline:
                return self._kill(pid, "timeout", "")
            broken = watcher.broken()
            if broken:
                return self._kill(pid, "limit", broken)

    def _let_go(self, pipes: child.Pipes) -> None:
        """The first program inside is up, so the kernel now ties it to us: only from here on may it run anything."""
        if os.read(pipes.ready, 1):
            self.ready = True
            os.write(pipes.go, b"g\n")

    def _take_note(self, pipes: child.Pipes, poll: select.poll) -> None:
        chunk = os.read(pipes.notes, NOTE_BYTES)
        if not chunk:
            poll.unregister(pipes.notes)
        self.note = (self.note + chunk)[:NOTE_BYTES]

    def _kill(self, pid: int, why: str, detail: str) -> int:
        self.why, self.detail = why, detail
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        for below in sweep.descendants(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(below, signal.SIGKILL)
        return os.waitpid(pid, 0)[1]

    def _say(self, **message: Any) -> None:
        with contextlib.suppress(OSError):  # a harness that is gone does not hear us; the work is done all the same
            self.control.send(json.dumps(message).encode())


def _milliseconds(deadline: float | None, pause_secs: float | None) -> float | None:
    left = [pause_secs] if pause_secs is not None else []
    if deadline is not None:
        left.append(max(deadline - time.monotonic(), 0))
    return min(left) * 1000 + 1 if left else None
