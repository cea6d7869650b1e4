"""A real agent as a client of our MCP server: Claude Code connects over stdio and over HTTP, without a model."""

import os
import subprocess
from pathlib import Path

import pytest

from needs import leave_out
from program import PROGRAM
from real_agents.scenery import INSTALLED, LONGEST_SECS
from runs.scenes import scene
from server.mcp.mcp_daemon import running

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
