"""The protocol client against a misbehaving agent: garbage, silence, crashes, refusals; and cancelling it."""

import base64
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from acp_process import Place

from donewhen.engines.external.acp.client import AcpAgent, AcpOptions
from donewhen.engines.external.agent import AgentReport, PermissionRequest
from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    RawLine,
)
from donewhen.model.interface import Usage

pytestmark = pytest.mark.anyio
AUTH = {"error": {"code": -32000, "message": "Authentication required"}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "tree").mkdir()
    return Place(tmp_path / "tree")


# -- output --


@pytest.mark.parametrize(
    ("line", "raw"),
    [
        ("Welcome!", "Welcome!"),
        ('{"half": ', '{"half": '),
        ("42", 42),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ("{}", {}),
        ('{"id": 99, "result": {}}', {"id": 99, "result": {}}),
        ('{"id": [], "result": {}}', {"id": [], "result": {}}),
        ('{"method": 5, "id": 1}', {"method": 5, "id": 1}),
        ('{"method": "session/update", "params": 7}', {"method": "session/update", "params": 7}),
        ('"\\ud800"', "?"),
        ("[" * 100_000, "[" * 100_000),
        ("9" * 5000, "9" * 5000),
    ],
)
async def test_a_line_that_is_not_a_message_is_shown_and_skipped(place: Place, line: str, raw: Any) -> None:
    report = await place.work([{"print": line + "\n"}, {"say": "on"}])
    assert report.end == "stopped"
    assert RawLine(raw) in place.told.happenings
    assert AgentText("on") in place.told.news


async def test_invalid_bytes_are_shown_as_far_as_possible(place: Place) -> None:
    await place.work([{"print": {"base64": base64.b64encode(b"a\xff\xfeb\n").decode()}}, {"say": "on"}])
    assert RawLine("a\ufffd\ufffdb") in place.told.happenings
    assert AgentText("on") in place.told.news


async def test_a_line_of_16_mebibytes_is_one_line(place: Place) -> None:
    size = 16 << 20
    await place.work([{"flood": {"bytes": size, "line": size}}, {"say": "on"}])
    assert max(len(one) for one in place.told.raw if isinstance(one, str)) == size - 1
    assert AgentText("on") in place.told.news


async def test_a_message_of_16_mebibytes_is_parsed_and_its_text_is_cut(place: Place) -> None:
    await place.work([{"say": "x" * (32 << 20)}, {"shell": "true"}, {"say": "on"}])
    first, last = [one.text for one in place.told.news if isinstance(one, AgentText)]
    assert len(first) == 1 << 20
    assert last == "on"


async def test_a_message_in_two_halves_is_one_message(place: Place) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "whole"}}
    line = json.dumps({"method": "session/update", "params": {"sessionId": "fake-1", "update": update}}) + "\n"
    await place.work([{"print": line[:40]}, {"print": line[40:]}])
    assert AgentText("whole") in place.told.news


async def test_updates_of_another_session_are_ignored(place: Place) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "elsewhere"}}
    line = json.dumps({"method": "session/update", "params": {"sessionId": "other", "update": update}}) + "\n"
    await place.work([{"print": line}])
    assert not any(isinstance(one, AgentText) for one in place.told.news)


# -- ends --


async def test_an_agent_that_exits_early_has_died_and_its_output_is_kept(place: Place) -> None:
    report = await place.work([{"say": "so far"}, {"exit": 3}])
    assert report == AgentReport(end="died", exit_code=3, detail="it ended without an answer")
    assert AgentText("so far") in place.told.news
    assert not any(isinstance(one, AgentStopped) for one in place.told.news)


async def test_a_partial_message_before_the_end_counts_as_a_crash(place: Place) -> None:
    report = await place.work([{"print": '{"jsonrpc": "2.0", "id"'}, {"exit": 0}])
    assert report == AgentReport(end="died", exit_code=0, detail="it ended without an answer")


async def test_a_signal_shows_in_the_exit_code(place: Place) -> None:
    assert await place.work([{"signal": 9}]) == AgentReport(
        end="died", exit_code=137, detail="it ended without an answer"
    )


async def test_a_program_that_is_not_an_agent_is_reported_with_its_last_output(place: Place) -> None:
    agent = AcpAgent(lambda: place.start("/bin/sh", "-c", "echo no such option >&2; exit 2"), AcpOptions(cwd="/"))
    report = await agent.work(place.task(), place.told.happenings.append)
    assert report == AgentReport(end="died", exit_code=2, detail="no such option")


async def test_an_agent_that_closes_its_output_is_not_waited_for(place: Place) -> None:
    agent = AcpAgent(
        lambda: place.start("/bin/sh", "-c", "exec >/dev/null; exec tail -f /dev/null"), AcpOptions(cwd="/")
    )
    report = await agent.work(place.task(), place.told.happenings.append)
    assert report == AgentReport(end="died", detail="it closed its output but kept running")


async def test_an_agent_that_no_longer_reads_is_read_for_a_moment_and_stopped(place: Place) -> None:
    hello = """read line; exec <&-; echo '{"id": 1, "result": {"protocolVersion": 1}}'; echo bye"""
    agent = AcpAgent(lambda: place.start("/bin/sh", "-c", f"{hello}; exec tail -f /dev/null"), AcpOptions(cwd="/"))
    report = await agent.work(place.task(), place.told.happenings.append)
    assert report.end == "died"
    assert place.told.raw[-1] == "bye"


# -- failing starts --


async def test_an_agent_that_never_answers_is_stopped(place: Place) -> None:
    report = await place.work([], {"initialize": None}, manner={"answer_secs": 0.5})
    assert report == AgentReport(end="not_started", detail="no answer to initialize within 0.5 s")
    assert place.told.news == [AgentProblem("agent", "no answer to initialize within 0.5 s")]


async def test_an_agent_with_another_protocol_version_does_not_get_the_task(place: Place) -> None:
    report = await place.work([], {"initialize": {"result": {"protocolVersion": 2}}})
    assert report == AgentReport(end="not_started", detail="it uses version 2 of the protocol, not 1")


async def test_a_refused_session_is_reported_with_its_reason(place: Place) -> None:
    report = await place.work([], {"session/new": {"error": {"code": -32603, "message": "no room"}}})
    assert report == AgentReport(end="not_started", detail="no room")
    assert place.told.news == [AgentProblem("agent", "no room")]


async def test_a_session_without_an_id_is_an_error(place: Place) -> None:
    report = await place.work([], {"session/new": {"result": None}})
    assert report == AgentReport(end="not_started", detail="it opened a session without an id")


async def test_an_agent_that_asks_for_a_key_is_told_to_use_its_own(place: Place) -> None:
    report = await place.work([], {"session/new": AUTH})
    assert place.told.params("authenticate") == [{"methodId": "fake-api-key"}]
    assert report == AgentReport(end="not_started", detail="Authentication required")
    assert place.told.news == [AgentProblem("sign_in", "Authentication required")]


async def test_a_sign_in_that_needs_a_browser_is_not_started(place: Place) -> None:
    methods = [{"id": "login", "name": "Log in with your browser"}, {"id": "t", "name": "API key", "type": "terminal"}]
    hello = {"result": {"protocolVersion": 1, "authMethods": methods}}
    report = await place.work([], {"initialize": hello, "session/new": AUTH})
    assert place.told.params("authenticate") == []
    assert report.end == "not_started"
    assert place.told.news == [AgentProblem("sign_in", "Authentication required")]


# -- cancelling --


async def test_a_cancelled_task_is_first_cancelled_through_the_protocol(place: Place) -> None:
    """The command hangs; the agent kills it and answers the prompt before it is killed itself."""
    heard = place.told.happenings
    running = "echo running > running; tail -f /dev/null"

    with anyio.CancelScope() as scope:

        def hear(happening: AgentEvent) -> None:
            heard.append(happening)
            if isinstance(happening, RawLine) and "in_progress" in str(happening.value):
                scope.cancel()

        used = {"usage": {"input": 5, "output": 1}}
        await place.agent([[used, {"shell": running}, {"shell": "touch later"}]]).work(place.task(), hear)
    assert scope.cancelled_caught
    assert place.told.params("session/cancel") == [{"sessionId": "fake-1"}]
    assert place.told.raw[-1]["result"]["stopReason"] == "cancelled"
    assert any(isinstance(one, AgentToolResult) and not one.ok for one in place.told.news)
    assert place.told.news[-1] == AgentTotals(Usage(5, 1))
    assert not (place.root / "later").exists()


async def test_an_open_permission_request_is_cancelled_with_the_task(place: Place) -> None:
    with anyio.CancelScope() as scope:

        async def ask(wish: PermissionRequest) -> bool:
            scope.cancel()
            await anyio.sleep_forever()
            return True

        await place.work([{"shell": "touch ran"}], permit=ask)
    assert scope.cancelled_caught
    assert place.told.sent[-1]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert place.told.raw[-1]["result"]["stopReason"] == "cancelled"
    assert not (place.root / "ran").exists()


async def test_an_agent_that_ignores_a_cancel_is_killed_soon(place: Place) -> None:
    """It would hang without end and ignores us: if we waited for it, this test would hang too."""
    with anyio.CancelScope() as scope:

        def hear(happening: AgentEvent) -> None:
            if isinstance(happening, AgentToolCall):
                scope.cancel()

        steps = [{"read": "nothing"}, {"hang": True}]
        await place.agent([steps]).work(place.task(), hear)
    assert scope.cancelled_caught
    assert place.told.params("session/cancel") == [{"sessionId": "fake-1"}]
