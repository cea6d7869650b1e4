"""MCP over stdin and stdout, for a program that starts `donewhen mcp`: through the daemon if one runs, else alone."""

from pathlib import Path

import anyio
from mcp.server.stdio import stdio_server

from donewhen.server.mcp.audit import AuditLog
from donewhen.server.mcp.clients import McpClient
from donewhen.server.mcp.endpoint import audit_path
from donewhen.server.mcp.governed import GovernedTools
from donewhen.server.mcp.protocol import server
from donewhen.server.service import Service, Surroundings


async def serve_stdio(service: Service, client: McpClient, surroundings: Surroundings, state: Path) -> None:
    """Serve one client until it closes stdin."""
    async with anyio.create_task_group() as tasks:
        tools = GovernedTools(service, tasks, AuditLog(audit_path(state)), surroundings)
        sdk = server(tools, lambda _: client)
        async with stdio_server() as (received, sent):
            await sdk.run(received, sent, sdk.create_initialization_options())
        tasks.cancel_scope.cancel()
