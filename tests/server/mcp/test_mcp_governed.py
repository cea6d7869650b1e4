"""Who may call what over MCP, what is refused, and that all of it is in the audit log.

Each attack has a control: the same thing done by somebody who may do it, or with the defence off.
"""

import http.client
import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp_daemon import VERSION, McpClientOfTests, McpDaemon, eventually, message, running

from donewhen.server.mcp.audit import problem_of
from donewhen.server.mcp.clients import McpClients
from program import donewhen
from repositories import write
from runs.scenes import CHECK, RIGHT, script

LIST = {"MCP_Protocol_Version": VERSION, "Mcp_Method": "tools/list"}


@pytest.mark.promise("mcp.governed")
def test_every_call_is_recorded_with_its_client_before_and_after_it_also_if_it_is_refused(
    daemon: McpDaemon, repo: Path
) -> None:
    client = daemon.client("editor", tools=["contract"])
    client.tool("contract", repo=str(repo))
    assert client.refused("run", intent="x").kind == "not_allowed"
    assert client.refused("contract", repo="relative").kind == "bad_input"
    entries = daemon.entries(client)
    assert [(one["kind"], one.get("tool") or one["outcome"]) for one in entries] == [
        ("intent", "contract"), ("outcome", "ok"),
        ("intent", "run"), ("outcome", "refused"),
        ("intent", "contract"), ("outcome", "refused"),
    ]  # fmt: skip
    assert problem_of(daemon.audit) == ""


@pytest.mark.promise("mcp.governed")
def test_a_call_is_refused_if_it_cannot_be_recorded(own_daemon: McpDaemon, repo: Path) -> None:
    client = own_daemon.client("editor")
    own_daemon.audit.symlink_to("elsewhere")
    refused = client.refused("memory_record", text="a note", repo=str(repo))
    assert refused.kind == "machinery" and "the call was not made" in str(refused)
    own_daemon.audit.unlink()
    assert client.tool("memory_recall", words="note", repo=str(repo))["notes"] == []
    assert client.tool("memory_record", text="a note", repo=str(repo))["text"] == "a note"


@pytest.mark.promise("mcp.governed")
def test_without_a_known_token_nothing_is_answered(daemon: McpDaemon) -> None:
    good = daemon.client("editor")
    assert good.ask(message("tools/list", None), **LIST).status == 200
    removed, old = daemon.client("gone"), daemon.client("renewed")
    McpClients(daemon.state).remove(removed.name)
    McpClients(daemon.state).create(old.name)
    for token in ("", "wrong", removed.token, old.token, f"{good.token}x", good.token[:-1]):
        reply = McpClientOfTests(daemon.port, token).ask(message("tools/list", None), **LIST)
        assert (reply.status, b"tools" in reply.body) == (401, False), token
    assert good.ask(message("tools/list", None), path=f"/mcp?token={good.token}", **LIST).status == 403
    assert daemon.entries(good) == []


def test_wrong_tokens_are_answered_more_slowly_after_some(own_daemon: McpDaemon) -> None:
    stranger = McpClientOfTests(own_daemon.port, "wrong")
    assert {stranger.ask(message("tools/list", None), **LIST).status for _ in range(15)} == {401, 429}
    assert own_daemon.client("editor").tools()


@pytest.mark.promise("mcp.governed")
def test_other_hosts_and_origins_are_refused_also_with_a_token(daemon: McpDaemon) -> None:
    client = daemon.client("editor")
    own = f"127.0.0.1:{daemon.port}"
    assert client.ask(message("tools/list", None), **LIST, Host=own, Origin=f"http://{own}").status == 200
    for headers in (
        {"Host": f"evil.example:{daemon.port}"},
        {"Host": f"evil.example:{daemon.port}", "Origin": f"http://evil.example:{daemon.port}"},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": f"http://127.0.0.1:{daemon.port + 1}"},
        {"Sec_Fetch_Site": "cross-site"},
    ):
        assert client.ask(message("tools/list", None), **{**LIST, **headers}).status == 403, headers
    preflight = client.ask(None, verb="OPTIONS", Origin="https://evil.example")
    assert preflight.status in (403, 405) and "access-control-allow-origin" not in preflight.headers
    assert client.ask(message("tools/list", None), **LIST, Content_Type="text/plain").status == 415


@pytest.mark.promise("mcp.governed")
def test_a_client_of_one_session_learns_nothing_about_others(daemon: McpDaemon, repo: Path) -> None:
    outside = daemon.client("editor")
    model = script(repo.parent / "s.json", RIGHT)
    sessions = [outside.tool("run", intent="say right", repo=str(repo), model=model)["id"] for _ in range(2)]
    inside = daemon.client("agent", session=sessions[0])
    assert inside.tool("contract")["checks"] == outside.tool("contract", session=sessions[1])["checks"]
    for session in (sessions[1], "no-such-session"):
        words = {
            str(inside.refused("contract", session=session)),
            str(inside.refused("verify", session=session)),
            str(inside.refused("report_progress", session=session, text="x")),
            str(inside.refused("ask_person", session=session, question="x")),
        }
        assert words == {f"this client may only use session {sessions[0]}"}
        handle = f"question-{session}:mcp-0123456789abcdef"
        assert inside.refused("ask_person", handle=handle).kind == "unknown_handle"
    for tool, given in (("run", {"intent": "x"}), ("status", {}), ("diff", {"session": sessions[0]})):
        assert inside.refused(tool, **given).kind == "not_allowed"
    assert inside.refused("contract", repo=str(repo)).kind == "bad_input"


@pytest.mark.promise("mcp.governed")
def test_no_tool_decides_or_answers_for_the_person(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    write(repo, {"donewhen.toml": "", "test_it.py": "def test_it():\n    assert False\n"})
    names = {tool["name"] for tool in client.tools()}
    assert not names & {"approve", "answer", "deny", "land", "trust", "discard"}
    for name in ("session.approve", "session.answer", "approve", "run ", "RUN"):
        reply = client.request("tools/call", {"name": name, "arguments": {"id": "x"}})
        assert reply.json["error"]["code"] in (-32602, -32020), name
    given = {"intent": "x", "repo": str(repo), "yes": True}
    assert client.refused("run", **given).kind == "bad_input"


@pytest.mark.promise("mcp.governed")
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("contract", {"session": "../../x"}),
        ("contract", {"session": "a" * 65}),
        ("contract", {"session": "a\u0000b"}),
        ("contract", {"session": ["a"]}),
        ("contract", {"repo": "here"}),
        ("contract", {"unknown": 1}),
        ("verify", {"handle": "verify-../x"}),
        ("memory_record", {}),
        ("memory_record", {"text": "x" * 601}),
        ("report_progress", {"text": 5}),
        ("run", {"intent": "x", "max_iterations": True}),
        ("run", {"intent": "x", "max_iterations": 1000}),
        ("run", {"intent": "x", "checks": {"a b": "true"}}),
        ("run", {"intent": "x", "checks": {"a": {"command": "true"}}}),
        ("status", {"limit": 0}),
        ("diff", {}),
    ],
)
def test_arguments_that_are_not_as_described_are_refused(
    asking: McpClientOfTests, tool: str, given: dict[str, Any]
) -> None:
    assert asking.refused(tool, **given).kind == "bad_input"


@pytest.fixture(scope="module")
def asking(shared: McpDaemon) -> McpClientOfTests:
    """One client for all rows of a table."""
    return shared.client("asking")


@pytest.mark.promise("mcp.governed")
def test_a_flood_of_calls_is_refused_and_does_not_fill_the_log(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("flooding")

    def call(number: int) -> str:
        reply = client.request("tools/call", {"name": "contract", "arguments": {"unknown": number}}).json["result"]
        return reply["structuredContent"]["kind"]

    kinds = list[str]()
    with ThreadPoolExecutor(16) as threads:
        while "too_many" not in kinds:
            kinds += threads.map(call, range(100))
    assert set(kinds) == {"bad_input", "too_many"}
    assert len(daemon.entries(client)) == 2 * kinds.count("bad_input")
    assert daemon.client("calm").tool("contract", repo=str(repo))["checks"]


@pytest.mark.promise("mcp.governed")
def test_a_flood_of_questions_is_refused_after_a_few(daemon: McpDaemon) -> None:
    client = daemon.client("agent", session="ab12cd34")
    kinds = [client.refused("ask_person", question=f"question {number}?").kind for number in range(8)]
    assert kinds == ["bad_input"] * 5 + ["too_many"] * 3


@pytest.mark.promise("mcp.governed")
def test_a_client_that_vanishes_in_a_call_leaves_an_outcome_and_its_verdict_goes_on(
    daemon: McpDaemon, repo: Path
) -> None:
    client = daemon.client("editor")
    write(repo, {"donewhen.toml": CHECK.replace("grep", "touch ../begun; sleep 1; grep")})
    handle = client.tool("verify", repo=str(repo))["handle"]
    body = json.dumps(message("tools/call", {"name": "contract", "arguments": {"repo": str(repo)}})).encode()
    for _ in range(5):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
        headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
        headers |= {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION}
        connection.request("POST", "/mcp", body, {**headers, "Mcp-Method": "tools/call", "Mcp-Name": "contract"})
        connection.close()
    assert client.verdict(handle=handle)["state"] == "done"

    def complete() -> bool:
        entries = daemon.entries(client)
        intents = {one["call"] for one in entries if one["kind"] == "intent"}
        return intents == {one["call"] for one in entries if one["kind"] == "outcome"}

    eventually(complete)
    entries = daemon.entries(client)
    assert {one["outcome"] for one in entries if one["kind"] == "outcome"} <= {"ok", "cancelled"}
    assert problem_of(daemon.audit) == ""


@pytest.mark.promise("mcp.governed")
def test_a_call_that_a_kill_of_the_daemon_interrupted_is_unknown_after_the_next_start(repo: Path) -> None:
    with running(repo.parent) as daemon:
        client = daemon.client("editor")
        client.tools()
        pid = daemon.process.pid
        prepared = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        os.kill(prepared, signal.SIGSTOP)  # it would begin the work of the call
        connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
        headers = {"Authorization": f"Bearer {client.token}", "Content-Type": "application/json"}
        headers |= {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION}
        body = json.dumps(message("tools/call", {"name": "contract", "arguments": {"repo": str(repo)}})).encode()
        connection.request("POST", "/mcp", body, {**headers, "Mcp-Method": "tools/call", "Mcp-Name": "contract"})
        eventually(lambda: daemon.audit.exists() and daemon.entries(client))
        daemon.process.kill()
        os.kill(prepared, signal.SIGCONT)
        connection.close()
    with running(repo.parent) as daemon:
        assert [one.get("outcome") for one in daemon.entries(client)] == [None, "unknown"]
        assert problem_of(daemon.audit) == ""


@pytest.mark.promise("mcp.governed")
def test_a_command_in_the_sandbox_reaches_neither_the_tokens_nor_the_audit_log_nor_the_endpoint(
    daemon: McpDaemon, repo: Path
) -> None:
    daemon.client("editor").tool("status")
    outside = f"cat {daemon.audit} && ls {daemon.state}/daemon/mcp-clients && exec 3<>/dev/tcp/127.0.0.1/{daemon.port}"
    subprocess.run(["bash", "-c", outside], check=True, capture_output=True)
    for command in outside.split(" && "):
        inside = donewhen("sandbox", "--", "bash", "-c", command, cwd=repo)
        assert inside.code != 0 and "editor" not in inside.out, command


def test_a_result_that_is_too_long_is_cut_with_a_note() -> None:
    from donewhen.server.mcp.governed import LONGEST_RESULT, bounded

    cut = bounded({"text": "x" * (LONGEST_RESULT + 1)})
    assert cut["truncated"] and "cut" in cut["note"] and len(json.dumps(cut)) < LONGEST_RESULT + 1000
    assert bounded({"text": "\x1b[31mred\u202e", "patch": "\x1b"}) == {"text": "red", "patch": "\x1b"}
