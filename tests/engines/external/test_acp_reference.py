"""The protocol client against the official library of the protocol, from both sides: an agent made with it answers
ours, and the library's own models accept every message that we send."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from acp_process import Place

from donewhen.engines.external.acp.client import AcpAgent, AcpOptions
from donewhen.engines.external.agent import AgentReport
from donewhen.engines.external.agent_events import (
    AgentStarted,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)
from donewhen.model.interface import Usage

pytestmark = pytest.mark.anyio
REFERENCE = Path(__file__).with_name("reference_acp_agent.py")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "tree").mkdir()
    return Place(tmp_path / "tree")


async def test_an_agent_made_with_the_official_library_is_understood(place: Place) -> None:
    manner = AcpOptions(cwd=str(place.root), mode="careful", mcp_url="http://127.0.0.1:1/mcp")
    agent = AcpAgent(lambda: place.start(sys.executable, str(REFERENCE)), manner)
    report = await agent.work(place.task(text="Go."), place.told.happenings.append)
    assert report == AgentReport(end="stopped")
    assert place.told.news == [
        AgentStarted("reference", ""),
        AgentText("Go. mode=careful servers=1"),
        AgentToolCall("c1", "execute", {"command": "ls"}),
        AgentToolResult("c1", True, "chosen o"),
        AgentTurn(),
        AgentTotals(Usage(10, 2), None),
        AgentStopped("Go. mode=careful servers=1"),
    ]


async def test_everything_that_we_send_is_valid_for_the_official_library(place: Place) -> None:
    from acp import schema

    models: Mapping[str, Any] = {
        "initialize": schema.InitializeRequest,
        "authenticate": schema.AuthenticateRequest,
        "session/new": schema.NewSessionRequest,
        "session/resume": schema.ResumeSessionRequest,
        "session/load": schema.LoadSessionRequest,
        "session/set_mode": schema.SetSessionModeRequest,
        "session/prompt": schema.PromptRequest,
    }
    steps = [{"shell": "true"}]
    lost = {"session/resume": {"error": {"code": -32002, "message": "no such session"}}}
    manner = {"mode": "careful", "mcp_url": "http://127.0.0.1:1/mcp"}
    await place.work(steps, lost, manner=manner, conversation="x")
    sent = list(place.told.sent)
    await place.work(steps, {"session/new": {"error": {"code": -32000, "message": "Authentication required"}}})
    sent += place.told.sent
    asked = [one for one in sent if "method" in one]
    assert {one["method"] for one in asked} == set(models)
    for one in asked:
        read = models[one["method"]].model_validate(one["params"])
        assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == one["params"]
    (answer,) = [one["result"] for one in sent if "result" in one]
    assert schema.RequestPermissionResponse.model_validate(answer).outcome.outcome == "selected"
