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

import anyio
import pytest
from web_daemon import WebDaemon, running

from donewhen.workspace.process.launch import Launcher
from donewhen.workspace.sandbox.level import recorded_probe
from needs import leave_out, needs, needs_root
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


@pytest.fixture
def sandboxed(home: Path, tmp_path: Path) -> Iterator[tuple[WebDaemon, Path]]:
    """A daemon in the state directory of the user, and a repository with the probe in it."""
    root = repository(tmp_path / "repository", {"probe.py": PROBE.read_text()})
    state = home / ".local" / "state" / "donewhen"
    with running(state) as daemon, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(state / "daemon" / "rpc.sock"))
        listener.listen()
        yield daemon, root
        assert probed([], daemon) == ALL_OF_IT


def probed_in_sandbox(daemon: WebDaemon, root: Path, *before: str, **settings: str) -> dict[str, str]:
    words = [PYTHON, "probe.py", str(daemon.port), str(daemon.state / "daemon")]
    command = [*before, shlex.join(words), "/dev/null"] if before else words
    answer = donewhen("sandbox", "--", *command, cwd=root, env=settings)
    assert answer.code == 0, answer.err
    assert daemon.service.done == []
    return json.loads(answer.out)


NOT_THERE = {"FileNotFoundError", "PermissionError", "URLError", "ConnectionRefusedError", "OSError"}


def test_a_command_in_the_sandbox_reaches_neither_port_nor_token_nor_socket(sandboxed: tuple[WebDaemon, Path]) -> None:
    """C13"""
    needs("bwrap")
    assert set(probed_in_sandbox(*sandboxed).values()) <= NOT_THERE


def test_a_terminal_of_its_own_gives_a_command_in_the_sandbox_no_more(sandboxed: tuple[WebDaemon, Path]) -> None:
    """C13"""
    needs("bwrap")
    assert set(probed_in_sandbox(*sandboxed, needs("script"), "-qec").values()) <= NOT_THERE


def test_a_command_with_the_network_of_the_host_reaches_the_port_without_a_token(
    sandboxed: tuple[WebDaemon, Path],
) -> None:
    """C13"""
    needs("bwrap")
    found = probed_in_sandbox(*sandboxed, DONEWHEN__WORKSPACE__NETWORK="full")

    assert found.pop("the port") == "401"
    assert set(found.values()) <= NOT_THERE


@pytest.mark.parametrize("network", ["none", "full"])
def test_a_command_behind_landlock_reaches_neither_token_nor_socket(
    sandboxed: tuple[WebDaemon, Path], network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C13"""
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")  # that of a virtual environment may be unreadable there
    daemon, root = sandboxed
    if not anyio.run(landlock_version, daemon.state):
        leave_out("landlock")
    record = daemon.state / "probe.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), **NO_NAMESPACES}))
    found = probed_in_sandbox(daemon, root, DONEWHEN__WORKSPACE__NETWORK=network)

    assert found.pop("the port") in ("401", *NOT_THERE)
    assert set(found.values()) <= NOT_THERE


async def landlock_version(state: Path) -> int:
    async with Launcher.open() as launcher:
        return (await recorded_probe(launcher, state)).landlock_abi


NO_NAMESPACES = {
    "level": "landlock",
    "bwrap": None,
    "bwrap_version": "",
    "bwrap_problem": "bubblewrap is not installed",
    "overlay": False,
    "overlay_problem": "no user namespaces",
}
"""What the sandbox finds on a machine that forbids namespaces."""
