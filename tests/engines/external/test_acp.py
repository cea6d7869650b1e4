"""The protocol client against the scripted agent, a real process: events, questions, refusals and settings."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from acp_process import Place

from donewhen.engines.external.agent import AgentReport, PermissionRequest
from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentProblem,
    AgentStarted,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)
from donewhen.errors import NeedsPerson
from donewhen.model.interface import Usage

pytestmark = pytest.mark.anyio
WRITE = {"write": {"path": "made.txt", "content": "made\n"}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "tree").mkdir()
    return Place(tmp_path / "tree")


async def test_a_whole_task_is_reported_in_order_and_its_work_is_in_the_directory(place: Place) -> None:
    report = await place.work([WRITE, {"say": "It is done."}])
    assert report == AgentReport(end="stopped")
    assert (place.root / "made.txt").read_text() == "made\n"
    assert place.told.news == [
        AgentStarted("fake-1", "fake-model"),
        AgentToolCall("call_1", "edit", {"path": "made.txt", "content": "made\n"}),
        AgentToolResult("call_1", True, "wrote made.txt"),
        AgentTurn(),
        AgentText("It is done."),
        AgentTurn(),
        AgentStopped("It is done."),
    ]


async def test_the_agent_gets_the_task_and_neither_files_nor_terminals(place: Place) -> None:
    await place.work([{"task": True}], text="Say this.")
    assert AgentText("Say this.") in place.told.news
    (hello,) = place.told.params("initialize")
    assert hello["protocolVersion"] == 1
    assert hello["clientCapabilities"] == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert place.told.params("session/new") == [{"cwd": str(place.root), "mcpServers": []}]


# -- permission --


async def test_permission_is_given_for_one_call_and_never_for_later_ones(place: Place) -> None:
    await place.work([{"shell": "echo one > one"}, {"shell": "echo two > two"}])
    chosen = [one["result"]["outcome"] for one in place.told.sent if "result" in one]
    assert chosen == [{"outcome": "selected", "optionId": "once"}] * 2
    assert [wish.command for wish in place.told.wishes] == ["echo one > one", "echo two > two"]


async def test_a_refused_command_does_not_run_and_the_prompt_goes_on(place: Place) -> None:
    report = await place.work([{"shell": "touch ran"}, {"say": "Then not."}], permit=place.told.deny)
    assert report.end == "stopped"
    assert not (place.root / "ran").exists()
    assert AgentToolResult("call_1", False, "refused") in place.told.news
    assert AgentText("Then not.") in place.told.news


async def test_a_permission_request_shows_what_is_written_where(place: Place) -> None:
    await place.work([WRITE], permit=place.told.deny)
    assert place.told.wishes == [PermissionRequest("write", "write", "", ("made.txt",), WRITE["write"])]


async def test_a_person_may_take_time_to_answer(place: Place) -> None:
    asked, answered = anyio.Event(), anyio.Event()

    async def ask(wish: PermissionRequest) -> bool:
        asked.set()
        await answered.wait()
        return True

    async def person() -> None:
        await asked.wait()
        assert not (place.root / "made.txt").exists()
        answered.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(person)
        await place.work([WRITE], permit=ask)
    assert (place.root / "made.txt").exists()


async def test_an_error_that_needs_a_person_is_raised_unchanged(place: Place) -> None:
    async def ask(wish: PermissionRequest) -> bool:
        raise NeedsPerson("a question")

    with pytest.raises(NeedsPerson, match="a question"):
        await place.work([WRITE], permit=ask)


async def test_an_exception_in_a_listener_stops_the_agent(place: Place) -> None:
    class Enough(Exception):
        pass

    def hear(happening: AgentEvent) -> None:
        if isinstance(happening, AgentTurn):
            raise Enough

    agent = place.agent([[{"say": "one"}, {"shell": "true"}, {"shell": "touch more"}, {"hang": True}]])
    with pytest.raises(Enough):
        await agent.work(place.task(place.told.allow), hear)
    assert not (place.root / "more").exists()


async def test_unsupported_requests_are_answered_with_an_error(place: Place) -> None:
    for method in ("fs/read_text_file", "terminal/create", "_vendor/thing"):
        await place.work([{"request": {"method": method, "params": {"path": "/etc/passwd"}}}])
    spoken = [one.text for one in place.told.news if isinstance(one, AgentText)]
    assert len(spoken) == 3
    assert all("-32601" in text for text in spoken)


# -- settings before the prompt --


async def test_a_mode_is_set_before_the_task_is_given(place: Place) -> None:
    await place.work([], manner={"mode": "careful"})
    methods = [one["method"] for one in place.told.sent if "method" in one]
    assert methods == ["initialize", "session/new", "session/set_mode", "session/prompt"]
    assert place.told.params("session/set_mode") == [{"sessionId": "fake-1", "modeId": "careful"}]


async def test_the_task_is_not_sent_if_the_required_mode_is_missing(place: Place) -> None:
    report = await place.work([WRITE], manner={"mode": "plan"})
    assert report == AgentReport(end="not_started", detail="it has no mode 'plan'")
    assert not (place.root / "made.txt").exists()


async def test_a_mode_and_a_model_may_be_options_of_the_session(place: Place) -> None:
    group = {"group": "g", "name": "G", "options": [{"value": "fake/small", "name": "Small"}]}
    options = [
        {"id": "m", "category": "mode", "type": "select", "currentValue": "build", "options": [{"value": "ask"}]},
        {"id": "n", "category": "model", "type": "select", "currentValue": "fake/big", "options": [group]},
    ]
    opened = {"session/new": {"result": {"sessionId": "s", "configOptions": options}}}
    opened["session/set_config_option"] = {"result": {}}
    await place.work([], opened, manner={"mode": "ask"}, model="small")
    assert place.told.params("session/set_config_option") == [
        {"sessionId": "s", "configId": "m", "value": "ask"},
        {"sessionId": "s", "configId": "n", "value": "fake/small"},
    ]
    assert place.told.news[0] == AgentStarted("s", "fake/small")


async def test_a_pinned_model_is_set_where_it_is_offered(place: Place) -> None:
    await place.work([], model="other-model")
    assert place.told.params("session/set_model") == [{"sessionId": "fake-1", "modelId": "other-model"}]
    assert place.told.news[0] == AgentStarted("fake-1", "other-model")


async def test_a_model_that_is_not_offered_is_left_to_the_agent(place: Place) -> None:
    await place.work([], model="unheard-of")
    assert place.told.params("session/set_model") == []
    assert place.told.news[0] == AgentStarted("fake-1", "fake-model")


async def test_a_refused_model_is_a_problem_and_the_work_continues(place: Place) -> None:
    report = await place.work([], {"session/set_model": {"error": {"code": 1, "message": "no"}}}, model="other-model")
    assert report.end == "stopped"
    assert AgentProblem("agent", "the model other-model was refused: no") in place.told.news
    assert AgentStarted("fake-1", "fake-model") in place.told.news


async def test_an_mcp_server_is_offered_to_an_agent_that_can_use_it(place: Place) -> None:
    await place.work([{"mcp": True}], manner={"mcp_url": "http://127.0.0.1:1/mcp"})
    (opened,) = place.told.params("session/new")
    server: dict[str, Any] = {"type": "http", "name": "donewhen", "url": "http://127.0.0.1:1/mcp", "headers": []}
    assert opened["mcpServers"] == [server]
    assert AgentToolCall("call_1", "mcp", {"url": "http://127.0.0.1:1/mcp"}) in place.told.news


async def test_an_mcp_server_is_not_offered_to_an_agent_that_cannot_use_it(place: Place) -> None:
    await place.work([], {"initialize": {"result": {"protocolVersion": 1}}}, manner={"mcp_url": "http://127.0.0.1:1/"})
    assert place.told.params("session/new") == [{"cwd": str(place.root), "mcpServers": []}]


# -- resuming --


async def test_a_resumed_conversation_keeps_its_id(place: Place) -> None:
    agent = place.agent([[{"say": "first"}], [{"say": "second"}]])
    await agent.work(place.task(), place.told.happenings.append)
    await agent.work(place.task(conversation="fake-1"), place.told.happenings.append)
    assert [one.text for one in place.told.news if isinstance(one, AgentText)] == ["first", "second"]
    assert [one.conversation for one in place.told.news if isinstance(one, AgentStarted)] == ["fake-1", "fake-1"]
    assert place.told.params("session/resume") == [
        {"sessionId": "fake-1", "cwd": str(place.root), "mcpServers": []},
    ]


async def test_messages_repeated_while_a_conversation_loads_are_not_reported_twice(place: Place) -> None:
    can = {"initialize": {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}}
    agent = place.agent({"invocations": [[], [{"say": "new"}]], "answers": can})
    await agent.work(place.task(conversation="fake-1"), place.told.happenings.append)
    assert len(place.told.params("session/load")) == 1
    assert "told again" in str(place.told.raw)
    assert "and late" in str(place.told.raw)
    assert [one for one in place.told.news if isinstance(one, AgentText | AgentTurn)] == [AgentText("new"), AgentTurn()]


async def test_an_agent_that_cannot_resume_loads_the_conversation(place: Place) -> None:
    missing = {"session/resume": {"error": {"code": -32601, "message": "Method not found"}}}
    agent = place.agent({"invocations": [[], [{"say": "second"}]], "answers": missing})
    await agent.work(place.task(conversation="fake-1"), place.told.happenings.append)
    assert len(place.told.params("session/load")) == 1
    assert AgentText("second") in place.told.news


@pytest.mark.parametrize("can", [{"sessionCapabilities": {"resume": {}}}, {}], ids=["lost", "cannot"])
async def test_a_conversation_that_cannot_be_resumed_becomes_a_new_one(place: Place, can: Any) -> None:
    answers = {
        "initialize": {"result": {"protocolVersion": 1, "agentCapabilities": can}},
        "session/resume": {"error": {"code": -32002, "message": "no such session"}},
    }
    report = await place.work([WRITE], answers, conversation="lost")
    assert report.end == "stopped"
    assert isinstance(place.told.news[0], AgentStarted)
    assert place.told.news[0].conversation == "fake-1"


# -- usage and end --


async def test_tokens_and_cost_are_reported_as_sums(place: Place) -> None:
    used = {"input": 100, "output": 10, "usd": 0.25}
    await place.work([{"usage": used}, {"say": "a"}, {"shell": "true"}])
    totals = [one for one in place.told.news if isinstance(one, AgentTotals)]
    assert totals[-1] == AgentTotals(Usage(200, 20), 0.25)


async def test_values_that_an_agent_does_not_report_stay_unknown(place: Place) -> None:
    await place.work([{"say": "a"}])
    assert not any(isinstance(one, AgentTotals) for one in place.told.news)


@pytest.mark.parametrize(
    ("reason", "heard"),
    [
        ("end_turn", AgentStopped("")),
        ("max_tokens", AgentProblem("limit", "the agent stopped at its token limit")),
        ("max_turn_requests", AgentProblem("limit", "the agent stopped at its turn limit")),
        ("refusal", AgentProblem("agent", "the model refused to continue")),
        ("cancelled", AgentProblem("agent", "the agent reports that it was cancelled")),
        ("boredom", AgentProblem("agent", "the agent stopped for an unknown reason: 'boredom'")),
    ],
)
async def test_every_stop_reason_is_reported_as_such(place: Place, reason: str, heard: AgentEvent) -> None:
    report = await place.work([], {"session/prompt": {"result": {"stopReason": reason}}})
    assert report.end == "stopped"
    assert place.told.news[-1] == heard


async def test_a_refused_key_is_reported_as_a_sign_in_problem(place: Place) -> None:
    report = await place.work([{"say": "trying"}, {"unauthorized": True}])
    assert report == AgentReport(end="stopped", detail="API Error: 401 invalid x-api-key")
    assert place.told.news[-1] == AgentProblem("sign_in", "API Error: 401 invalid x-api-key")
    assert AgentText("trying") in place.told.news


@pytest.mark.parametrize(
    ("error", "heard"),
    [
        ({"code": -32603, "message": "Internal error"}, AgentProblem("agent", "Internal error")),
        (
            {"code": -32603, "message": "Internal error", "data": {"details": "invalid\nAPI key"}},
            AgentProblem("sign_in", "Internal error: invalid API key"),
        ),
        (
            {"code": 429, "message": "Too many", "data": "usage limit reached"},
            AgentProblem("quota", "Too many: usage limit reached"),
        ),
        ("no object", AgentProblem("agent", "no object")),
        ({}, AgentProblem("agent", "an error without a message")),
    ],
)
async def test_an_error_of_the_agent_is_reported_with_its_details(
    place: Place, error: Any, heard: AgentProblem
) -> None:
    await place.work([], {"session/prompt": {"error": error}})
    assert place.told.news[-1] == heard
