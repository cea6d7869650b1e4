"""Where the daemon can be reached: its port, this machine only, and other machines with TLS."""

import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from web_daemon import WebDaemon, running, status_of
from websockets.exceptions import InvalidStatus

from donewhen.errors import BadInput
from donewhen.server.rpc.bounded_json import LONGEST
from donewhen.server.web.app import WebMount
from donewhen.server.web.options import DEFAULT_PORT, WebOptions, listen
from needs import needs

START: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "session.start", "params": {"id": "one"}}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    directory = tmp_path_factory.mktemp("tls")
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = [needs("openssl"), *words, *names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def test_the_address_and_a_code_are_said_in_one_line(daemon: WebDaemon) -> None:
    assert daemon.said == [
        f"{daemon.address}/ - code for the browser: {daemon.said[0].split()[6]} (once, within 10 minutes)"
    ]
    assert daemon.address == f"http://127.0.0.1:{daemon.port}"


def test_a_port_that_another_program_uses_is_refused_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadInput, match=f"another program listens on 127.0.0.1:{port}; choose .* --port 0"):
            listen(WebOptions(port=port))


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_refused_in_one_line(port: int) -> None:
    with pytest.raises(BadInput, match="cannot listen on"):
        listen(WebOptions(port=port))


def test_without_a_word_about_it_the_daemon_is_reached_on_this_machine_only(daemon: WebDaemon) -> None:
    assert (WebOptions().host, WebOptions().port) == ("127.0.0.1", DEFAULT_PORT)
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", daemon.port), 5):
        pass


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "::ffff:127.0.0.1", "no-such-host.invalid", ""])
def test_a_host_beyond_this_machine_is_refused_without_tls(host: str) -> None:
    with pytest.raises(BadInput) as refused:
        listen(WebOptions(host=host, port=0))

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0"])
def test_even_with_tls_one_address_must_be_named(host: str, certificate: tuple[Path, Path]) -> None:
    with pytest.raises(BadInput, match="name the one address"):
        listen(WebOptions(host=host, port=0, tls_certificate=certificate[0], tls_key=certificate[1]))


def test_with_tls_another_address_may_be_served(certificate: tuple[Path, Path]) -> None:
    options = WebOptions(host="192.0.2.1", port=0, tls_certificate=certificate[0], tls_key=certificate[1])
    with pytest.raises(BadInput, match=r"192\.0\.2\.1:0: Cannot assign"):
        listen(options)  # this machine does not have it, and nothing else is wrong with it


def test_a_certificate_that_cannot_be_used_is_one_clear_line(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    locked = tmp_path / "locked.pem"
    command = ["rsa", "-in", str(certificate[1]), "-aes128", "-passout", "pass:secret", "-out", str(locked)]
    subprocess.run([needs("openssl"), *command], check=True, capture_output=True)
    for key in (None, tmp_path / "missing.pem", certificate[0], locked):
        with pytest.raises(BadInput) as refused:
            listen(WebOptions(port=0, tls_certificate=certificate[0], tls_key=key))
        assert "\n" not in str(refused.value)
        assert "TLS" in str(refused.value)


def test_with_tls_calls_are_answered_and_the_cookie_is_never_sent_without_it(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    options = WebOptions(port=0, tls_certificate=certificate[0], tls_key=certificate[1])
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    with running(tmp_path, options, secure=trusting) as daemon:
        assert daemon.address.startswith("https://")
        assert daemon.ask("POST", "/rpc", START, token=daemon.token).json["result"] == {"id": "one"}
        foreign = daemon.ask("POST", "/rpc", START, token=daemon.token, Origin=f"http://{daemon.host}")
        assert foreign.status == 403
        answer = daemon.ask("POST", "/login", {"code": daemon.access.login_code()}, Origin=daemon.address)
        assert "Secure" in answer.headers["set-cookie"].split("; ")
        assert daemon.send_raw(daemon.head("GET / HTTP/1.1")) == b""


@pytest.mark.promise("serve.host")
def test_a_request_for_another_host_is_refused_before_it_is_routed(daemon: WebDaemon) -> None:
    for path in ("/", "/rpc", "/no-such-path"):
        answer = daemon.ask("POST", path, START, token=daemon.token, Host=f"evil.example:{daemon.port}")
        assert (answer.status, answer.body) == (403, b"this host name is not served here\n")
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert daemon.ask("POST", "/rpc", START, token=daemon.token, Host=f"{host}:{daemon.port}").status == 200


@pytest.mark.promise("serve.origin")
def test_a_request_from_a_foreign_origin_is_refused_with_any_token(daemon: WebDaemon) -> None:
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{daemon.port + 1}"):
        answer = daemon.ask("POST", "/rpc", START, token=daemon.decide_token, Origin=origin)
        assert (answer.status, answer.body) == (403, b"requests of other origins are refused\n")
        with pytest.raises(InvalidStatus, match="403"), daemon.websocket(daemon.decide_token, Origin=origin):
            pass
    assert daemon.ask("POST", "/rpc", START, token=daemon.token, Origin=daemon.address).status == 200


# -- what is mounted --


async def repeat(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that says who its caller is and repeats the body."""
    caller = scope["state"]["caller"]
    body = await Request(scope, receive).body()
    name = caller.name if caller is not None else "nobody"
    await PlainTextResponse(f"{scope['path']} {name} {len(body)}")(scope, receive, send)


MOUNTS = (WebMount(path="/", app=repeat, public=True), WebMount(path="/mcp", app=repeat))


def test_a_mounted_application_gets_its_caller_its_path_and_its_body(tmp_path: Path) -> None:
    with running(tmp_path, mounts=MOUNTS) as daemon:
        assert daemon.ask("POST", "/mcp", b"12345", token=daemon.token).body == b"/mcp the token 5"
        assert daemon.ask("GET", "/mcp/below", token=daemon.token).body == b"/mcp/below the token 0"
        assert daemon.ask("POST", "/mcp", b"12345").status == 401
        assert daemon.ask("GET", "/board.js").body == b"/board.js nobody 0"
        assert daemon.ask("POST", "/board.js", b"1").body == b"/board.js nobody 1"
        assert daemon.ask("GET", "/mcpx").body == b"/mcpx nobody 0"
        assert daemon.ask("POST", "/rpc", START, token=daemon.token).status == 200
        assert daemon.ask("POST", "/rpc", START).status == 401


def test_the_rules_and_limits_hold_for_mounted_applications(tmp_path: Path) -> None:
    with running(tmp_path, mounts=MOUNTS) as daemon:
        assert daemon.ask("POST", "/mcp", b"{}", token=daemon.token, Origin="http://evil.example").status == 403
        assert daemon.ask("GET", "/", Host="evil.example").status == 403
        lines = (f"Authorization: Bearer {daemon.token}", "Content-Type: application/json")
        too_long = daemon.head("POST /mcp HTTP/1.1", *lines, f"Content-Length: {LONGEST + 1}")
        assert status_of(daemon.send_raw(too_long)) == 413
        chunked = (lines[1], "Transfer-Encoding: chunked")
        chunk = b"%x\r\n%s\r\n" % (LONGEST + 1, b" " * (LONGEST + 1))
        for path, more in (("/mcp", lines[0]), ("/board.js", "X-Token: none")):
            with daemon.connected() as line:
                line.sendall(daemon.head(f"POST {path} HTTP/1.1", *chunked, more) + chunk)
                assert status_of(line.recv(1 << 16)) == 413


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise ValueError("a secret that no client may see")


def test_what_breaks_in_a_mounted_application_is_an_error_without_details(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path, mounts=(WebMount(path="/broken", app=broken),)) as daemon:
        answer = daemon.ask("GET", "/broken", token=daemon.token)
        assert (answer.status, answer.body) == (500, b"Internal Server Error")
        assert "error ValueError\n" in daemon.log
        assert "secret" not in daemon.log
        assert daemon.ask("POST", "/rpc", START, token=daemon.token).status == 200
    assert capfd.readouterr().err == ""
