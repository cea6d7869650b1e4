"""Programs that the daemon must not serve: other users of the machine, commands in a sandbox, and strangers.

Each runs the same probe. Started by the owner it reaches everything, so it is able to.
"""

import json
import os
import shlex
import socket
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from web_daemon import WebDaemon, running

from donewhen.server.web.defences import ALL, WebDefences
from donewhen.server.web.options import WebOptions
from donewhen.server.web.peer_user import UserCheck, owner_of
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


@contextmanager
def served_in(public: Path, defences: WebDefences = ALL) -> Generator[WebDaemon]:
    with running(public / "state", WebOptions(port=0, defences=defences)) as daemon:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(daemon.state / "daemon" / "rpc.sock"))
            listener.listen()
            yield daemon


def become(user: str) -> list[str]:
    needs_root()
    return [needs("setpriv"), f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]


def test_another_user_gets_no_answer_reads_no_token_and_decides_nothing(public: Path) -> None:
    """C10"""
    with served_in(public) as daemon:
        found = probed(become(NOBODY), daemon, public / PROBE.name)
        assert found.pop("the port") == "403"
        assert set(found.values()) == {"PermissionError"}
        assert "refused: a connection of another user" in daemon.log
        assert probed([], daemon, public / PROBE.name) == ALL_OF_IT


def test_without_the_modes_of_its_directory_the_token_would_be_anybodys(public: Path) -> None:
    """C10 without one defence: the other one, that connections have to be of the same user, still holds."""
    for defences, decision in ((WebDefences(user=False), "200"), (ALL, "403")):
        with served_in(public, defences) as daemon:
            for path in (daemon.state, daemon.state / "daemon"):
                path.chmod(0o755)
            for name in ("decide_token", "rpc.sock"):
                (daemon.state / "daemon" / name).chmod(0o666)
            found = probed(become(NOBODY), daemon, public / PROBE.name)
            (daemon.state / "daemon" / "rpc.sock").unlink()

        assert (found["the token"], found["a decision"]) == ("read", decision)


def test_without_the_check_of_the_user_the_modes_still_hold(public: Path) -> None:
    """C10"""
    with served_in(public, WebDefences(user=False)) as daemon:
        found = probed(become(NOBODY), daemon, public / PROBE.name)
        assert found.pop("the port") == "401"
        assert set(found.values()) == {"PermissionError"}


def test_the_kernel_says_whose_a_connection_is() -> None:
    assert UserCheck().works
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.create_server((address, 0), family=family) as server:
            own = server.getsockname()[:2]
            with socket.create_connection(own) as client:
                peer = client.getsockname()[:2]
                assert owner_of(peer, own) == os.geteuid()
            assert owner_of(peer, own) is None


def test_a_program_of_the_same_user_without_the_token_is_refused(public: Path) -> None:
    """C14"""
    with served_in(public) as daemon:
        assert probed([], daemon)["the port"] == "401"
        assert daemon.service.done == ["session.approve by the decide token"]


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
