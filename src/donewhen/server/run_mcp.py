"""Starts MCP over stdio: finds the client and the service first, and loads the SDK last."""

import os
from collections.abc import Callable
from pathlib import Path

from donewhen.errors import BadInput
from donewhen.server.local_service import run_with_service
from donewhen.server.mcp.audit import AuditLog
from donewhen.server.mcp.clients import McpClient, McpClients, token_in, unlimited
from donewhen.server.mcp.endpoint import audit_path
from donewhen.server.service import Service, Surroundings
from donewhen.workspace.state_dir import private_directory, state_root

STDIO = "stdio"
"""The name of a client without a token."""


def run_stdio(token_file: Path | None, say: Callable[[str], None]) -> int:
    """Serve until stdin is closed. Return the exit code."""
    state = state_root(os.environ)
    private_directory(audit_path(state).parent)
    client = _client(state, token_file)
    surroundings = Surroundings(os.getcwd(), dict(os.environ))
    if unfinished := AuditLog(audit_path(state)).close_unfinished():
        say(f"note: {len(unfinished)} calls of MCP clients were interrupted; the audit log says which")

    async def work(service: Service, is_daemon: bool) -> int:
        del is_daemon
        from donewhen.server.mcp.stdio import serve_stdio  # loaded last: it takes a second

        await serve_stdio(service, client, surroundings, state)
        return 0

    return run_with_service(work, say)


def _client(state: Path, token_file: Path | None) -> McpClient:
    if token_file is None:
        return unlimited(STDIO)
    client = McpClients(state).by_token(token_in(token_file))
    if client is None:
        raise BadInput(f"{token_file}: this is not the token of a client that is known here")
    return client
