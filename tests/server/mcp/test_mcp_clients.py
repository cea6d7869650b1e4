"""Other programs as clients: the official SDK in both versions of the protocol, and the inspector of the project."""

import json
from pathlib import Path
from typing import Any

import anyio
import node_tools
import pytest
from mcp_daemon import McpDaemon

from runs.scenes import FILES

SECONDS = 60.0


def sdk_session(address: str, token: str, repo: Path, mode: str) -> Any:
    """Connect the official SDK, list the tools, and call one. Return the version, the names and the result."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async def session() -> Any:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS) as http:
            async with Client(streamable_http_client(address, http_client=http), mode=mode) as client:
                tools = [tool.name for tool in (await client.list_tools()).tools]
                called = await client.call_tool("contract", {"repo": str(repo)})
                return client.protocol_version, tools, called.structured_content

    return anyio.run(session)


@pytest.mark.promise("serve.mcp")
@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")])
def test_old_and_new_clients_of_the_official_sdk_use_the_same_endpoint(
    daemon: McpDaemon, repo: Path, mode: str, version: str
) -> None:
    client = daemon.client("sdk", tools=["contract", "verify"])
    spoken, tools, contract = sdk_session(daemon.address, client.token, repo, mode)
    assert spoken == version
    assert tools == ["verify", "contract"]
    assert contract["checks"][0]["command"] in FILES["donewhen.toml"]


@pytest.mark.promise("serve.mcp")
def test_the_inspector_of_the_mcp_project_lists_and_calls_the_tools(daemon: McpDaemon, repo: Path) -> None:
    client = daemon.client("inspector")
    common = ("--cli", daemon.address, "--transport", "http", "--header", f"Authorization: Bearer {client.token}")
    listed = node_tools.run("mcp-inspector", *common, "--method", "tools/list", cwd=repo)
    assert len(json.loads(listed.stdout)["tools"]) == 9, listed.stderr
    call = ("--method", "tools/call", "--tool-name", "contract", "--tool-arg", f"repo={repo}")
    called = json.loads(node_tools.run("mcp-inspector", *common, *call, cwd=repo).stdout)
    assert called["structuredContent"]["checks"][0]["name"] == "done"
    stranger = node_tools.run("mcp-inspector", *common[:4], "--method", "tools/list", cwd=repo)
    assert stranger.returncode != 0
