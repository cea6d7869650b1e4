"""Streams of opencode, recorded from version 1.18.33."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from streamed import anything, bytes_of, claims, heard

from donewhen.engines.external.agent_events import (
    AgentProblem,
    AgentStarted,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTurn,
)
from donewhen.model.interface import Usage
from tiers import examples

TURN = AgentTurn(Usage(100, 10))


def test_a_success_is_reported_step_by_step() -> None:
    began, *rest = heard("opencode", bytes_of("opencode", "success"))
    assert isinstance(began, AgentStarted)
    assert began.conversation.startswith("ses_")
    assert rest == [
        AgentText("I will write it."),
        AgentToolCall("call_0_0", "write", {"filePath": "/repo/hello.txt", "content": "hello\n"}),
        AgentToolResult("call_0_0", True, "Wrote file successfully."),
        TURN,
        AgentToolCall("call_1_1", "bash", {"command": "touch made", "description": "make"}),
        AgentToolResult("call_1_1", True, "(no output)"),
        AgentToolCall("call_1_0", "bash", {"command": "cat nothing-here", "description": "look"}),
        AgentToolResult("call_1_0", False, "cat: nothing-here: No such file or directory\n"),
        TURN,
        AgentText("It is written."),
        TURN,
    ]


def test_a_refused_key_is_a_problem() -> None:
    _, *rest = heard("opencode", bytes_of("opencode", "unauthorized"), exit_code=1)
    assert rest == [AgentProblem("sign_in", "Incorrect API key provided")]


def test_a_denied_tool_call_has_failed_although_the_exit_code_is_zero() -> None:
    happened = heard("opencode", bytes_of("opencode", "denied"), exit_code=0)
    assert {one.ok for one in happened if isinstance(one, AgentToolResult)} == {False}
    assert len([one for one in happened if isinstance(one, AgentTurn)]) == 3


def test_a_price_of_zero_counts_as_unknown() -> None:
    printed = bytes_of("opencode", "success")
    assert {one.usd for one in heard("opencode", printed) if isinstance(one, AgentTurn)} == {None}
    priced = printed.replace(b'"cost":0}', b'"cost":0.25}')
    assert {one.usd for one in heard("opencode", priced) if isinstance(one, AgentTurn)} == {0.25}


def test_cached_tokens_count_as_input_and_thinking_tokens_as_output() -> None:
    tokens = b'{"input":5,"output":6,"reasoning":7,"cache":{"write":20,"read":30}}'
    [turn] = heard("opencode", b'{"type":"step_finish","part":{"tokens":' + tokens + b',"cost":0}}')
    assert turn == AgentTurn(Usage(55, 13, 30, 20))


def test_a_stream_cut_inside_a_line_reports_no_end() -> None:
    printed = bytes_of("opencode", "success")
    happened = heard("opencode", printed[: printed.index(b'"type":"step-finish"')], exit_code=None)
    assert happened[-1] == AgentToolResult("call_0_0", True, "Wrote file successfully.")


def test_an_exit_without_a_step_is_a_problem() -> None:
    assert heard("opencode", b"", exit_code=0, stderr="no such model") == [AgentProblem("agent", "no such model")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("opencode", values, text, code)
