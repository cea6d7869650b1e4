"""An agent made with the official library of the protocol, to test our client. A test runs it as a program.

The library refuses everything that violates the protocol. This agent shows its task, asks for permission, and prints
the answer.
"""

import asyncio
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    SetSessionModeResponse,
    run_agent,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message,
    update_tool_call,
)
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    McpCapabilities,
    PermissionOption,
    SessionMode,
    SessionModeState,
    ToolCallUpdate,
    Usage,
)

MODES = SessionModeState(
    current_mode_id="default",
    available_modes=[SessionMode(id="default", name="Default"), SessionMode(id="careful", name="Careful")],
)
OPTIONS = [
    PermissionOption(option_id="a", name="Always", kind="allow_always"),
    PermissionOption(option_id="o", name="Once", kind="allow_once"),
    PermissionOption(option_id="r", name="No", kind="reject_once"),
]


class Reference:
    def __init__(self) -> None:
        self.mode = "default"
        self.servers = 0

    def on_connect(self, conn: Client) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        can = AgentCapabilities(mcp_capabilities=McpCapabilities(http=True))
        return InitializeResponse(protocol_version=min(protocol_version, PROTOCOL_VERSION), agent_capabilities=can)

    async def new_session(self, mcp_servers: Any = None, **_: Any) -> NewSessionResponse:
        self.servers = len(mcp_servers or [])
        return NewSessionResponse(session_id="reference", modes=MODES)

    async def set_session_mode(self, mode_id: str, **_: Any) -> SetSessionModeResponse:
        self.mode = mode_id
        return SetSessionModeResponse()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        said = f"{prompt[0].text} mode={self.mode} servers={self.servers}"
        await self.client.session_update(session_id, update_agent_message(text_block(said)))
        call = start_tool_call("c1", "ls", kind="execute", status="pending", raw_input={"command": "ls"})
        await self.client.session_update(session_id, call)
        answer = await self.client.request_permission(
            options=OPTIONS, session_id=session_id, tool_call=ToolCallUpdate(tool_call_id="c1")
        )
        chosen = str(getattr(answer.outcome, "option_id", "none"))
        done = update_tool_call("c1", status="completed", content=[tool_content(text_block(f"chosen {chosen}"))])
        await self.client.session_update(session_id, done)
        usage = Usage(total_tokens=12, input_tokens=10, output_tokens=2)
        return PromptResponse(stop_reason="end_turn", usage=usage)


if __name__ == "__main__":
    agent: Any = Reference()  # the library calls only the methods that exist
    asyncio.run(run_agent(agent))
