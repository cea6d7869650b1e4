"""What a client of the unix socket may send wrong, and what many clients do to each other: nothing."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from repositories import git
from runs.scenes import scene
from server.daemon_program import Client, Daemon, Message, eventually, has_ended, rests
from server.daemon_scenes import ASKS, CHEAT, STUCK, guarded, rested, start, types, wait_for_event

LONGEST = 4 * 1024 * 1024


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


# -- decisions --


def test_a_gate_that_was_decided_says_so_and_how(client: Client, tmp_path: Path) -> None:
    repo = guarded(tmp_path / "repo")
    id, _, _ = rested(client, repo, CHEAT, max_iterations=1)
    client.ask("session.deny", id=id)
    client.until_status(has_ended)
    for method in ("session.approve", "session.deny"):
        again = client.refused(method, id=id)
        assert (again.code, again.kind) == (-32000, "already_decided")
        assert (again.data["gate"], again.data["decision"], again.data["exit_code"]) == ("amendment", "denied", 2)
    assert git(repo, "branch", "--list", "donewhen/*") == ""


@pytest.mark.parametrize("round_", range(3))
def test_of_many_decisions_at_once_exactly_one_counts(
    daemon: Daemon, client: Client, tmp_path: Path, round_: int
) -> None:
    id, events, _ = rested(client, guarded(tmp_path / f"repo{round_}"), CHEAT, max_iterations=1)
    with ExitStack() as stack:
        people = [stack.enter_context(daemon.client()) for _ in range(8)]
        for number, person in enumerate(people):
            person.begin("session.deny" if number % 2 else "session.approve", id=id)
        answers = [person.response() for person in people]
    won = [answer for answer in answers if "result" in answer]
    lost = [answer["error"]["data"]["kind"] for answer in answers if "error" in answer]
    assert set(lost) == {"already_decided"}, answers
    assert len(won) == 1
    more, _ = client.until_status(has_ended)
    assert types(more).count("gate_decided") == types(more).count("session_finished") == 1
    assert more[0]["seq"] == len(events) + 1


def test_of_two_answers_at_once_exactly_one_counts(daemon: Daemon, client: Client, repo: Path) -> None:
    id = start(client, repo, ASKS)
    client.ask("session.subscribe", id=id, from_seq=1)
    wait_for_event(client, "question_asked")
    with ExitStack() as stack:
        people = [stack.enter_context(daemon.client()) for _ in range(4)]
        for number, person in enumerate(people):
            person.begin("session.answer", id=id, text=f"answer {number}")
        answers = [person.response() for person in people]
    assert sum("result" in answer for answer in answers) == 1
    events, status = client.until_status(has_ended)
    assert (types(events).count("question_answered"), status["outcome"]) == (1, "verified")
    late = client.refused("session.answer", id=id, text="too late")
    assert (late.kind, late.data["decision"]) == ("already_decided", "answered")


def test_an_answer_to_a_session_that_asked_nothing_changes_nothing(client: Client, repo: Path) -> None:
    id, events, _ = rested(client, repo)
    assert client.refused("session.answer", id=id, text="yes").kind == "bad_input"
    assert client.refused("session.resume", id="ffffffff").kind == "bad_input"
    assert client.ask("session.events", id=id)["events"] == events


@pytest.mark.parametrize(
    "id", ["../../x", "/etc/passwd", "..", ".", "", "\0", "a\0b", "x" * 10_000, "ａｂｃｄ", "%2e%2e", "*", "a/b", "-x"]
)
@pytest.mark.parametrize(
    "method", ["session.get", "session.events", "session.cancel", "session.diff", "session.resume", "session.discard"]
)
@pytest.mark.sample(6)
def test_an_id_that_is_none_reaches_no_path(client: Client, daemon: Daemon, id: str, method: str) -> None:
    before = sorted(path for path in daemon.socket.parents[1].rglob("*") if "sock" not in path.name)
    refused = client.refused(method, id=id)
    assert refused.kind == "bad_input", refused.data
    assert refused.data["exit_code"] == 2
    after = sorted(path for path in daemon.socket.parents[1].rglob("*") if "sock" not in path.name)
    assert [path for path in after if path not in before and "-wal" not in path.name] == []


# -- messages --


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"nonsense", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "session.list"}', -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "session.list", "params": {"limit": NaN}}', -32700),
        (b"\xff\xfe", -32700),
        (b"\xef\xbb\xbf{}", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (b"1", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "session.list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "session.list"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "session.List"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "session.list "}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "loop.run_all"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "session.list", "params": [1]}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "session.list", "params": {"limit": "1"}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "session.list", "params": {"what": 1}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "session.get"}', -32602),
    ],
)
def test_a_wrong_message_gets_an_error_and_the_connection_goes_on(client: Client, line: bytes, code: int) -> None:
    client.send_bytes(line + b"\n")
    answer = client.response()
    assert answer["error"]["code"] == code
    assert answer["error"]["data"]["kind"]
    assert isinstance(client.ask("session.list"), list)


def test_unknown_parameters_are_refused_before_anything_begins(client: Client, repo: Path) -> None:
    refused = client.refused("session.start", intent="x", repo=str(repo), nonsense=1)
    assert (refused.code, refused.kind) == (-32602, "invalid_params")
    assert "nonsense" in refused.message
    assert client.ask("session.list", repo=str(repo)) == []


def test_a_line_that_is_too_long_ends_its_connection_and_no_other(client: Client, daemon: Daemon) -> None:
    with daemon.client() as other:
        fits = {"jsonrpc": "2.0", "id": 1, "method": "session.get", "params": {"id": "x" * (LONGEST - 200)}}
        other.send(fits)
        assert other.response()["error"]["data"]["kind"] == "bad_input"
        with pytest.raises((BrokenPipeError, ConnectionResetError, EOFError)):
            other.send_bytes(b'"' + b"x" * (LONGEST + (1 << 20)))
            assert other.read()["error"]["code"] == -32700
            other.read()
    assert isinstance(client.ask("session.list"), list)


def test_a_batch_is_answered_as_a_whole_and_notifications_are_not(client: Client) -> None:
    def request(id: object, method: str) -> Message:
        return {"jsonrpc": "2.0", "id": id, "method": method}

    silent = {"jsonrpc": "2.0", "method": "session.list"}
    client.send([request(1, "session.list"), silent, 7, request("b", "no.such")])
    answers = client.response()
    assert [(one.get("id"), one.get("error", {}).get("code")) for one in answers] == [
        (1, None),
        (None, -32600),
        ("b", -32601),
    ]
    client.send(silent)
    client.send([silent, silent])
    client.send({**silent, "method": "no.such"})
    client.send([request(n, "session.list") for n in range(101)])
    assert client.response()["error"]["code"] == -32600  # the first answer: nothing before it had one
    assert isinstance(client.ask("session.list"), list)


# -- many clients --


def test_a_hundred_clients_are_served(daemon: Daemon, client: Client, repo: Path) -> None:
    id, events, status = rested(client, repo)
    with ExitStack() as stack:
        clients = [stack.enter_context(daemon.client()) for _ in range(100)]
        for one in clients:
            one.begin("session.subscribe", id=id, from_seq=1)
        for one in clients:
            assert one.response()["result"]["subscription"] == "s1"
            assert one.until_status(rests) == (events, {**status, "subscription": "s1"})


@pytest.mark.sample(0)  # it is cut off after ten seconds
def test_a_client_that_does_not_read_is_cut_off_and_goes_on_by_its_cursor(
    daemon: Daemon, client: Client, repo: Path
) -> None:
    id, events, _ = rested(client, repo)
    with daemon.client() as deaf:
        deaf.begin("session.subscribe", id=id, from_seq=1)
        assert deaf.response()["result"]
        first = deaf.notification()["params"]["event"]
        with pytest.raises((BrokenPipeError, ConnectionResetError, TimeoutError)):
            while True:  # every request is answered with all events, and nobody reads the answers
                deaf.begin("session.events", id=id)
        assert client.ask("session.get", id=id)["id"] == id  # the others do not notice
    with daemon.client() as again:
        assert again.follow(id, first["seq"] + 1)[0] == events[1:]


def test_a_client_that_leaves_in_the_middle_of_everything_harms_nobody(
    daemon: Daemon, client: Client, repo: Path
) -> None:
    id = start(client, repo, STUCK)
    for _ in range(20):
        with daemon.client() as hasty:
            hasty.begin("session.subscribe", id=id, from_seq=1)
            hasty.begin("contract.check", repo=str(repo))
    assert client.ask("session.get", id=id)["live"]
    eventually(lambda: len(daemon.call_processes()) == 1)  # a call ends with its caller, a session does not
    client.ask("session.cancel", id=id)
