"""An interpreter that has already loaded the program and forks a process for every call.

    python warm_program.py DESCRIPTOR

Most of the cost of a call of `donewhen` is to load modules, the same ones every time. Each call still has its own
process, arguments, directory, variables and descriptors. There are three differences: modules are loaded beforehand,
they are not unloaded at the end, and variables that an interpreter reads at its start have no effect. `program.py`
decides when that matters and starts the real program then.

Requests come over a socket: a file with JSON, the descriptors 0 to 2, and a socket for the answers, which are the
process id at once and the wait status at the end.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import socket
import sys
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.lowlevel

import donewhen
from donewhen.cli import app

DESCRIPTORS = 5
TOO_HEAVY = "donewhen.model.wires.pydantic"
"""Takes as long to load as all others together, and few calls need it."""


def load() -> None:
    for module in pkgutil.walk_packages(donewhen.__path__, "donewhen."):
        if module.name not in (TOO_HEAVY, "donewhen.__main__"):
            importlib.import_module(module.name)
    anyio.run(anyio.lowlevel.checkpoint)  # loads the event loop
    gc.freeze()


@dataclass(frozen=True)
class Request:
    """One received call."""

    told: dict[str, Any]
    standard: list[int]
    answers: socket.socket

    @classmethod
    def taken(cls, descriptors: list[int]) -> "Request":
        text, *standard, answers = descriptors
        with os.fdopen(text, "rb") as file:
            file.seek(0)
            told = json.loads(file.read())
        return cls(told, standard, socket.socket(fileno=answers))

    def become(self) -> None:
        """Turn this forked process into the requested one."""
        for number, descriptor in enumerate(self.standard):
            os.dup2(descriptor, number)
        self.let_go()
        self.answers.close()
        # The old objects depend on the kind of file that they were made for.
        sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)
        sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        os.chdir(self.told["cwd"])
        os.environ.clear()
        os.environ.update(self.told["env"])
        sys.argv = self.told["argv"]

    def let_go(self) -> None:
        for descriptor in self.standard:
            os.close(descriptor)


class Forks:
    """The running calls, by a descriptor of their process."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._running: dict[int, tuple[int, Request]] = {}

    def serve(self) -> bool:
        """Fork for every request. Return True in each fork, and False when the control socket is closed."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd in self._running:
                        selector.unregister(key.fd)
                        self._end(key.fd)
                    elif (request := self._request()) is None:
                        return False
                    elif (pid := os.fork()) == 0:
                        self._forget()
                        request.become()
                        return True
                    else:
                        selector.register(self._begin(pid, request), selectors.EVENT_READ)

    def _request(self) -> Request | None:
        message, descriptors, _, _ = socket.recv_fds(self._control, 1, DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
        return Request.taken(list(descriptors)) if message else None

    def _begin(self, pid: int, request: Request) -> int:
        request.let_go()
        request.answers.sendall(b"%d\n" % pid)
        process = os.pidfd_open(pid)
        self._running[process] = pid, request
        return process

    def _end(self, process: int) -> None:
        os.close(process)
        pid, request = self._running.pop(process)
        _, status = os.waitpid(pid, 0)
        with request.answers, contextlib.suppress(BrokenPipeError):  # the caller may have given up
            request.answers.sendall(b"%d\n" % status)

    def _forget(self) -> None:
        """Close, in a fork, what belongs to other calls."""
        self._control.close()
        for process, (_, request) in self._running.items():
            os.close(process)
            request.answers.close()


def run() -> None:
    """Run the program, but exit before the interpreter would unload its modules.

    A fork shares those pages with the others and would have to copy each of them. All threads have ended then. If the
    program does not end with an exit code, or its output cannot be written, the interpreter ends as usual.
    """
    try:
        app.main()
    except SystemExit as ending:
        if isinstance(ending.code, int):
            atexit.register(leave, ending.code)
        raise


def leave(code: int) -> None:
    atexit.unregister(leave)
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] # those registered before, which would run after this
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    del sys.path[0]  # this directory, which the program does not have
    load()
    if Forks(socket.socket(fileno=int(sys.argv[1]))).serve():
        run()
