"""Other users cannot reach the daemon, and what they prepared in its place is refused (C10, C11)."""

import os
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from needs import needs, needs_root
from server.daemon_program import Daemon, serving, started

NOBODY = 65534
REQUEST = '{"jsonrpc": "2.0", "id": 1, "method": "session.list"}'
CLIENT = """import socket, sys
line = socket.socket(socket.AF_UNIX)
try:
    line.connect(sys.argv[1])
    line.sendall(sys.argv[2].encode() + b"\\n")
    print("answered" if line.recv(10) else "closed")
except OSError as error:
    print(type(error).__name__)
"""


def asked_by(user: int, path: Path) -> str:
    """Return what a user gets from the socket."""
    becoming = [needs("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    command = [*becoming, "/usr/bin/python3", "-c", CLIENT, str(path), REQUEST]
    ran = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60, check=True)
    return ran.stdout.strip()


@pytest.fixture
def public(home: Path) -> Generator[Mapping[str, str]]:
    """A state directory in a place that every user may enter."""
    needs_root()
    with tempfile.TemporaryDirectory(dir="/srv") as place:
        Path(place).chmod(0o755)
        yield {"XDG_STATE_HOME": place}


def test_another_user_cannot_reach_the_socket(public: Mapping[str, str]) -> None:
    with serving(env=public) as daemon:
        assert asked_by(NOBODY, daemon.socket) == "PermissionError"
        assert asked_by(0, daemon.socket) == "answered"


def test_another_user_is_not_answered_even_if_every_mode_is_open(public: Mapping[str, str]) -> None:
    with serving(env=public) as daemon:
        for place in (daemon.socket, daemon.socket.parent, daemon.socket.parents[1]):
            place.chmod(0o777)
        assert asked_by(NOBODY, daemon.socket) in ("closed", "ConnectionResetError", "BrokenPipeError")
        assert asked_by(0, daemon.socket) == "answered"


@pytest.mark.parametrize("place", ["donewhen", "donewhen/daemon"])
def test_a_directory_of_another_user_is_refused(public: Mapping[str, str], place: str) -> None:
    there = Path(public["XDG_STATE_HOME"]) / place
    there.mkdir(parents=True, mode=0o700)
    os.chown(there, NOBODY, NOBODY)
    with started(env=public) as daemon:
        assert daemon.wait() == 2
        assert daemon.log == f"donewhen: {there} is not a directory of this user; donewhen keeps nothing there\n"
        assert nothing_was_made(daemon, there)


def nothing_was_made(daemon: Daemon, there: Path) -> bool:
    daemon.nothing_left()
    return not list(there.iterdir())
