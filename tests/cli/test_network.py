"""Services of the host that a sandboxed command can reach: none, unless the workspace names them."""

import socket
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from needs import needs
from program import Answer, donewhen
from repositories import repository

ASK = """python3 -c '
import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    print(s.recv(100).decode() or "closed")
except OSError as error:
    print("refused")
' {host} {port}"""


class Greeter:
    """A service of the host that greets every connection, on TCP and on a unix socket."""

    def __init__(self, directory: Path) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.tcp.getsockname()[1]
        self.path = str(directory / "service.sock")
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(self.path)
        self.unix.listen()
        for listener in (self.tcp, self.unix):
            threading.Thread(target=self._greet, args=(listener,), daemon=True).start()

    def _greet(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"hello")

    def close(self) -> None:
        for listener in (self.tcp, self.unix):
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()


@pytest.fixture
def greeter(tmp_path: Path) -> Generator[Greeter]:
    service = Greeter(tmp_path)
    yield service
    service.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repository", {"file.txt": "x\n"})


def sandbox(root: Path, text: str, **workspace: str) -> Answer:
    env = {f"DONEWHEN__WORKSPACE__{key.upper()}": value for key, value in workspace.items()}
    return donewhen("sandbox", "--", text, cwd=root, env=env)


def ask(greeter: Greeter, host: str = "127.0.0.1") -> str:
    return ASK.format(host=host, port=greeter.port)


@pytest.mark.promise("workspace.network.none")
def test_without_network_the_loopback_of_the_host_is_unreachable(root: Path, greeter: Greeter) -> None:
    assert sandbox(root, ask(greeter)).out == "refused\n"


@pytest.mark.promise("workspace.network.full")
def test_full_network_is_the_network_of_the_host(root: Path, greeter: Greeter) -> None:
    assert sandbox(root, ask(greeter), network="full").out == "hello\n"


@pytest.mark.promise("workspace.network.setup")
def test_network_for_setup_ends_when_setup_ends(root: Path, greeter: Greeter) -> None:
    setup = ask(greeter).replace("\n", "\\n").replace('"', '\\"')
    command = f"cat made; {ask(greeter)}"
    answer = sandbox(root, command, network="setup", setup=f'["({setup}) > made"]')
    assert answer.out == "hello\nrefused\n"
    assert sandbox(root, "cat made", network="none", setup=f'["({setup}) > made; true"]').out == "refused\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.promise("workspace.reach")
def test_only_services_named_in_reach_are_reachable(root: Path, greeter: Greeter, host: str) -> None:
    assert sandbox(root, ask(greeter, host), reach=f"localhost:{greeter.port}").out == "hello\n"
    assert sandbox(root, ask(greeter, host), reach="localhost:1").out == "refused\n"


def test_a_connection_to_a_stopped_service_is_closed(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert sandbox(root, ASK.format(host="localhost", port=port), reach=f"localhost:{port}").out == "closed\n"


@pytest.mark.promise("workspace.sockets")
def test_only_named_unix_sockets_can_be_connected_to(root: Path, greeter: Greeter) -> None:
    script = f"""python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("{greeter.path}")
    print(s.recv(100).decode())
except OSError:
    print("refused")
'"""
    assert sandbox(root, script).out == "refused\n"
    assert sandbox(root, script, sockets=greeter.path).out == "hello\n"
