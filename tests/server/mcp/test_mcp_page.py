"""What docs/daemon.md says about MCP: its configuration of two clients works, and its table has all tools."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_daemon import McpClientOfTests, McpDaemon, message

from donewhen.server.mcp.governed import LIMITS, LONGEST_RESULT
from donewhen.server.mcp.tools import TOOLS
from donewhen.server.web.options import DEFAULT_PORT
from program import PROGRAM, donewhen

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "daemon.md").read_text().partition("\n## MCP\n")[2]


def block(words: str) -> str:
    """Return the content of the fenced block with these words behind its fence."""
    (found,) = re.findall(rf"^```{re.escape(words)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def commands() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_table_of_the_page_has_all_tools() -> None:
    table = PAGE.partition("### Over stdio")[0]
    assert set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))) == {*TOOLS}


def test_the_limits_of_the_page_are_those_of_the_program() -> None:
    said = re.search(
        r"(\d+) calls a second after the first (\d+), one\s+question in two minutes after the first (\d+)", PAGE
    )
    assert said is not None
    assert (float(said[1]), float(said[2])) == LIMITS[""]
    assert LIMITS["ask_person"] == (1 / 120, float(said[3]))
    assert f"{LONGEST_RESULT:,} characters" in PAGE


@pytest.mark.promise("command.mcp")
def test_the_configuration_of_a_client_that_starts_the_command_works(repo: Path) -> None:
    server = json.loads(block("json .mcp.json"))["mcpServers"]["donewhen"]
    assert server["command"] == "donewhen"

    async def names() -> list[str]:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        started = StdioServerParameters(command=str(PROGRAM), args=server["args"], env=None, cwd=str(repo))
        async with Client(stdio_client(started)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert anyio.run(names) == [*TOOLS]


@pytest.mark.promise("serve.mcp")
def test_the_configuration_of_a_client_with_a_token_works(daemon: McpDaemon, repo: Path) -> None:
    made = donewhen(*commands()[0].split()[1:], cwd=repo)
    assert made.code == 0, made.err
    server: dict[str, Any] = tomllib.loads(block("toml config.toml"))["mcp_servers"]["donewhen"]
    assert server["url"] == f"http://127.0.0.1:{DEFAULT_PORT}/mcp"
    client = McpClientOfTests(daemon.port, (repo / "reviewer.token").read_text().strip())
    assert [tool["name"] for tool in client.tools()] == ["verify", "contract"]
    assert client.tool("contract", repo=str(repo))["checks"]
    donewhen("mcp", "--remove-client", "reviewer", cwd=repo)
    assert client.ask(message("tools/list", None)).status == 401


@pytest.mark.promise("mcp.governed")
def test_the_command_of_the_page_finds_a_changed_audit_log(home: Path, own_daemon: McpDaemon, repo: Path) -> None:
    own_daemon.client("editor").tool("contract", repo=str(repo))

    def told() -> str:
        code = re.search(r"python3 -c '(.*)'", commands()[-1], re.DOTALL)
        assert code is not None
        return subprocess.run(
            [sys.executable, "-c", code[1]], capture_output=True, text=True, check=True
        ).stdout.strip()

    assert told() == "nothing was changed"
    own_daemon.audit.write_text(own_daemon.audit.read_text().replace('"ok"', '"no"'))
    assert told() == "line 2: it is not the line that was written last"
