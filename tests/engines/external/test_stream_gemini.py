"""Streams of Gemini CLI, recorded from version 0.61.0."""

from typing import Any

import pytest
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


def test_a_success_is_reported_turn_by_turn_with_sums_at_the_end() -> None:
    began, *rest = heard("gemini", bytes_of("gemini", "success"))
    assert isinstance(began, AgentStarted)
    assert began.conversation
    assert began.model == "gemini-2.5-pro"
    assert rest == [
        AgentText("I will write it."),
        AgentToolCall("write_file__call_0_0", "write_file", {"file_path": "/repo/hello.txt", "content": "hello\n"}),
        AgentToolResult("write_file__call_0_0", True, ""),
        AgentTurn(),
        AgentToolCall("run_shell_command__call_1_0", "run_shell_command", {"command": "cat nothing-here"}),
        AgentToolCall("run_shell_command__call_1_1", "run_shell_command", {"command": "echo a"}),
        AgentToolResult("run_shell_command__call_1_0", True, "cat: nothing-here: No such file or directory"),
        AgentToolResult("run_shell_command__call_1_1", True, "a"),
        AgentTurn(),
        AgentText("It is written."),
        AgentTurn(),
        AgentTotals(Usage(300, 30)),
        AgentStopped("It is written."),
    ]


def test_a_continued_conversation_keeps_its_id() -> None:
    began, *_ = heard("gemini", bytes_of("gemini", "success"))
    again, *rest = heard("gemini", bytes_of("gemini", "resumed"))
    assert isinstance(began, AgentStarted)
    assert isinstance(again, AgentStarted)
    assert rest == [AgentText("Again."), AgentTurn(), AgentTotals(Usage(100, 10)), AgentStopped("Again.")]


def test_a_refused_key_is_one_problem_for_any_exit_code() -> None:
    _, complained = heard("gemini", bytes_of("gemini", "unauthorized"), exit_code=145)
    assert isinstance(complained, AgentProblem)
    assert complained.kind == "sign_in"


def test_the_agent_s_own_turn_limit_is_reported_as_a_limit() -> None:
    happened = heard("gemini", bytes_of("gemini", "turns"), exit_code=53)
    assert len([one for one in happened if isinstance(one, AgentTurn)]) == 3
    [complained] = [one for one in happened if isinstance(one, AgentProblem)]
    assert complained.kind == "limit"


@pytest.mark.parametrize(
    ("exit_code", "trouble"), [(41, "sign_in"), (145, "sign_in"), (147, "sign_in"), (173, "quota"), (53, "limit")]
)
def test_exit_codes_decide_if_the_stream_gave_no_reason(exit_code: int, trouble: str) -> None:
    [complained] = heard("gemini", b"", exit_code=exit_code)
    assert isinstance(complained, AgentProblem)
    assert complained.kind == trouble


def test_a_failed_tool_call_gives_the_reason() -> None:
    result = b'{"type":"tool_result","tool_id":"a","status":"error","error":{"type":"x","message":"not allowed"}}\n'
    assert heard("gemini", result, exit_code=None) == [AgentToolResult("a", False, "not allowed")]


def test_thinking_tokens_count_as_output() -> None:
    stats = b'"stats":{"total_tokens":150,"input_tokens":100,"output_tokens":10,"cached":60}'
    [totalled, _] = heard("gemini", b'{"type":"result","status":"success",' + stats + b"}")
    assert totalled == AgentTotals(Usage(100, 50, 60))


def test_a_stream_cut_inside_a_line_reports_no_end() -> None:
    printed = bytes_of("gemini", "success")
    happened = heard("gemini", printed[: printed.index(b'"status":"success"')], exit_code=None)
    assert [type(one) for one in happened] == [AgentStarted, AgentText, AgentToolCall, AgentTurn]


def test_an_exit_without_a_final_message_is_a_problem() -> None:
    assert heard("gemini", b"", exit_code=0) == [AgentProblem("agent", "it ended without reporting a result")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("gemini", values, text, code)
