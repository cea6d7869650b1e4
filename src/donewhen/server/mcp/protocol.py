"""The tools as an MCP server of the official SDK, for old clients (with a handshake) and for stateless ones.

Which client calls is known by the transport: `client_of` returns it for each request. This module and those that use it
load the SDK.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from donewhen import __version__
from donewhen.errors import DonewhenError
from donewhen.server.error_kinds import error_data
from donewhen.server.mcp.clients import McpClient
from donewhen.server.mcp.governed import GovernedTools
from donewhen.server.mcp.tools import TOOLS, McpTool

INSTRUCTIONS = (
    "donewhen runs coding agents until the checks of an outcome contract pass. Only its checks decide what is done. "
    "Calls that take long return a handle at once; call the same tool again with this handle."
)
LIST_MS = 60_000
"""How long a client may keep the list of tools."""
LISTS: tuple[CacheableMethod, ...] = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
Context = ServerRequestContext[Any, Any]
ClientOf = Callable[[Context], McpClient]

for _name in ("mcp", "mcp.server"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False  # its messages contain what clients sent


def server(tools: GovernedTools, client_of: ClientOf) -> Server[Any]:
    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        del params
        client = client_of(context)
        return types.ListToolsResult(tools=[_tool(spec, client) for spec in tools.tools(client)])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in TOOLS:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:60]}")
        try:
            found = await tools.call(client_of(context), params.name, params.arguments or {})
        except DonewhenError as error:  # for the model that made the call, so that it can correct itself
            facts = {**error_data(error), "problem": str(error)}
            return _answer(f"ERROR: {facts['kind']}: {error}", facts, is_error=True)
        whole: dict[str, Any] = {**found} if isinstance(found, Mapping) else {"result": found}
        return _answer(json.dumps(whole, ensure_ascii=False), whole, is_error=False)

    async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        del context, params
        return types.ListPromptsResult(prompts=[])

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        del context, params
        return types.ListResourcesResult(resources=[])

    async def list_templates(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        del context, params
        return types.ListResourceTemplatesResult(resource_templates=[])

    kept: dict[CacheableMethod, CacheHint] = dict.fromkeys(LISTS, CacheHint(ttl_ms=LIST_MS, scope="private"))
    return Server(
        "donewhen",
        version=__version__,
        title="donewhen",
        instructions=INSTRUCTIONS,
        cache_hints=kept,
        on_list_prompts=list_prompts,  # there are none of these three, which clients ask for all the same
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _tool(spec: McpTool, client: McpClient) -> types.Tool:
    return types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=spec.schema(bool(client.session)),
        annotations=types.ToolAnnotations(
            title=spec.title, read_only_hint=spec.reads, destructive_hint=False, open_world_hint=False
        ),
    )


def _answer(text: str, facts: dict[str, Any], is_error: bool) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=facts, is_error=is_error)
