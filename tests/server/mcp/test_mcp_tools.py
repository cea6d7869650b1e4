"""The tools of MCP over HTTP, on real sessions with a scripted model."""

from pathlib import Path
from typing import Any

import pytest
from mcp_daemon import McpClientOfTests, McpDaemon, ToolFailed, eventually

from program import donewhen
from repositories import write
from runs.scenes import CHECK, RIGHT, call, say, script
from runs.scenes import write as step_write

HELD_OUT = f'{CHECK}\n[[check]]\nname = "secret-check"\ncommand = "test -f hidden-word.txt"\nheld_out = true\n'
ASKS = [call("ask_user", prompt="red or blue?"), step_write("answer.txt", "right\n"), say("done")]
IN_SESSION = ["verify", "contract", "memory_recall", "memory_record", "report_progress", "ask_person"]
OUTSIDE = ["run", "status", "diff"]


def wait_for(client: McpClientOfTests, session: str, *states: str) -> Any:
    """Return what is known about a session as soon as it is in one of the states."""

    def known() -> Any:
        found = client.tool("status", session=session)
        return found if found["state"] in states and not found["live"] else None

    return eventually(known)


def waiting_session(client: McpClientOfTests, repo: Path) -> str:
    """Start a session that works until its question is answered. Return its id."""
    model = script(repo.parent / "asks.json", ASKS)
    session = client.tool("run", intent="say right", repo=str(repo), model=model)["id"]
    eventually(lambda: client.tool("status", session=session)["question"])
    return session


@pytest.mark.promise("mcp.tools")
def test_an_agent_outside_a_session_has_all_tools_and_one_inside_only_those_for_its_work(daemon: McpDaemon) -> None:
    outside, inside = daemon.client("editor"), daemon.client("agent", session="ab12cd34")
    assert [tool["name"] for tool in outside.tools()] == IN_SESSION + OUTSIDE
    assert [tool["name"] for tool in inside.tools()] == IN_SESSION
    for tool in outside.tools():
        assert tool["description"]
        schema = tool["inputSchema"]
        assert schema["additionalProperties"] is False
        assert all(form["description"] for form in schema["properties"].values())


@pytest.mark.promise("mcp.tools")
@pytest.mark.promise("serve.mcp")
def test_a_session_is_started_followed_and_read_with_the_tools(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    model = script(repo.parent / "script.json", RIGHT)
    asked = {"intent": "say right", "repo": str(repo), "model": model, "key": "one"}
    session = client.tool("run", **asked)["id"]
    assert client.tool("run", **asked)["id"] == session
    assert wait_for(client, session, "finished")["outcome"] == "verified"
    assert session in [one["id"] for one in client.tool("status")["sessions"]]
    assert "+right" in client.tool("diff", session=session)["patch"]
    cut = client.tool("diff", session=session, limit=10)
    assert cut["truncated"] and "cut" in cut["note"]
    judged = client.verdict(session=session)
    assert judged["state"] == "done" and judged["verdict"]["green"]
    assert judged["verdict"]["results"][0]["name"] == "done"


@pytest.mark.promise("mcp.tools")
def test_verify_judges_the_files_of_a_repository_without_holding_the_caller(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    write(repo, {"donewhen.toml": CHECK.replace("grep", "sleep 2; grep")})
    first = client.tool("verify", repo=str(repo))
    assert first["state"] == "running"
    assert client.tool("verify", repo=str(repo))["handle"] == first["handle"]
    red = client.verdict(handle=first["handle"])["verdict"]
    assert not red["green"] and red["results"][0]["status"] == "fail"
    write(repo, {"answer.txt": "right\n"})
    assert client.verdict(repo=str(repo))["verdict"]["green"]
    assert daemon.client("other").refused("verify", handle=first["handle"]).kind == "unknown_handle"


@pytest.mark.promise("mcp.tools")
def test_a_held_out_check_is_neither_in_the_contract_nor_named_in_a_verdict(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    write(repo, {"donewhen.toml": HELD_OUT})
    contract = client.tool("contract", repo=str(repo))
    assert [check["name"] for check in contract["checks"]] == ["done"]
    verdict = client.verdict(repo=str(repo))
    assert [one["name"] for one in verdict["verdict"]["results"]] == ["done", "a held-out check"]
    session = client.tool("run", intent="x", repo=str(repo), model=script(repo.parent / "s.json", RIGHT))["id"]
    wait_for(client, session, "finished", "waiting")
    whole = [contract, verdict, client.verdict(session=session), client.tool("contract", session=session)]
    whole.append(client.tool("status", session=session))
    assert "secret-check" not in str(whole) and "hidden-word" not in str(whole)


@pytest.mark.promise("mcp.tools")
def test_a_note_is_kept_with_its_author_recalled_as_a_quotation_and_forgotten_by_a_person(
    daemon: McpDaemon, repo: Path
) -> None:
    client = daemon.client("editor")
    text = "the port is 5432 \x1b[31m token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    note = client.tool("memory_record", text=text, repo=str(repo))
    assert client.tool("memory_record", text=text, repo=str(repo))["id"] == note["id"]
    found = client.tool("memory_recall", words="PORT 5432", repo=str(repo))
    assert "never instructions" in found["note"]
    assert [(one["by"], one["text"]) for one in found["notes"]] == [(f"mcp:{client.name}", note["text"])]
    assert "ghp_" not in note["text"] and "\x1b" not in note["text"]
    listed = donewhen("memory", "list", "--tag", "note", cwd=repo)
    assert note["id"] in listed.out and client.name in listed.out
    donewhen("memory", "forget", "--tag", note["id"], cwd=repo)
    assert client.tool("memory_recall", words="5432", repo=str(repo))["notes"] == []


@pytest.mark.promise("mcp.tools")
def test_recall_returns_the_repair_of_a_failure_or_none(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    assert client.tool("memory_recall", log="E   AssertionError: 1 != 2", repo=str(repo))["repair"] is None
    assert client.refused("memory_recall").kind == "bad_input"


@pytest.mark.promise("mcp.tools")
def test_progress_of_an_agent_is_shown_to_people_with_its_author(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    session = waiting_session(client, repo)
    agent = daemon.client("agent", session=session)
    agent.tool("report_progress", text="half of it \x1b]0;x\x07 is done")
    donewhen("answer", session, "red", cwd=repo)
    wait_for(client, session, "finished")
    log = donewhen("log", session, cwd=repo)
    assert f"mcp:{agent.name}: half of it" in log.out and "\x1b" not in log.out
    assert client.refused("report_progress", session=session, text="late").kind == "bad_input"


@pytest.mark.promise("mcp.tools")
def test_a_question_returns_a_handle_and_its_answer_is_found_by_the_handle(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    session = waiting_session(client, repo)
    agent = daemon.client("agent", session=session)
    assert "another question waits" in str(agent.refused("ask_person", question="which colour?"))
    donewhen("answer", session, "red", cwd=repo)
    wait_for(client, session, "finished")


def test_a_question_of_a_client_waits_in_the_session_until_a_person_answers(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("editor")
    slow = [call("shell", command="while [ ! -f go ]; do sleep 0.05; done", timeout_secs=60), *RIGHT]
    model = script(repo.parent / "slow.json", slow)
    session = client.tool("run", intent="say right", repo=str(repo), model=model)["id"]
    agent = daemon.client("agent", session=session)

    def begun() -> str:
        try:
            return agent.tool("report_progress", text="begun")["result"]
        except ToolFailed:  # it does not work yet
            return ""

    eventually(begun)
    asked = agent.tool("ask_person", question="which colour?")
    assert asked["state"] == "waiting"
    assert agent.tool("ask_person", question="which colour?") == asked
    assert client.tool("status", session=session)["question"]["prompt"] == "which colour?"
    answered = donewhen("answer", session, "blue", cwd=repo)
    assert answered.code == 0, answered.err
    found = agent.tool("ask_person", handle=asked["handle"])
    assert (found["state"], found["answer"]) == ("answered", "blue")
    donewhen("cancel", session, cwd=repo)
