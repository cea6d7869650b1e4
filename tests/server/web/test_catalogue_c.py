"""Catalogue C, the attacks on the daemon and its gates: each one without its defence, and with it.

The rows that need another user or a sandbox are in test_web_from_outside.py.
"""

import contextlib
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from web_attacks import (
    ATTACKED,
    ATTACKS,
    MOUNTS,
    Attack,
    careless_server,
    frame,
    malformed_requests,
    message,
    upgrade,
)
from web_daemon import ENDLESS, SECONDS, WebDaemon, read_to_end, running, status_of
from websockets.exceptions import InvalidStatus

from donewhen.errors import BadInput
from donewhen.server.web.access import open_access
from donewhen.server.web.allowances import WEBSOCKETS_OF_AGENT
from donewhen.server.web.defences import ALL, WebDefences
from donewhen.server.web.options import WebOptions

FLOOD = 600
ROOT = Path(__file__).parents[3]
ELSEWHERE = {
    "C5": "tests/server/web/test_catalogue_c.py",
    "C10": "tests/server/web/test_web_from_outside.py",
    "C11": "tests/server/web/test_catalogue_c.py",
    "C12": "tests/server/web/test_web_address.py",
    "C13": "tests/server/web/test_web_from_outside.py",
    "C14": "tests/server/web/test_web_from_outside.py",
    "C15": "",
    "C19": "tests/server/test_bounded_json.py",
    "C21": "tests/server/test_rpc_messages.py",
    "C22": "",
    "C23": "",
    "C24": "",
    "C25": "",
    "C26": "",
    "C27": "",
    "C28": "",
    "C31": "tests/server/web/test_web_access.py",
}
"""Row → the file that shows it; empty: it is not about the web side but about sessions, gates and questions."""


def attacked(attack: Attack, state: Path, defences: WebDefences) -> bool:
    options = WebOptions(port=0, limits=ATTACKED, defences=defences)
    with running(state, options, MOUNTS) as daemon:
        return attack.succeeds(daemon)


def off(defences: WebDefences) -> list[str]:
    return [one.name for one in fields(defences) if not getattr(defences, one.name)]


@pytest.mark.sample(24)
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_attack_succeeds_without_its_defence_and_fails_with_it(
    attack: Attack, tmp_path: Path, count_as: Callable[[str], None]
) -> None:
    count_as(f"attacks of {attack.row}")

    assert attacked(attack, tmp_path / "without", attack.without)
    for number, defences in enumerate((ALL, *attack.each)):
        assert not attacked(attack, tmp_path / str(number), defences)


def test_every_row_of_the_catalogue_has_its_place(show_table: Callable[[str], None]) -> None:
    rows = {attack.row for attack in ATTACKS} | ELSEWHERE.keys()
    tried = [(attack.row, attack.name, f"succeeds without: {' and '.join(off(attack.without))}") for attack in ATTACKS]
    others = [
        (row, "", f"is tested in {file}" if file else "is about sessions, gates and questions")
        for row, file in ELSEWHERE.items()
    ]
    lines = sorted((*tried, *others), key=lambda line: int(line[0][1:]))
    show_table("\n".join(f"{row:4} {name[:60]:60} {what}" for row, name, what in lines))

    assert rows == {f"C{number}" for number in range(1, 33)}
    assert [file for file in ELSEWHERE.values() if not (ROOT / file).exists()] == []


def test_a_preflight_of_another_origin_is_granted_nothing(daemon: WebDaemon) -> None:
    """C5"""
    lines = ("Origin: http://evil.example", "Access-Control-Request-Method: POST", "Connection: close")
    preflight = daemon.head("OPTIONS /rpc HTTP/1.1", *lines)
    answer = daemon.send_raw(preflight)
    with careless_server() as (port, _):
        careless = WebDaemon(f"http://127.0.0.1:{port}", daemon.state, daemon.access, daemon.service, [])
        assert b"access-control-allow-origin" in careless.send_raw(preflight).lower()

    assert status_of(answer) == 403
    assert b"access-control" not in answer.lower()
    assert b"access-control" not in daemon.send_raw(daemon.head("OPTIONS /rpc HTTP/1.1", "Connection: close")).lower()


def test_requests_that_two_parsers_read_differently_are_refused(daemon: WebDaemon) -> None:
    """C7 and C29: what the parser itself refuses. The server of the standard library takes all of them."""
    for name, request in malformed_requests(daemon.host, daemon.decide_token):
        with careless_server() as (port, taken):
            WebDaemon(f"http://127.0.0.1:{port}", daemon.state, daemon.access, daemon.service, []).send_raw(request)
            assert len(taken) == 1, name
        status = status_of(daemon.send_raw(request))
        assert status in (400, 501), (name, status)
    assert daemon.service.done == []


def test_requests_that_follow_an_upgrade_on_the_same_connection_are_not_carried_out(daemon: WebDaemon) -> None:
    """C29"""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.list"}).encode()
    token = f"Authorization: Bearer {daemon.token}"
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    lines = ("GET /rpc HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", key)
    follows = daemon.head("POST /rpc HTTP/1.1", token, "Content-Type: application/json", f"Content-Length: {len(body)}")
    refused = daemon.send_raw(daemon.head(*lines) + follows + body)

    assert status_of(refused) == 401
    assert refused.count(b"HTTP/1.1 ") == 1
    assert daemon.service.done == []


def test_a_directory_of_another_or_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    """C11"""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "daemon").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BadInput, match="is not a directory of this user"), open_access(tmp_path):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"jsonrpc":"2.0","id":1,"id":2,"method":"session.list"}', "[NaN]", "[1e999]", '["\\ud800"]', "{"],
)
def test_a_connection_survives_json_that_readers_disagree_on(daemon: WebDaemon, text: str) -> None:
    """C19"""
    sound = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "session.list"})
    with daemon.websocket(daemon.token) as websocket:
        websocket.send(text)
        refused: Any = json.loads(websocket.recv(SECONDS))
        websocket.send(sound)
        answered: Any = json.loads(websocket.recv(SECONDS))

    assert (refused["id"], refused["error"]["code"]) == (None, -32700)
    assert answered["result"] == ["one", "two"]


def test_each_element_of_a_batch_is_written_to_the_log(daemon: WebDaemon) -> None:
    """C20"""
    one = {"jsonrpc": "2.0", "method": "session.approve", "params": {"id": "one"}}
    daemon.ask("POST", "/rpc", [one, {**one, "id": 1}], token=daemon.decide_token)

    assert daemon.log.count("call session.approve done (the decide token)") == 2


def test_others_are_served_while_slow_clients_hold_their_connections(daemon: WebDaemon) -> None:
    """C18"""
    slow = [daemon.connected() for _ in range(200)]
    for line in slow:
        line.sendall(b"POST /rpc HTTP/1.1\r\n")
    answers = [daemon.ask("GET", "/metrics", token=daemon.token).status for _ in range(5)]
    for line in slow:
        line.close()

    assert answers == [200] * 5


def test_slow_logins_of_strangers_and_slow_bodies_of_an_agent_hold_up_nobody_else(daemon: WebDaemon) -> None:
    """C18"""
    agent = f"Authorization: Bearer {daemon.access.issue_agent_token('one')}"
    lines = ("Content-Type: application/json", "Content-Length: 100")
    slow = [daemon.head("POST /login HTTP/1.1", *lines), daemon.head("POST /rpc HTTP/1.1", agent, *lines)]
    with contextlib.ExitStack() as stack:
        for number in range(100):
            line = stack.enter_context(daemon.connected())
            line.sendall(slow[number % 2])
        assert daemon.call("session.list", token=daemon.token)["result"] == ["one", "two"]
        code = {"code": daemon.access.login_code()}
        assert daemon.ask("POST", "/login", code, Origin=daemon.address).status == 200


@pytest.mark.sample(0)
def test_a_subscriber_that_does_not_read_is_cut_off(daemon: WebDaemon) -> None:
    """C18"""
    request = message("session.subscribe", id=ENDLESS)
    with daemon.connected() as line:
        upgrade(daemon, line)
        line.sendall(frame(len(request), request))
        assert daemon.service.unsubscribed.wait(SECONDS)
        assert b"x" * 10_000 in read_to_end(line)  # what was under way, and then the end


def test_an_agent_cannot_take_all_websockets(daemon: WebDaemon) -> None:
    """C18"""
    token = daemon.access.issue_agent_token("one")
    with contextlib.ExitStack() as stack:
        with pytest.raises(InvalidStatus, match="503"):
            for _ in range(WEBSOCKETS_OF_AGENT + 1):
                stack.enter_context(daemon.websocket(token))
        with daemon.websocket(daemon.token) as websocket:
            websocket.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "session.list"}))
            assert json.loads(websocket.recv(SECONDS))["id"] == 7


def test_a_flood_of_refused_requests_does_not_push_others_out_of_the_log(daemon: WebDaemon) -> None:
    """C31"""
    for _ in range(FLOOD):
        daemon.send_raw(daemon.head("GET /nothing HTTP/1.1", "Connection: close"))
    daemon.call("session.list", token=daemon.token)

    assert daemon.log.count("GET /nothing") < FLOOD
    assert "POST /rpc 200 (the token)" in daemon.log


def test_a_client_that_lies_about_the_length_of_its_body_starts_nothing(daemon: WebDaemon) -> None:
    """C17"""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.list"}).encode()
    lines = ("Content-Type: application/json", f"Content-Length: {len(body) + 10}")
    with daemon.connected() as line:
        line.sendall(daemon.head("POST /rpc HTTP/1.1", f"Authorization: Bearer {daemon.token}", *lines) + body)
        line.shutdown(1)
        assert status_of(read_to_end(line)) in (0, 400)

    assert daemon.service.done == []
