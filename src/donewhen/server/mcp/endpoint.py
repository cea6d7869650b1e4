"""MCP over HTTP as an ASGI application: who calls, and then the SDK, which is loaded at the first request.

    endpoint = McpEndpoint(service, tasks, state)         # `tasks` ends with the daemon
    WebMount(path="/mcp", app=endpoint, public=True)      # it asks for a token itself

Host and Origin were checked before. A caller that the web side knows already is in `scope["state"]["caller"]`; else the
token in the header must be that of an MCP client.
"""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from donewhen.server.mcp.audit import AuditLog
from donewhen.server.mcp.clients import McpClient, McpClients
from donewhen.server.mcp.governed import GovernedTools
from donewhen.server.mcp.tools import IN_SESSION, TOOLS
from donewhen.server.rpc.rate import Rate
from donewhen.server.service import Caller, Service

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from donewhen.server.mcp.http_app import HttpApp

FAILURES_PER_SECOND, FAILURES_BURST = 1 / 6, 10.0


class McpEndpoint:
    def __init__(self, service: Service, tasks: TaskGroup, state: Path, say: Callable[[str], None]) -> None:
        audit = AuditLog(audit_path(state))
        if unfinished := audit.close_unfinished():
            say(f"note: {len(unfinished)} calls of MCP clients were interrupted; the audit log says which")
        self._tools = GovernedTools(service, tasks, audit)
        self._clients = McpClients(state)
        self._clients.remove_ended()
        self._tasks = tasks
        self._failures = Rate(FAILURES_PER_SECOND, FAILURES_BURST)
        self._opening = anyio.Lock()
        self._app: HttpApp | None = None

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            return await _refuse(send, 404, "only HTTP is served here")
        client = self._client(scope)
        if client is None:
            if self._has_header(scope) and not self._failures.take():
                return await _refuse(send, 429, "too many wrong tokens; try again in a minute")
            return await _refuse(send, 401, "a token is needed: Authorization: Bearer TOKEN")
        app = await self._opened()
        return await app.serve(client, scope, receive, send)

    def _client(self, scope: "Scope") -> McpClient | None:
        caller = scope.get("state", {}).get("caller")
        if isinstance(caller, Caller):
            tools = IN_SESSION if caller.session else frozenset(TOOLS)
            return McpClient(name=caller.name, tools=tools, session=caller.session)
        headers = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        return self._clients.by_header(headers[0].decode("latin-1")) if len(headers) == 1 else None

    def _has_header(self, scope: "Scope") -> bool:
        return any(name.lower() == b"authorization" for name, _ in scope["headers"])

    async def _opened(self) -> "HttpApp":
        """Load the SDK and start its session manager, once."""
        async with self._opening:
            if self._app is None:
                module: Any = await anyio.to_thread.run_sync(import_module, "donewhen.server.mcp.http_app")
                app: HttpApp = module.HttpApp(self._tools)
                await self._tasks.start(app.run)
                self._app = app
        return self._app


def audit_path(state: Path) -> Path:
    return state / "daemon" / "audit.jsonl"


async def _refuse(send: "Send", status: int, why: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": why}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
