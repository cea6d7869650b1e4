"""Streams of pi, recorded from version 0.74.2."""

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

TURN = AgentTurn(Usage(100, 10), 0.00011999999999999999, "scripted")


def test_a_success_is_reported_turn_by_turn_with_its_price() -> None:
    began, *rest = heard("pi", bytes_of("pi", "success"))
    assert isinstance(began, AgentStarted)
    assert rest == [
        TURN,
        AgentText("I write the file."),
        AgentToolCall("call_0_0", "write", {"path": "hello.txt", "content": "hi\n"}),
        AgentToolResult("call_0_0", True, "Successfully wrote 3 bytes to hello.txt"),
        TURN,
        AgentToolCall("call_1_0", "bash", {"command": "cat hello.txt"}),
        AgentToolCall("call_1_1", "bash", {"command": "false"}),
        AgentToolResult("call_1_0", True, "hi\n"),
        AgentToolResult("call_1_1", False, "(no output)\n\nCommand exited with code 1"),
        TURN,
        AgentText("All done."),
    ]


def test_a_refused_key_is_a_problem_although_the_exit_code_is_zero() -> None:
    _, *rest = heard("pi", bytes_of("pi", "unauthorized"), exit_code=0)
    assert rest == [AgentProblem("sign_in", "401 Incorrect API key provided")]


def test_a_retried_error_is_reported_once_after_the_last_retry() -> None:
    _, *rest = heard("pi", bytes_of("pi", "quota"), exit_code=0)
    assert rest == [AgentProblem("quota", "429 You exceeded your current quota")]


def test_an_error_fixed_by_a_retry_is_not_reported() -> None:
    failed = bytes_of("pi", "quota").partition(b'{"type":"auto_retry_start"')[0]
    again = b'{"type":"auto_retry_start","attempt":1}\n'
    worked = bytes_of("pi", "success").partition(b"\n")[2]
    happened = heard("pi", failed + again + worked)
    assert [one for one in happened if isinstance(one, AgentTurn)] == [TURN] * 3
    assert not [one for one in happened if isinstance(one, AgentProblem)]


def test_a_price_of_zero_counts_as_unknown() -> None:
    printed = bytes_of("pi", "success").replace(b'"total":0.00011999999999999999', b'"total":0')
    assert {one.usd for one in heard("pi", printed) if isinstance(one, AgentTurn)} == {None}


def test_a_stream_cut_inside_a_line_reports_no_end() -> None:
    printed = bytes_of("pi", "success")
    happened = heard("pi", printed[: printed.index(b'"type":"tool_execution_end"')], exit_code=None)
    assert happened[-1] == AgentToolCall("call_0_0", "write", {"path": "hello.txt", "content": "hi\n"})


def test_a_program_that_does_not_start_gives_the_reason() -> None:
    assert heard("pi", b"", exit_code=1, stderr="No API key found") == [AgentProblem("sign_in", "No API key found")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("pi", values, text, code)
