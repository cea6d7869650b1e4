"""Streamable HTTP of the SDK, for one server with many clients. A conversation belongs to the client that opened it."""

import anyio
import anyio.abc
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from donewhen.errors import MachineryBroke
from donewhen.server.mcp.clients import McpClient
from donewhen.server.mcp.governed import GovernedTools
from donewhen.server.mcp.protocol import Context, server

IDLE_SECS = 600.0
MOST_CONVERSATIONS = 500
LONGEST_BODY = 1 << 20
_CLIENT = "donewhen.mcp.client"


class HttpApp:
    def __init__(self, tools: GovernedTools) -> None:
        self._manager = StreamableHTTPSessionManager(
            server(tools, _client_of),
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the web side did it
            session_idle_timeout=IDLE_SECS,
            max_request_body_size=LONGEST_BODY,
            max_sessions=MOST_CONVERSATIONS,
        )

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Serve until cancelled."""
        async with self._manager.run():
            task_status.started()
            await anyio.sleep_forever()

    async def serve(self, client: McpClient, scope: Scope, receive: Receive, send: Send) -> None:
        user = AuthenticatedUser(AccessToken(token="", client_id=client.name, scopes=[]))
        await self._manager.handle_request({**scope, "user": user, _CLIENT: client}, receive, send)


def _client_of(context: Context) -> McpClient:
    request = context.request
    client = request.scope.get(_CLIENT) if isinstance(request, Request) else None
    if not isinstance(client, McpClient):
        raise MachineryBroke("the request has no client")
    return client
