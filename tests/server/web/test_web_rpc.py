"""JSON-RPC over HTTP and WebSocket: what is answered, to whom, and what a client that leaves costs."""

import json
from typing import Any

import pytest
from web_daemon import NUMBERS, SECONDS, WebDaemon
from websockets.exceptions import ConnectionClosed

from donewhen.server.web.metrics import metrics_text


def request(method: str, number: int | None = 1, **params: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return message if number is None else {**message, "id": number}


def test_a_call_by_post_is_answered_with_its_result(daemon: WebDaemon) -> None:
    answer = daemon.ask("POST", "/rpc", request("session.list"), token=daemon.token)

    assert (answer.status, answer.json) == (200, {"jsonrpc": "2.0", "id": 1, "result": ["one", "two"]})


def test_a_batch_by_post_is_answered_in_one_response_and_notifications_with_none(daemon: WebDaemon) -> None:
    batch = [request("session.list", 1), request("session.get", 2, id="one"), request("session.list", None)]

    assert [one["id"] for one in daemon.ask("POST", "/rpc", batch, token=daemon.token).json] == [1, 2]
    assert daemon.ask("POST", "/rpc", request("session.list", None), token=daemon.token).status == 204
    assert daemon.service.done.count("session.list by the token") == 3


def test_an_error_of_a_call_says_its_kind(daemon: WebDaemon) -> None:
    error = daemon.call("session.get", token=daemon.token, id="three")["error"]

    assert (error["code"], error["data"]["kind"]) == (-32000, "bad_input")


def test_a_subscription_needs_a_websocket(daemon: WebDaemon) -> None:
    error = daemon.call("session.subscribe", token=daemon.token, id="one")["error"]

    assert "needs a WebSocket" in error["message"]


def test_a_call_whose_client_leaves_is_cancelled(daemon: WebDaemon) -> None:
    body = json.dumps(request("wait")).encode()
    head = daemon.head(
        "POST /rpc HTTP/1.1",
        f"Authorization: Bearer {daemon.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    with daemon.connected() as line:
        line.sendall(head + body)
        assert daemon.service.waiting.wait(SECONDS)

    assert daemon.service.cancelled.wait(SECONDS)


@pytest.mark.promise("serve.websocket")
def test_calls_and_subscriptions_are_answered_on_a_websocket(daemon: WebDaemon) -> None:
    with daemon.websocket(daemon.token) as websocket:
        websocket.send(json.dumps(request("session.list")))
        assert json.loads(websocket.recv(SECONDS))["result"] == ["one", "two"]
        websocket.send(json.dumps(request("session.subscribe", 2, id="one")))
        messages = [json.loads(websocket.recv(SECONDS)) for _ in range(4)]

    assert messages[0]["result"] == {"subscription": "s1", "id": "one"}
    assert [one["params"]["event"]["seq"] for one in messages[1:]] == [1, 2, 3]


def test_a_websocket_that_sends_bytes_is_closed_with_the_reason(daemon: WebDaemon) -> None:
    with daemon.websocket(daemon.token) as websocket, pytest.raises(ConnectionClosed) as closed:
        websocket.send(b"{}")
        websocket.recv(SECONDS)

    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1003, "a message is one text frame")


def test_a_call_is_cancelled_when_its_websocket_closes(daemon: WebDaemon) -> None:
    with daemon.websocket(daemon.token) as websocket:
        websocket.send(json.dumps(request("wait")))
        assert daemon.service.waiting.wait(SECONDS)

    assert daemon.service.cancelled.wait(SECONDS)


def test_the_root_answers_that_nothing_is_served_there(daemon: WebDaemon) -> None:
    answer = daemon.ask("GET", "/")

    assert (answer.status, answer.body) == (404, b"nothing is served here\n")


def test_metrics_need_a_token_and_are_in_the_format_of_prometheus(daemon: WebDaemon) -> None:
    assert daemon.ask("GET", "/metrics").status == 401
    answer = daemon.ask("GET", "/metrics", token=daemon.token)

    assert (answer.status, answer.body.decode()) == (200, metrics_text(NUMBERS))
    assert 'donewhen_sessions{state="working"} 2\n' in answer.body.decode()
    assert "\ndonewhen_events_read_total 5000\n" in answer.body.decode()


def test_metrics_are_not_for_an_agent(daemon: WebDaemon) -> None:
    assert daemon.ask("GET", "/metrics", token=daemon.access.issue_agent_token("one")).status == 403


def test_every_answer_tells_a_browser_to_keep_nothing_and_to_run_nothing_foreign(daemon: WebDaemon) -> None:
    for answer in (daemon.ask("GET", "/"), daemon.ask("POST", "/rpc", request("session.list"), token=daemon.token)):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers


def test_a_wrong_verb_names_the_right_one(daemon: WebDaemon) -> None:
    answer = daemon.ask("GET", "/rpc", token=daemon.token)

    assert (answer.status, answer.headers["allow"]) == (405, "POST")
