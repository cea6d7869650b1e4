"""A PostgreSQL server for one test, on a free port, removed at the end. It never runs as root."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from needs import leave_out, needs

NOBODY = 65534


def _program(name: str) -> str:
    """Return the path of a server program. Debian does not put them on PATH."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(kept[-1]) if kept else shutil.which(name) or leave_out("postgresql")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running() -> Generator[int]:
    """Start a server and return its port; user `postgres`, no password."""
    # Not below pytest's directories: pytest closes them to other users at every start.
    with tempfile.TemporaryDirectory(prefix="donewhen-postgres-") as place:
        as_nobody: list[str] = []
        if os.geteuid() == 0:
            as_nobody = [needs("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            os.chown(place, NOBODY, NOBODY)

        def call(name: str, *arguments: str) -> None:
            command = [*as_nobody, _program(name), "-D", f"{place}/data", *arguments]
            subprocess.run(command, cwd="/", check=True, stdout=subprocess.DEVNULL, timeout=120)

        port = _free_port()
        call("initdb", "-U", "postgres", "--auth", "trust", "--no-sync")
        options = f"-p {port} -k {place} -F -c listen_addresses=127.0.0.1"
        call("pg_ctl", "-w", "-l", f"{place}/log", "-o", options, "start")
        try:
            yield port
        finally:
            call("pg_ctl", "-m", "immediate", "stop")
