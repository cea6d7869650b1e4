"""Who may call: token files, rights, the one-time code and the cookie of a browser, tokens of agents, the log."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from web_daemon import SECONDS, WebDaemon, running
from websockets.exceptions import ConnectionClosed

from donewhen.errors import MachineryBroke
from donewhen.server.methods.method import Right
from donewhen.server.web.access import (
    CODE_SECS,
    CODE_TRIES,
    FAILURES_PER_MINUTE,
    LOGIN_SECS,
    MOST_LOGINS,
    Access,
    open_access,
)
from donewhen.server.web.access_log import AccessLog


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def access(tmp_path: Path, clock: Clock) -> Access:
    return Access(tmp_path, clock)


def log_in(daemon: WebDaemon, code: str | None = None, **headers: str) -> dict[str, str]:
    """Log in as the board does. Return the headers that its further requests have."""
    given = {"Origin": daemon.address, **headers}
    answer = daemon.ask("POST", "/login", {"code": code or daemon.access.login_code()}, **given)
    assert answer.status == 200, answer.body
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0], **given}


def approve(id: str = "one") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "session.approve", "params": {"id": id}}


# -- token files --


@pytest.mark.promise("serve.token")
def test_callers_need_the_token_of_a_file_that_only_its_owner_can_read(daemon: WebDaemon) -> None:
    directory = daemon.state / "daemon"

    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for name in ("token", "decide_token"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
        assert len((directory / name).read_text().strip()) >= 43  # 256 bits
    assert daemon.ask("POST", "/rpc", approve()).status == 401
    assert daemon.ask("POST", "/rpc", approve(), token="x" * 43).status == 401
    assert daemon.ask("POST", "/rpc", approve(), token=daemon.token).status == 200


def test_every_start_has_new_tokens_and_the_end_removes_them(tmp_path: Path) -> None:
    with running(tmp_path) as first:
        of_first = first.token
    assert not (tmp_path / "daemon" / "token").exists()
    with running(tmp_path) as second:
        assert second.token != of_first
        assert second.ask("POST", "/rpc", approve(), token=of_first).status == 401


def test_a_link_in_place_of_the_token_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "daemon").mkdir()
    (tmp_path / "daemon" / "token").symlink_to(target)

    with open_access(tmp_path):
        assert not (tmp_path / "daemon" / "token").is_symlink()
    assert target.read_text() == "mine"


def test_a_token_file_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "daemon" / "token").mkdir(parents=True)

    with pytest.raises(MachineryBroke, match="cannot write the token file"), open_access(tmp_path):
        pass


# -- rights --


def test_the_token_may_start_work_but_not_decide(daemon: WebDaemon) -> None:
    assert daemon.call("session.start", token=daemon.token, id="one")["result"] == {"id": "one"}
    assert daemon.call("session.approve", token=daemon.token, id="one")["error"]["data"]["kind"] == "not_allowed"


def test_the_decide_token_and_a_browser_may_decide(daemon: WebDaemon) -> None:
    assert daemon.call("session.approve", token=daemon.decide_token, id="one")["result"] == {"id": "one"}
    assert daemon.ask("POST", "/rpc", approve(), **log_in(daemon)).json["result"] == {"id": "one"}


def test_an_agent_may_only_read_its_own_session(daemon: WebDaemon) -> None:
    token = daemon.access.issue_agent_token("one")

    assert daemon.call("session.get", token=token, id="one")["result"] == {"id": "one"}
    assert daemon.call("session.get", token=token, id="two")["error"]["data"]["kind"] == "not_allowed"
    assert daemon.call("session.start", token=token, id="one")["error"]["data"]["kind"] == "not_allowed"
    assert daemon.call("session.approve", token=token, id="one")["error"]["data"]["kind"] == "not_allowed"


def test_the_token_of_an_agent_ends_with_its_session_and_is_in_no_file(daemon: WebDaemon) -> None:
    token, other = daemon.access.issue_agent_token("one"), daemon.access.issue_agent_token("two")
    files = [path for path in daemon.state.rglob("*") if path.is_file()]
    assert all(token not in path.read_text() for path in files)

    daemon.access.revoke_agent_tokens("one")

    assert daemon.ask("POST", "/rpc", approve(), token=token).status == 401
    assert daemon.ask("POST", "/rpc", approve(), token=other).status == 200


def test_a_header_stands_for_its_caller(access: Access, tmp_path: Path) -> None:
    token = (tmp_path / "token").read_text().strip()
    caller = access.authenticate(f"Bearer {token}")

    assert caller is not None
    assert caller.rights == {Right.OBSERVE, Right.SUBMIT}
    for header in (None, "", token, "Bearer", "Bearer ", f"Basic {token}", f"Bearer  {token}", f"Bearer {token} "):
        assert access.authenticate(header) is None


# -- a browser --


def test_a_browser_exchanges_a_code_for_a_cookie_that_scripts_cannot_read(daemon: WebDaemon) -> None:
    code = daemon.said[0].partition("browser: ")[2].split()[0]
    answer = daemon.ask("POST", "/login", {"code": code}, Origin=daemon.address)
    attributes = answer.headers["set-cookie"].split("; ")

    assert answer.json == {"rights": ["decide", "observe", "submit"]}
    assert attributes[0].startswith(f"donewhen_{daemon.port}=")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} == set(attributes[1:])
    assert daemon.ask("POST", "/login", {"code": code}, Origin=daemon.address).status == 401


def test_a_code_may_be_typed_in_small_letters_and_without_the_hyphen(daemon: WebDaemon) -> None:
    log_in(daemon, daemon.access.login_code().lower().replace("-", " "))


def test_a_code_is_dead_after_five_wrong_tries(access: Access) -> None:
    code = access.login_code()
    for _ in range(CODE_TRIES - 1):
        assert access.log_in("AAAA-AAAA") is None
    assert access.log_in(code) is not None

    code = access.login_code()
    for _ in range(CODE_TRIES):
        assert access.log_in("AAAA-AAAA") is None
    assert access.log_in(code) is None


def test_a_code_is_dead_after_ten_minutes_and_when_there_is_a_newer_one(access: Access, clock: Clock) -> None:
    code = access.login_code()
    clock.now += CODE_SECS + 1
    assert access.log_in(code) is None

    older, newer = access.login_code(), access.login_code()
    assert access.log_in(older) is None
    assert access.log_in(newer) is not None


def test_before_the_first_code_no_code_is_right(access: Access) -> None:
    assert access.log_in("") is None


def test_a_login_that_is_not_used_ends(access: Access, clock: Clock) -> None:
    cookie = access.log_in(access.login_code())
    assert cookie is not None
    clock.now += LOGIN_SECS
    assert access.login_of(cookie) is not None  # this is a use of it
    clock.now += LOGIN_SECS
    assert access.login_of(cookie) is not None
    clock.now += LOGIN_SECS + 1
    assert access.login_of(cookie) is None


def test_with_too_many_logins_the_one_that_was_not_used_for_longest_ends(access: Access, clock: Clock) -> None:
    cookies: list[str] = []
    for _ in range(MOST_LOGINS + 1):
        clock.now += 1
        cookies.append(access.log_in(access.login_code()) or "")

    assert [access.login_of(cookie) is not None for cookie in cookies] == [False] + [True] * MOST_LOGINS


def test_logging_out_ends_the_cookie_and_its_websockets(daemon: WebDaemon) -> None:
    browser, other = log_in(daemon), log_in(daemon)
    with daemon.websocket(**browser) as websocket, daemon.websocket(**other) as still_open:
        answer = daemon.ask("POST", "/logout", {}, **browser)
        assert answer.status == 204
        assert "Max-Age=0" in answer.headers["set-cookie"]
        with pytest.raises(ConnectionClosed):
            websocket.recv(SECONDS)
        still_open.send(json.dumps(approve()))
        assert json.loads(still_open.recv(SECONDS))["result"] == {"id": "one"}

    assert daemon.ask("POST", "/rpc", approve(), **browser).status == 401
    assert daemon.ask("POST", "/rpc", approve(), **other).status == 200


def test_a_cookie_without_the_origin_that_a_browser_states_is_refused(daemon: WebDaemon) -> None:
    cookie = log_in(daemon)["Cookie"]

    assert daemon.ask("POST", "/rpc", approve(), Cookie=cookie).status == 401
    assert daemon.ask("GET", "/metrics", Cookie=cookie).status == 200  # browsers state none when they only read


def test_a_cookie_of_the_same_name_that_another_port_has_set_does_no_harm(daemon: WebDaemon) -> None:
    browser = log_in(daemon)
    browser["Cookie"] = f"donewhen_{daemon.port}=planted; theme=dark; {browser['Cookie']}"

    assert daemon.ask("POST", "/rpc", approve(), **browser).status == 200


def test_a_wrong_token_is_not_made_good_by_a_cookie(daemon: WebDaemon) -> None:
    assert daemon.ask("POST", "/rpc", approve(), token="wrong", **log_in(daemon)).status == 401


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"code": 7}', b'{"code": "A", "code": "B"}'])
def test_a_malformed_login_is_refused_and_costs_no_try(daemon: WebDaemon, body: bytes) -> None:
    code = daemon.access.login_code()
    for _ in range(CODE_TRIES):
        assert daemon.ask("POST", "/login", body, Origin=daemon.address).status == 400
    log_in(daemon, code)


# -- failures and the log --


def test_failed_logins_are_limited_and_right_ones_still_pass(daemon: WebDaemon) -> None:
    statuses = [daemon.ask("POST", "/rpc", approve(), token="wrong").status for _ in range(FAILURES_PER_MINUTE + 2)]

    assert statuses == [401] * FAILURES_PER_MINUTE + [429, 429]
    assert daemon.ask("POST", "/login", {"code": "AAAA-AAAA"}, Origin=daemon.address).status == 429
    assert daemon.ask("POST", "/rpc", approve(), token=daemon.token).status == 200
    log_in(daemon)


def test_the_log_says_who_asked_for_what_and_contains_no_secret(daemon: WebDaemon) -> None:
    agent, code = daemon.access.issue_agent_token("one"), daemon.access.login_code()
    browser = log_in(daemon, code)
    daemon.ask("POST", "/rpc", approve(), **browser)
    daemon.ask("POST", "/rpc", approve(), token=daemon.token)
    daemon.ask("POST", "/rpc", approve(), token="CANARY-OF-A-TOKEN")
    daemon.ask("POST", "/rpc?token=CANARY-OF-A-QUERY", approve())
    daemon.ask("GET", "/metrics", token=agent)
    with daemon.websocket(daemon.decide_token):
        pass
    daemon.access.login_code()
    lines = [line.partition(" ")[2] for line in daemon.log.splitlines()]

    assert stat.S_IMODE((daemon.state / "daemon" / "access.log").stat().st_mode) == 0o600
    assert lines[:7] == [
        "127.0.0.1 POST /login 200 (the browser)",
        "call session.approve done (the browser)",
        "127.0.0.1 POST /rpc 200 (the browser)",
        "call session.approve not_allowed (the token)",
        "127.0.0.1 POST /rpc 200 (the token)",
        "127.0.0.1 POST /rpc 401 (nobody)",
        "127.0.0.1 POST /rpc 403 (nobody)",
    ]
    secrets = (agent, code, browser["Cookie"].partition("=")[2], daemon.token, daemon.decide_token, "CANARY")
    assert [secret for secret in secrets if secret in daemon.log] == []


def test_the_log_is_rotated_by_size_and_its_lines_are_bounded(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "access.log", largest=1000)
    for number in range(10):
        log.write(str(number), "x" * 10_000, "\x1b[31m\n")
    log.close()
    kept = [(tmp_path / name).read_text() for name in ("access.log.1", "access.log")]

    assert all(len(text) < 1500 for text in kept)
    assert all("\x1b" not in text for text in kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["access.log", "access.log.1"]
    assert stat.S_IMODE((tmp_path / "access.log").stat().st_mode) == 0o600
