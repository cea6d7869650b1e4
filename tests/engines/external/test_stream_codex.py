"""Streams of Codex, recorded from version 0.166.0."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from streamed import anything, bytes_of, claims, heard

from donewhen.engines.external.agent_events import (
    AgentProblem,
    AgentStarted,
    AgentStopped,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)
from donewhen.model.interface import Usage
from tiers import examples

MISSING = "cat: nothing-here: No such file or directory\n"


def test_a_success_is_told_turn_by_turn_with_the_sums_at_its_end() -> None:
    began, *rest = heard("codex", bytes_of("codex", "success"))
    assert isinstance(began, AgentStarted)
    assert began.conversation
    assert rest == [
        AgentText("I will write it."),
        AgentToolCall("item_2", "shell", {"command": "/bin/bash -lc 'printf hello > hello.txt && cat hello.txt'"}),
        AgentToolResult("item_2", True, "hello"),
        AgentTurn(),
        AgentToolCall("item_3", "shell", {"command": "/bin/bash -lc 'cat nothing-here'"}),
        AgentToolResult("item_3", False, MISSING),
        AgentTurn(),
        AgentText("It is written."),
        AgentTurn(),
        AgentTotals(Usage(300, 30), with_earlier=True),
        AgentStopped("It is written."),
    ]


def test_files_that_are_changed_are_a_call_of_a_tool() -> None:
    changes = [{"path": "/repo/hello.txt", "kind": "add"}]
    happened = heard("codex", bytes_of("codex", "changes"))
    assert happened[1:3] == [
        AgentToolCall("item_1", "file_change", {"changes": changes}),
        AgentToolResult("item_1", True, "add /repo/hello.txt"),
    ]


def test_calls_of_one_answer_that_run_one_after_the_other_count_as_several_turns() -> None:
    turns = [one for one in heard("codex", bytes_of("codex", "changes")) if isinstance(one, AgentTurn)]
    assert len(turns) == 4  # of four requests, the third of which called a tool that it does not have


def test_calls_that_run_together_are_one_turn() -> None:
    started = b'{"type":"item.started","item":{"id":"%s","type":"command_execution","command":"x"}}\n'
    done = b'{"type":"item.completed","item":{"id":"%s","type":"command_execution","exit_code":0}}\n'
    happened = heard("codex", started % b"a" + started % b"b" + done % b"b" + done % b"a", exit_code=None)
    assert [type(one) for one in happened] == [
        AgentToolCall,
        AgentToolCall,
        AgentToolResult,
        AgentToolResult,
        AgentTurn,
    ]


def test_a_refused_key_is_one_complaint_after_the_last_try() -> None:
    _, *rest = heard("codex", bytes_of("codex", "unauthorized"), exit_code=1)
    assert [(one.trouble, one.message[:30]) for one in rest if isinstance(one, AgentProblem)] == [
        ("sign_in", "unexpected status 401 Unauthor")
    ]


def test_a_quota_that_is_used_up_is_told_as_one() -> None:
    _, *rest = heard("codex", bytes_of("codex", "quota"), exit_code=1)
    assert rest == [AgentProblem("quota", "Quota exceeded. Check your plan and billing details.")]


def test_an_error_that_a_later_try_mended_is_not_told() -> None:
    failed, _, _ = bytes_of("codex", "unauthorized").partition(b'{"type":"error","message":"unexpected')
    happened = heard("codex", failed + bytes_of("codex", "success"))
    assert not [one for one in happened if isinstance(one, AgentProblem)]
    assert happened[-1] == AgentStopped("It is written.")


def test_the_sums_of_a_conversation_that_goes_on_are_those_of_all_of_it() -> None:
    """So it prints them: 850 tokens were of the invocation before."""
    _, *rest = heard("codex", bytes_of("codex", "resumed"))
    assert rest == [
        AgentText("Again."),
        AgentTurn(),
        AgentTotals(Usage(900, 60), with_earlier=True),
        AgentStopped("Again."),
    ]


def test_a_call_that_an_mcp_server_refused_has_failed() -> None:
    item = b'{"id":"m","type":"mcp_tool_call","server":"donewhen","tool":"verify","arguments":{"a":1},'
    item += b'"result":null,"error":{"message":"requires approval"},"status":"failed"}'
    happened = heard("codex", b'{"type":"item.completed","item":' + item + b"}\n", exit_code=None)
    assert happened[:2] == [
        AgentToolCall("m", "donewhen.verify", {"a": 1}),
        AgentToolResult("m", False, "requires approval"),
    ]


def test_a_stream_that_breaks_off_in_a_line_ends_nothing() -> None:
    printed = bytes_of("codex", "success")
    happened = heard("codex", printed[: printed.index(b'"aggregated_output":"hello"')], exit_code=None)
    assert isinstance(happened[-2], AgentToolCall)
    assert happened[-1] == AgentTurn()


def test_an_exit_without_a_word_about_the_end_is_a_complaint() -> None:
    assert heard("codex", b"", exit_code=0) == [AgentProblem("agent", "it ended without reporting a result")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60), deadline=None)
def test_whatever_is_printed_nothing_is_raised_and_nothing_ended(values: list[Any], text: str, code: int) -> None:
    assert not claims("codex", values, text, code)
