"""The real program, called as a person calls it, for tests of the command line.

After a few calls `donewhen` forks it from an interpreter that has already loaded it (`warm_program`): a normal process,
without the time for loading. `PROGRAM` is for tests that examine the process itself, or what it loads.
"""

import atexit
import contextlib
import functools
import itertools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("donewhen")
"""The entry point of the virtual environment that runs the tests."""
WARM = Path(__file__).with_name("warm_program.py")
READ_AT_START = ("PYTHON", "LC_", "LANG")
"""The first letters of variables that an interpreter reads when it starts."""
PIPE_BYTES = 60_000
COLD_CALLS = 5
"""The first calls start the real program: for fewer calls, loading all of it would cost more than it saves."""
calls = itertools.count()


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def one_line(self) -> str:
        """Return the only line on stderr. Fail if there are more, or a traceback."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


def donewhen(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, given: str = "", timeout: float = 120
) -> Answer:
    """Call the program and wait for it, and for every process that holds its output."""
    variables = {**os.environ, **(env or {})}
    if next(calls) < COLD_CALLS or at_start(variables) != warm_program().at_start or len(given) > PIPE_BYTES:
        finished = subprocess.run(
            [PROGRAM, *arguments],
            cwd=cwd,
            env=variables,
            input=given.encode(),
            capture_output=True,
            check=False,
            timeout=timeout,
        )
        code, out, err = finished.returncode, finished.stdout, finished.stderr
    else:
        code, out, err = warm_program().call(arguments, cwd, variables, given.encode(), timeout)
    return Answer(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(READ_AT_START)}


@functools.cache
def warm_program() -> "WarmProgram":
    """Return the one of this test process. It ends when its socket is closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, WARM, str(theirs.fileno())]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
        )
    warm = WarmProgram(ours, process, at_start(os.environ))
    atexit.register(warm.end)
    return warm


@dataclass(frozen=True)
class WarmProgram:
    control: socket.socket
    process: subprocess.Popen[bytes]
    at_start: dict[str, str]

    def call(
        self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], given: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Return the exit code in the form of `subprocess`, and the output."""
        with contextlib.ExitStack() as stack:
            (out, to_out), (err, to_err), (from_in, to_in) = os.pipe(), os.pipe(), os.pipe()
            os.write(to_in, given)
            os.close(to_in)
            answers, theirs = socket.socketpair()
            stack.enter_context(answers)
            request = os.memfd_create("request")
            told = {"argv": [str(PROGRAM), *arguments], "cwd": str(cwd), "env": dict(env)}
            os.write(request, json.dumps(told).encode())
            with theirs:
                given_away = [request, from_in, to_out, to_err]
                socket.send_fds(self.control, [b"!"], [*given_away, theirs.fileno()])
            for descriptor in given_away:
                os.close(descriptor)
            lines = stack.enter_context(answers.makefile())
            pid = int(lines.readline())
            printed = read_all([out, err], time.monotonic() + timeout)
            if printed is None:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout)
            return os.waitstatus_to_exitcode(int(lines.readline())), *printed

    def end(self) -> None:
        self.control.close()
        self.process.wait()


def read_all(descriptors: Sequence[int], deadline: float) -> tuple[bytes, bytes] | None:
    """Return the output of two pipes until their other ends are closed; None after the deadline."""
    chunks: dict[int, list[bytes]] = {descriptor: [] for descriptor in descriptors}
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(deadline - time.monotonic())
            if not ready:
                return None
            for key, _ in ready:
                if chunk := os.read(key.fd, 1 << 16):
                    chunks[key.fd].append(chunk)
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    out, err = (b"".join(chunks[descriptor]) for descriptor in descriptors)
    return out, err
