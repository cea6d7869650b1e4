"""An agent that the daemon's session starts reaches the tools for its session, from its sandbox and without a token."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_daemon import McpDaemon, message

from donewhen.server.mcp.audit import problem_of
from donewhen.server.mcp.clients import McpClients
from runs.agents import opencode
from runs.scenes import CHECK, run_json, scene

DOOR = "http://127.0.0.1:47803/mcp"
RIGHT = {"write": {"path": "answer.txt", "content": "right\n"}}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    more = '[[check]]\nname = "still"\ncommand = "test -f answer.txt"\n'
    return scene(tmp_path / "repo", {"donewhen.toml": CHECK + more})


def curl(tool: str, **arguments: object) -> str:
    """A command that calls a tool as an agent in the sandbox does."""
    body = json.dumps(message("tools/call", {"name": tool, "arguments": arguments}))
    headers = ("Content-Type: application/json", "Accept: application/json, text/event-stream")
    headers += ("MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", f"Mcp-Name: {tool}")
    given = " ".join(f"-H '{header}'" for header in headers)
    return f"curl -sS -m 60 {given} -d '{body}' {DOOR}"


@pytest.mark.promise("mcp.tools")
@pytest.mark.promise("mcp.governed")
def test_an_agent_of_a_session_uses_the_tools_of_its_session_and_no_others(
    own_daemon: McpDaemon, repo: Path, tmp_path: Path
) -> None:
    place = tmp_path / "agent"
    place.mkdir()
    steps = [
        {"mcp": True},
        {"shell": curl("contract")},
        {"shell": curl("report_progress", text="half of it")},
        {"shell": curl("contract", session="ab12cd34")},
        {"shell": curl("run", intent="more")},
        {"shell": "python3 -c 'import os; print(\"donewhen_mcp_\" in str(os.environ))'"},
        {"shell": "grep -rlIs donewhen_mcp_ . | wc -l"},
        RIGHT,
    ]
    engine = opencode(place, steps)
    ran = run_json(repo, "run", "say right", "--engine", engine, "--json")
    assert ran.code == 0, ran.events
    results = [event["preview"] for event in ran.of("tool_result")]
    assert "tools: verify, contract, memory_recall, memory_record, report_progress, ask_person" in results[0]
    assert "grep -qx right" in results[1]
    assert f"this client may only use session {ran.session}" in results[3]
    assert "not_allowed" in results[4]
    assert [one.split()[0] for one in results[5:7]] == ["False", "0"]
    name = f"session-{ran.session}"
    assert (f"mcp:{name}", "half of it") in [(event["by"], event["text"]) for event in ran.of("plan_text")]
    entries = own_daemon.audit.read_text()
    assert entries.count(f'"client":"{name}"') == 4 and problem_of(own_daemon.audit) == ""


@pytest.mark.promise("mcp.governed")
def test_the_token_of_a_session_is_invalid_when_its_process_has_ended(own_daemon: McpDaemon, repo: Path) -> None:
    clients = McpClients(own_daemon.state)
    here = clients.create("here", session="ab12cd34", while_here=True)
    assert clients.by_token(here)
    code = (
        "import sys; from pathlib import Path; from donewhen.server.mcp.clients import McpClients\n"
        "print(McpClients(Path(sys.argv[1])).create('gone', session='ab12cd34', while_here=True))"
    )
    ended = subprocess.run([sys.executable, "-c", code, own_daemon.state], capture_output=True, text=True, check=True)
    assert clients.by_token(ended.stdout.strip()) is None
    clients.remove_ended()
    assert [path.stem for path in (own_daemon.state / "daemon" / "mcp-clients").iterdir()] == ["here"]


def test_a_session_without_a_daemon_offers_its_agent_no_tools(repo: Path, tmp_path: Path) -> None:
    place = tmp_path / "agent"
    place.mkdir()
    ran = run_json(repo, "run", "say right", "--engine", opencode(place, [{"mcp": True}, RIGHT]), "--json")
    assert ran.code == 0
    assert "no MCP server is offered" in ran.of("tool_result")[0]["preview"]
