"""The prepared process: it has loaded what calls need, and forks a call process for each of them.

    prepared = PreparedProcess.fork()        # before the event loop and before any thread
    prepared = PreparedProcess.start()       # in any program, also with threads and event loops
    line = prepared.begin_call()             # the daemon's end of a socket to a new call process

It has no threads and no event loop, so that a fork of it is safe. It ends when the daemon does; call processes go on.
"""

import array
import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from donewhen.errors import MachineryBroke

LOADED = (
    "donewhen.server.methods.table",
    "donewhen.session.verbs.start",
    "donewhen.session.verbs.check",
    "donewhen.session.verbs.finished",
    "donewhen.session.crew.crew",
    "donewhen.loops.run",
    "donewhen.judge.judge",
    "donewhen.model.open_model",
    "donewhen.engines.native.loop",
    "donewhen.workspace.sandbox.sandbox",
    "anyio._backends._asyncio",
)
"""What most calls need."""
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]); sys.path += [one for one in sys.argv[2:] if one not in sys.path]; "
    "from donewhen.server.calls.prepared_process import serve_inherited; serve_inherited({fd})"
)
_FORK = b"f"


class PreparedProcess:
    """The daemon's handle of the prepared process."""

    def __init__(self, control: socket.socket, pid: int, wait: Callable[[], object]) -> None:
        """`wait` returns when the process has ended."""
        self._control = control
        self.pid = pid
        self._wait = wait

    @classmethod
    def fork(cls) -> "PreparedProcess":
        """Start it. The calling process must have one thread and no event loop."""
        ours, theirs = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            ours.close()
            _serve(theirs)
        theirs.close()
        return cls(ours, pid, partial(os.waitpid, pid, 0))

    @classmethod
    def start(cls) -> "PreparedProcess":
        """Start it as a new interpreter. Nothing of the calling process is copied, so it may have threads.

        The new process finds packages where this one does: its own places come first, then those of `sys.path` here.
        """
        from donewhen.workspace.process.launch import start_interpreter  # loaded on use: the daemon forks

        ours, theirs = socket.socketpair()
        source = str(Path(__file__).parents[3])
        with theirs:
            try:
                code = BOOT.format(fd=theirs.fileno())
                places = [os.path.abspath(place) for place in sys.path if place]
                process = start_interpreter(code, [source, *places], theirs, with_site=True)
            except OSError as error:
                ours.close()
                raise MachineryBroke(f"cannot start the prepared process: {error.strerror}") from error
        return cls(ours, process.pid, process.wait)

    def begin_call(self) -> socket.socket:
        """Fork a call process. Return a socket to it. Raise OSError if the prepared process has ended."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                passed = array.array("i", [theirs.fileno()])
                self._control.sendmsg([_FORK], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
            except OSError:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        """End it. The call processes go on."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # a fork of this program may hold a copy of the socket
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            self._wait()


def serve_inherited(descriptor: int) -> None:
    """Be the prepared process of a program that has passed its socket on. Does not return."""
    _serve(socket.socket(fileno=descriptor))


def _serve(control: socket.socket) -> None:
    """Fork a call process for each request, until the daemon has ended. Does not return."""
    code = 1
    try:
        with contextlib.suppress(PermissionError):  # a new interpreter has a session of its own already
            os.setsid()  # Ctrl-C at the daemon's terminal is the daemon's
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended call processes leave no zombies
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for name in LOADED:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()  # keep the memory of what is loaded shared with all call processes
        user = os.pidfd_open(os.getppid())
        while (line := _next_line(control, user)) is not None:
            if os.fork() == 0:
                control.close()
                os.close(user)
                _work(line)
            line.close()
        code = 0
    finally:
        os._exit(code)


def _next_line(control: socket.socket, user: int) -> socket.socket | None:
    """Return the line of the next call; None if the program that uses this process has ended.

    `user` is its handle (pidfd): a fork of a program may outlive it, with a copy of its socket.
    """
    while True:
        if control not in select.select([control, user], [], [])[0]:
            return None
        data, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(4))
        if not data:
            return None
        for level, kind, passed in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                return socket.socket(fileno=array.array("i", passed)[0])


def _work(line: socket.socket) -> None:
    """Carry out one call in the forked process. Does not return."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.setsid()
        from donewhen.server.calls.call_process import run

        code = run(line)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
