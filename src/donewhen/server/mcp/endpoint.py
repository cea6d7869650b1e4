"""MCP over HTTP as an ASGI application: which client calls, and then the SDK, which is loaded at the first request.

    endpoint = McpEndpoint(service, tasks, state, say)         # `tasks` ends with the daemon
    WebMount(path="/mcp", app=endpoint, identify=endpoint.identify)

Host, origin and token were checked before: the caller is in `scope["state"]["caller"]`.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from donewhen.server.mcp.audit import AuditLog
from donewhen.server.mcp.clients import CALLER, McpClient, McpClients
from donewhen.server.mcp.governed import GovernedTools
from donewhen.server.mcp.tools import IN_SESSION, TOOLS
from donewhen.server.service import Caller, Service

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from donewhen.server.mcp.http_app import HttpApp


class McpEndpoint:
    def __init__(self, service: Service, tasks: TaskGroup, state: Path, say: Callable[[str], None]) -> None:
        audit = AuditLog(audit_path(state))
        if unfinished := audit.close_unfinished():
            say(f"note: {len(unfinished)} calls of MCP clients were interrupted; the audit log says which")
        self._tools = GovernedTools(service, tasks, audit)
        self._clients = McpClients(state)
        self._clients.remove_ended()
        self._tasks = tasks
        self._opening = anyio.Lock()
        self._app: HttpApp | None = None

    def identify(self, authorization: str) -> Caller | None:
        """Return the caller whose token is in an `Authorization` header."""
        client = self._clients.by_header(authorization)
        return None if client is None else client.caller(None)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        client = self._client(scope["state"].get("caller")) if scope["type"] == "http" else None
        if client is None:
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            return await send({"type": "http.response.body", "body": b""})
        app = await self._opened()
        return await app.serve(client, scope, receive, send)

    def _client(self, caller: Caller | None) -> McpClient | None:
        if caller is None:
            return None
        if caller.name.startswith(CALLER):
            return self._clients.by_name(caller.name.removeprefix(CALLER))
        tools = IN_SESSION if caller.session else frozenset(TOOLS)
        return McpClient(name=caller.name, tools=tools, session=caller.session)

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
