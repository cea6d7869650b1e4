"""Real agents as clients of our MCP server: outside of sessions without a model, and in sessions of the daemon."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from needs import leave_out
from program import PROGRAM
from real_agents.roster import CLAUDE as CLAUDE_BY_ACP
from real_agents.scenery import INSTALLED, LONGEST_SECS, report, stage
from runs.scenes import scene
from server.mcp.mcp_daemon import running
from wire_server import Answer, SaidCall, Says

CLAUDE = INSTALLED / "claude-code" / "node_modules" / ".bin" / "claude"


def claude(*arguments: str, cwd: Path) -> str:
    if not CLAUDE.exists():
        leave_out("claude-code (scripts/test-agents)")
    ran = subprocess.run(
        [CLAUDE, "mcp", *arguments], cwd=cwd, capture_output=True, text=True, timeout=LONGEST_SECS, env={**os.environ}
    )
    return ran.stdout + ran.stderr


@pytest.mark.promise("command.mcp")
def test_claude_code_connects_to_the_command(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    claude("add", "donewhen", "-s", "user", "--", str(PROGRAM), "mcp", cwd=repo)
    claude("add", "broken", "-s", "user", "--", str(PROGRAM), "mcp", "--no-such-option", cwd=repo)
    listed = {line.partition(":")[0]: line for line in claude("list", cwd=repo).splitlines()}
    assert "Connected" in listed["donewhen"]
    assert "Connected" not in listed["broken"]


@pytest.mark.promise("serve.mcp")
def test_claude_code_connects_to_the_daemon_with_its_token_and_not_with_another(tmp_path: Path) -> None:
    repo = scene(tmp_path / "repo")
    with running(tmp_path) as daemon:
        token = daemon.client("claude").token
        for name, given in (("donewhen", token), ("stranger", "wrong")):
            header = f"Authorization: Bearer {given}"
            claude("add", "-s", "user", "--transport", "http", name, daemon.address, "--header", header, cwd=repo)
        listed = {line.partition(":")[0]: line for line in claude("list", cwd=repo).splitlines()}
        assert "Connected" in listed["donewhen"]
        assert "Connected" not in listed["stranger"]


@pytest.mark.promise("mcp.tools")
def test_claude_code_reports_from_its_session_in_the_daemon(tmp_path: Path) -> None:
    agent, repo = CLAUDE_BY_ACP, tmp_path / "repo"
    call = SaidCall("call_1", "mcp__donewhen__report_progress", json.dumps({"text": "half of it"}))
    acts = (Says(Answer(calls=(call,))), agent.writes(repo / "answer.txt"), agent.says())
    with running(tmp_path) as daemon, stage(agent, repo, *acts) as here:
        ran = here.run()
        assert ran.code == 0, report(ran, here)
        reported = [(event["by"], event["text"]) for event in ran.of("plan_text")]
        assert (f"mcp:session-{ran.session}", "half of it") in reported, report(ran, here)
        assert '"tool":"report_progress"' in daemon.audit.read_text()
