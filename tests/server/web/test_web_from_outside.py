"""Programs that the daemon must not serve: other users of the machine, commands in a sandbox, and strangers.

Each runs the same probe. Started by the owner it reaches everything, so it is able to.
"""

import json
import shlex
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from web_daemon import WebDaemon, running

from needs import needs, needs_root
from program import donewhen
from repositories import repository

PROBE = Path(__file__).with_name("probe.py")
NOBODY = "65534"
PYTHON = "/usr/bin/python3"
ALL_OF_IT = {
    "the port": "401",
    "the names": "access.log decide_token rpc.sock token",
    "the token": "read",
    "a decision": "200",
    "the socket": "connected",
}


def probed(command: Sequence[str], daemon: WebDaemon, probe: Path = PROBE) -> dict[str, str]:
    words = [*command, PYTHON, str(probe), str(daemon.port), str(daemon.state / "daemon")]
    ran = subprocess.run(words, check=True, capture_output=True, text=True, timeout=120)
    return json.loads(ran.stdout)


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that other users may enter: what protects the daemon is its own directory."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        (Path(name) / PROBE.name).write_text(PROBE.read_text())
        yield Path(name)


@pytest.fixture
def served(public: Path) -> Iterator[WebDaemon]:
    with running(public / "state") as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(daemon.state / "daemon" / "rpc.sock"))
        listener.listen()
        yield daemon


def test_another_user_reads_no_token_and_decides_nothing(served: WebDaemon, public: Path) -> None:
    """C10"""
    needs_root()
    becoming = [needs("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    probe = public / PROBE.name

    assert probed([], served, probe) == ALL_OF_IT
    assert probed(becoming, served, probe) == {
        "the port": "401",
        "the names": "PermissionError",
        "the token": "PermissionError",
        "a decision": "PermissionError",
        "the socket": "PermissionError",
    }


def test_without_its_modes_the_directory_would_give_the_token_to_another_user(served: WebDaemon, public: Path) -> None:
    """C10, the control"""
    needs_root()
    becoming = [needs("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    for path in (served.state, served.state / "daemon"):
        path.chmod(0o755)
    for name in ("decide_token", "rpc.sock"):
        (served.state / "daemon" / name).chmod(0o666)

    assert probed(becoming, served, public / PROBE.name) == ALL_OF_IT


def test_a_program_of_the_same_user_without_the_token_is_refused(served: WebDaemon) -> None:
    """C14"""
    assert probed([], served)["the port"] == "401"
    assert served.service.done == ["session.approve by the decide token"]


@pytest.mark.parametrize("terminal", [False, True], ids=["plainly", "with a terminal of its own"])
def test_a_command_in_the_sandbox_reaches_neither_port_nor_token_nor_socket(
    home: Path, tmp_path: Path, terminal: bool
) -> None:
    """C13"""
    needs("bwrap")
    root = repository(tmp_path / "repository", {"probe.py": PROBE.read_text()})
    state = home / ".local" / "state" / "donewhen"
    with running(state) as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(state / "daemon" / "rpc.sock"))
        listener.listen()
        words = [PYTHON, "probe.py", str(daemon.port), str(state / "daemon")]
        command = [needs("script"), "-qec", shlex.join(words), "/dev/null"] if terminal else words
        answer = donewhen("sandbox", "--", *command, cwd=root)

        assert answer.code == 0, answer.err
        found = json.loads(answer.out)
        assert set(found.values()) <= {"FileNotFoundError", "PermissionError", "URLError", "ConnectionRefusedError"}
        assert daemon.service.done == []
        assert probed([], daemon) == ALL_OF_IT
