"""Setup commands may have network access; no code of a candidate runs in them. Without the defence, it does."""

import socket
import threading
from collections.abc import Generator

import pytest
from cheat import Scene, text
from cheat_judge import captured_candidate
from cheat_scenes import CONFIGURED, IGNORED, PYTEST
from cheat_workspace import CheatWorkspace, put

pytestmark = pytest.mark.anyio
SAYS = text("""
    import socket

    with socket.create_connection(("127.0.0.1", {port})) as service:
        service.sendall(b"{who}")
        service.recv(1)
""")
FROM_NODE = (
    "const s = require('net').connect({port}, '127.0.0.1'); s.on('data', () => process.exit()); s.write('{who}')"
)


class Listener:
    """A service of the host. It answers when it has recorded who spoke to it."""

    def __init__(self) -> None:
        self._tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._tcp.getsockname()[1]
        self.heard: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._tcp.accept()
            except OSError:
                return
            with connection:
                self.heard.append(connection.recv(100).decode())
                connection.sendall(b".")

    def close(self) -> None:
        self._tcp.shutdown(socket.SHUT_RDWR)
        self._tcp.close()


@pytest.fixture
def listener() -> Generator[Listener]:
    service = Listener()
    yield service
    service.close()


async def heard(workspace: CheatWorkspace, listener: Listener, scene: Scene, path: str, to: str) -> list[set[str]]:
    """Who spoke during setup, with the defence and without it."""
    tree = workspace.fresh(scene)
    content = (tree / path).read_text()
    put(tree, {path: content.replace("base", to), "requirements.txt": "idna==3.1\n"})
    found: list[set[str]] = []
    async with captured_candidate(tree) as candidate:
        for off in ((), ("setup", "protection")):
            listener.heard.clear()
            await candidate.verdict(*off)
            found.append(set(listener.heard))
    return found


async def test_a_changed_setup_py_does_not_run_while_there_is_network_access(
    workspace: CheatWorkspace, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DONEWHEN__WORKSPACE__NETWORK", "setup")
    files = {
        **CONFIGURED,
        ".gitignore": IGNORED,
        "requirements.txt": "idna==3\n",
        "setup.py": SAYS.format(port=listener.port, who="base"),
    }
    scene = Scene(f"network-{listener.port}", "python", files, {"tests": PYTEST}, setup=("python setup.py",))
    assert await heard(workspace, listener, scene, "setup.py", "candidate") == [{"base"}, {"candidate"}]


async def test_a_script_of_a_package_does_not_run_while_there_is_network_access(
    workspace: CheatWorkspace, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DONEWHEN__WORKSPACE__NETWORK", "setup")
    says = FROM_NODE.format(port=listener.port, who="base")
    files = {
        **CONFIGURED,
        ".gitignore": IGNORED,
        "requirements.txt": "idna==3\n",
        "package.json": f'{{"name": "a", "version": "1.0.0", "scripts": {{"postinstall": "node -e \\"{says}\\""}}}}\n',
    }
    setup = ("npm install --offline --no-audit --no-fund --no-package-lock",)
    scene = Scene(f"npm-{listener.port}", "python", files, {"tests": PYTEST}, setup=setup, programs=("node", "npm"))
    assert await heard(workspace, listener, scene, "package.json", "candidate") == [{"base"}, {"candidate"}]
