"""Protocol updates as events: turns, calls, text, cost; and any message of an agent."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.external.acp.client import permission_answer, permission_request
from donewhen.engines.external.acp.updates import UpdateReader, usage_of
from donewhen.engines.external.agent import PermissionRequest
from donewhen.engines.external.agent_events import (
    AgentEvent,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)
from donewhen.model.interface import Usage
from tiers import examples

WORDS = ("sessionUpdate", "toolCallId", "status", "rawInput", "content", "cost", "amount", "kind", "text", "usage")
KINDS = (
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "usage_update",
    "completed",
    "USD",
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(KINDS)
NESTED = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.sampled_from(WORDS), NESTED, max_size=5)


def said(text: str) -> Mapping[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def call(id: str, **fields: Any) -> Mapping[str, Any]:
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": id,
        "title": id,
        "kind": "execute",
        "status": "pending",
    } | fields


def news(id: str, **fields: Any) -> Mapping[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": id, **fields}


def done(id: str) -> Mapping[str, Any]:
    return news(id, status="completed", content=[{"type": "content", "content": {"type": "text", "text": "ok"}}])


def heard(updates: Sequence[Mapping[str, Any]], result: Mapping[str, Any] | None = None) -> list[AgentEvent]:
    reader = UpdateReader()
    happenings = [one for update in updates for one in reader.update(update)]
    return [*happenings, *(reader.end(result) if result is not None else reader.end_early())]


def turns(updates: Sequence[Mapping[str, Any]]) -> int:
    return sum(isinstance(one, AgentTurn) for one in heard(updates))


# -- turns --


TURNS: dict[str, tuple[list[Mapping[str, Any]], int]] = {
    "nothing": ([], 0),
    "words": ([said("a"), said("b")], 1),
    "a call between words": ([said("a"), call("1"), done("1"), said("b")], 2),
    "calls in a row": ([call("1"), done("1"), call("2"), done("2")], 2),
    "calls side by side": ([call("1"), call("2"), done("1"), done("2"), said("a")], 2),
    "a call that never returns": ([call("1"), call("2"), done("1"), said("a")], 2),
    "a thought before": ([{"sessionUpdate": "agent_thought_chunk"}, said("a"), call("1"), done("1")], 1),
    "told twice": ([call("1"), done("1"), done("1"), news("1", title="late")], 1),
    "no output": ([{"sessionUpdate": "plan", "entries": []}, {"sessionUpdate": "available_commands_update"}], 0),
    "only begun": ([call("1")], 1),
}


@pytest.mark.parametrize(("updates", "count"), TURNS.values(), ids=list(TURNS))
def test_a_turn_is_the_model_output_up_to_the_results_of_its_calls(updates: Any, count: int) -> None:
    assert turns(updates) == count


def test_a_turn_is_over_only_when_all_its_calls_have_returned() -> None:
    reader = UpdateReader()
    for update in (call("1"), call("2")):
        list(reader.update(update))
    assert not any(isinstance(one, AgentTurn) for one in reader.update(done("1")))
    assert list(reader.update(done("2")))[-1] == AgentTurn()


# -- calls --


def test_a_call_is_reported_when_its_input_is_known() -> None:
    updates = [call("1", rawInput={}), news("1", title="`ls`", rawInput={"command": "ls"}), done("1")]
    assert heard(updates)[:2] == [AgentToolCall("1", "execute", {"command": "ls"}), AgentToolResult("1", True, "ok")]


def test_a_call_without_input_is_reported_when_it_runs() -> None:
    updates = [call("1", kind="edit", status="in_progress", title="Write a", locations=[{"path": "/r/a"}])]
    assert heard(updates)[0] == AgentToolCall("1", "edit", {"title": "Write a", "paths": ["/r/a"]})


def test_a_call_of_an_unknown_kind_is_named_by_its_title() -> None:
    assert heard([call("1", kind="other", title="ping\nmore", rawInput={"a": 1})])[0] == AgentToolCall(
        "1", "ping", {"a": 1}
    )


def test_content_of_a_permission_request_is_not_the_result_of_the_call() -> None:
    reader = UpdateReader()
    shown = [{"type": "content", "content": {"type": "text", "text": "would run in /r"}}]
    asked = list(reader.permission_asked({"toolCallId": "1", "kind": "execute", "title": "ls", "content": shown}))
    assert asked == [AgentToolCall("1", "execute", {"title": "ls"})]
    assert next(iter(reader.update(news("1", status="completed", content=[])))) == AgentToolResult("1", True, "")


def test_a_refused_call_without_updates_has_failed_before_the_next_text() -> None:
    reader = UpdateReader()
    list(reader.permission_asked({"toolCallId": "1", "kind": "edit"}))
    reader.mark_refused("1")
    assert list(reader.update(said("Then not."))) == [AgentToolResult("1", False, "refused"), AgentTurn()]
    assert list(reader.end_early()) == [AgentText("Then not."), AgentTurn()]


def test_a_refused_call_with_updates_fails_with_their_text() -> None:
    reader = UpdateReader()
    list(reader.permission_asked({"toolCallId": "1", "kind": "edit"}))
    reader.mark_refused("1")
    came = list(reader.update(news("1", status="failed", rawOutput="you said no")))
    assert came == [AgentToolResult("1", False, "you said no"), AgentTurn()]


def test_command_output_may_arrive_as_terminal_chunks() -> None:
    pieces = [news("1", _meta={"terminal_output_delta": {"data": piece}}) for piece in ("o", "ut\n")]
    updates = [call("1", status="in_progress"), *pieces, news("1", status="failed")]
    assert AgentToolResult("1", False, "out\n") in heard(updates)


def test_the_result_of_a_call_becomes_text_in_any_form() -> None:
    forms: list[tuple[dict[str, Any], str]] = [
        ({"rawOutput": "plain"}, "plain"),
        ({"rawOutput": {"output": "é"}}, '{"output": "é"}'),
        ({"rawOutput": "wrote it", "content": [{"type": "diff", "path": "/r/a"}]}, "wrote it"),
        ({"content": [{"type": "diff", "path": "/r/a", "newText": "x"}]}, "not changed: /r/a"),
        ({"content": [{"type": "terminal", "terminalId": "t"}]}, ""),
        ({}, ""),
    ]
    for fields, text in forms:
        assert AgentToolResult("1", False, text) in heard([call("1"), news("1", status="failed", **fields)])


def test_text_interrupted_by_a_call_is_reported_as_a_whole() -> None:
    updates = [said("I "), said("look."), call("1"), done("1"), said("Done.")]
    assert [one.text for one in heard(updates) if isinstance(one, AgentText)] == ["I look.", "Done."]


# -- tokens and cost --


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        ({"inputTokens": 10, "outputTokens": 2, "totalTokens": 12}, Usage(10, 2)),
        ({"inputTokens": 10, "outputTokens": 2, "totalTokens": 12, "cachedReadTokens": 4}, Usage(10, 2, 4)),
        (
            {"inputTokens": 10, "outputTokens": 2, "totalTokens": 17, "cachedReadTokens": 4, "cachedWriteTokens": 1},
            Usage(15, 2, 4, 1),
        ),
        ({"inputTokens": 10, "outputTokens": 2, "totalTokens": 15, "thoughtTokens": 3}, Usage(10, 5)),
        ({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "thoughtTokens": 3}, Usage(10, 5)),
        ({"inputTokens": -1, "outputTokens": "2", "totalTokens": None}, Usage()),
    ],
)
def test_the_total_decides_whether_cached_and_thinking_tokens_are_separate(told: Any, usage: Usage) -> None:
    assert usage_of({"usage": told}) == usage


def test_tokens_may_be_reported_as_a_quota() -> None:
    quota = {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 3}}}
    assert usage_of({"_meta": quota}) == Usage(7, 3)
    assert usage_of({"stopReason": "end_turn"}) is None


def test_what_a_conversation_cost_before_is_not_counted_again() -> None:
    reader = UpdateReader(usd_before=0.5)
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.75, "currency": "USD"}}
    assert list(reader.update(update)) == [AgentTotals(None, 0.25)]


@pytest.mark.parametrize(
    "cost", [{"amount": 1, "currency": "EUR"}, {"amount": True, "currency": "USD"}, {}, None, 10**400]
)
def test_another_currency_is_not_read_as_dollars(cost: Any) -> None:
    assert heard([{"sessionUpdate": "usage_update", "cost": cost}]) == []


# -- permission --


@pytest.mark.parametrize(
    ("asked", "wish"),
    [
        (
            {"kind": "execute", "title": "ls", "rawInput": {"command": "ls -l"}},
            PermissionRequest("ls", "execute", "ls -l"),
        ),
        ({"kind": "execute", "title": "`rm -rf /`"}, PermissionRequest("`rm -rf /`", "execute", "rm -rf /")),
        (
            {"kind": "execute", "rawInput": {"command": ["sh", "-c", "a b"]}},
            PermissionRequest("execute", "execute", "sh -c 'a b'"),
        ),
        ({"title": "odd", "rawInput": {"cmd": "ls"}}, PermissionRequest("odd", "execute", "ls")),
        ({"kind": "delete", "locations": [{"path": "/r/a"}]}, PermissionRequest("delete", "write", "", ("/r/a",))),
        (
            {"kind": "edit", "content": [{"type": "diff", "path": "/r/b"}]},
            PermissionRequest("edit", "write", "", ("/r/b",)),
        ),
        ({"kind": "search", "rawInput": {"path": "/r"}}, PermissionRequest("search", "read", "", ("/r",))),
        ({"kind": "fetch", "title": "get"}, PermissionRequest("get", "fetch")),
        ({"kind": "switch_mode"}, PermissionRequest("switch_mode", "other")),
        ({}, PermissionRequest("tool", "other")),
    ],
)
def test_a_permission_request_is_read_from_any_of_its_forms(asked: Mapping[str, Any], wish: PermissionRequest) -> None:
    assert permission_request(asked) == PermissionRequest(
        wish.tool, wish.kind, wish.command, wish.paths, asked.get("rawInput", {})
    )


OPTION = st.fixed_dictionaries(
    {
        "optionId": st.text(max_size=3),
        "kind": st.sampled_from(["allow_once", "allow_always", "reject_once", "reject_always", "odd"]),
    }
)


@given(st.lists(OPTION, max_size=6), st.booleans())
def test_no_answer_permits_more_than_one_call_or_breaks_the_policy(options: Any, granted: bool) -> None:
    outcome = permission_answer(options, granted)["outcome"]
    if outcome["outcome"] == "selected":
        kinds = {one["kind"] for one in options if one["optionId"] == outcome["optionId"]}
        assert kinds & ({"allow_once"} if granted else set()) or kinds & {"reject_once", "reject_always"}


def test_a_request_that_offers_only_permanent_permission_is_refused() -> None:
    always = {"optionId": "a", "kind": "allow_always"}
    assert permission_answer([always], True) == {"outcome": {"outcome": "cancelled"}}
    refusal = {"optionId": "r", "kind": "reject_once"}
    assert permission_answer([always, refusal], True) == {"outcome": {"outcome": "selected", "optionId": "r"}}


# -- any message --


@settings(max_examples=examples(50))
@given(st.lists(OBJECTS, max_size=4), OBJECTS)
def test_no_message_of_an_agent_makes_the_reader_raise(updates: Any, result: Any) -> None:
    reader = UpdateReader()
    for update in updates:
        list(reader.update(update))
        list(reader.permission_asked(update))
        permission_request(update)
    happenings = list(reader.end(result))
    called = [one.id for one in happenings if isinstance(one, AgentToolCall)]
    assert len(called) == len(set(called))
