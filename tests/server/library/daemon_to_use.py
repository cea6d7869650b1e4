"""A real daemon for the tests of clients: `donewhen serve` on the state directory of the test."""

import contextlib
import subprocess
from collections.abc import Generator

from program import PROGRAM


@contextlib.contextmanager
def a_daemon() -> "Generator[subprocess.Popen[str]]":
    """Run a daemon while the block lasts. It listens already. A session that still works then goes on without it."""
    command = [str(PROGRAM), "serve", "--port", "0", "--no-board"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as daemon:
        assert daemon.stderr is not None
        said = ""
        while "listens on" not in said:
            line = daemon.stderr.readline()
            assert line, said
            said += line
        try:
            yield daemon
        finally:
            daemon.kill()
