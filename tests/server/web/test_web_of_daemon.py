"""`donewhen serve` as a person starts it: its address, its code, and the web side on the real methods and store."""

import json
import re
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from web_daemon import SECONDS
from websockets.sync.client import connect

from donewhen.events import Error
from donewhen.storage.archive import Archive
from program import PROGRAM, donewhen

SAID = re.compile(r"(http://127\.0\.0\.1:[0-9]+)/ - code for the browser: ([A-Z2-9]{4}-[A-Z2-9]{4}) ")


@dataclass
class Served:
    process: subprocess.Popen[str]
    address: str
    code: str
    directory: Path

    def ask(self, path: str, body: Any = None, token: str = "") -> tuple[int, str]:
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {(self.directory / token).read_text().strip()}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def call(self, method: str, token: str = "token", **params: Any) -> Any:
        return json.loads(self.ask("/rpc", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, token)[1])


@contextmanager
def served(home: Path, *options: str) -> Generator[Served]:
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen([PROGRAM, "serve", *options], cwd=home, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(process.terminate)
        assert process.stdout is not None
        said = next(found for line in process.stdout if (found := SAID.search(line)))
        yield Served(process, said[1], said[2], home / ".local" / "state" / "donewhen" / "daemon")


@pytest.fixture
def session(home: Path) -> str:
    """A session with one event in the store."""
    archive = Archive.open(home / ".local" / "state" / "donewhen")
    archive.create("20260101-000000-aaaa", "/repo", "a title").write(Error(kind="test", message="first"))
    archive.close()
    return "20260101-000000-aaaa"


@pytest.mark.promise("serve.address")
@pytest.mark.promise("serve.no-board")
def test_serve_prints_its_address_and_a_code_and_serves_no_board_there(home: Path) -> None:
    with served(home, "--port", "0", "--no-board") as daemon:
        assert daemon.ask("/") == (404, "nothing is served here\n")
        assert daemon.ask("/metrics")[0] == 401
        daemon.process.send_signal(signal.SIGTERM)
        assert daemon.process.wait(SECONDS) == 0

    assert sorted(path.name for path in daemon.directory.iterdir()) == ["access.log", "lock"]


@pytest.mark.promise("serve.address")
def test_serve_listens_on_the_port_of_its_option_and_says_when_it_is_taken(home: Path, tmp_path: Path) -> None:
    with served(home, "--port", "0") as daemon:
        port = daemon.address.rpartition(":")[2]
        answer = donewhen("serve", "--port", port, cwd=tmp_path, env={"XDG_STATE_HOME": str(tmp_path / "other")})

    assert (answer.code, answer.one_line) == (
        2,
        f"donewhen: another program listens on 127.0.0.1:{port}; choose another port with --port, "
        "or a free one with --port 0",
    )


def test_serve_refuses_to_be_reached_from_other_machines_without_tls(tmp_path: Path) -> None:
    answer = donewhen("serve", "--host", "192.0.2.1", cwd=tmp_path)

    assert (answer.code, answer.one_line) == (
        2,
        "donewhen: 192.0.2.1 can be reached from other machines: this needs a TLS certificate and its key",
    )


@pytest.mark.promise("serve.websocket")
def test_the_real_methods_and_events_are_reached_by_post_and_on_a_websocket(home: Path, session: str) -> None:
    with served(home, "--port", "0") as daemon:
        assert [one["id"] for one in daemon.call("session.list")["result"]] == [session]
        assert daemon.call("session.approve", id=session)["error"]["data"]["kind"] == "not_allowed"
        assert daemon.call("session.approve", "decide_token", id=session)["error"]["data"]["kind"] != "not_allowed"
        token = (daemon.directory / "token").read_text().strip()
        address = daemon.address.replace("http", "ws", 1) + "/rpc"
        with connect(address, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None) as websocket:
            params = {"id": session, "from_seq": 1}
            websocket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.subscribe", "params": params}))
            first, event = json.loads(websocket.recv(SECONDS)), json.loads(websocket.recv(SECONDS))
            metrics = daemon.ask("/metrics", token="token")[1]

    assert first["result"]["id"] == session
    assert event["params"]["event"]["message"] == "first"
    assert "\ndonewhen_subscribers 1\n" in metrics
    assert re.search(r'^donewhen_sessions\{state="\w+"\} 1$', metrics, re.MULTILINE)
