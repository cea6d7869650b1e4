"""Streams of Qwen Code, recorded from version 0.15.10."""

import json
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

TURN = AgentTurn(Usage(100, 10), None, "scripted")
CAT = {"command": "cat hello.txt", "description": "read", "is_background": False}
FALSE = {"command": "false", "description": "fail", "is_background": False}


def test_a_turn_is_counted_once_for_any_number_of_chunks() -> None:
    began, *rest = heard("qwen", bytes_of("qwen", "success"))
    assert isinstance(began, AgentStarted)
    assert began.model == "scripted"
    assert rest == [
        AgentText("I write the file."),
        TURN,
        AgentToolCall("call_0_0", "write_file", {"file_path": "/repo/hello.txt", "content": "hi\n"}),
        AgentToolResult("call_0_0", True, "Successfully created and wrote to new file: /repo/hello.txt."),
        TURN,
        AgentToolCall("call_1_0", "run_shell_command", CAT),
        AgentToolCall("call_1_1", "run_shell_command", FALSE),
        AgentToolResult("call_1_0", True, "hi"),
        AgentToolResult("call_1_1", True, "Command exited with code: 1"),
        TURN,
        AgentText("All done."),
        AgentTotals(Usage(300, 30)),
        AgentStopped("All done."),
    ]


def test_a_denied_command_is_a_failed_call_in_a_successful_run() -> None:
    happened = heard("qwen", bytes_of("qwen", "denied"))
    assert [(one.id, one.ok) for one in happened if isinstance(one, AgentToolResult)] == [
        ("call_0_0", True),
        ("call_1_0", False),
        ("call_1_1", False),
    ]
    assert happened[-1] == AgentStopped("All done.")


def test_a_refused_key_is_a_problem_although_everything_says_success() -> None:
    _, *rest = heard("qwen", bytes_of("qwen", "unauthorized"), exit_code=0)
    assert rest == [AgentProblem("sign_in", "401 Incorrect API key provided")]


def test_model_text_that_looks_like_an_error_is_text() -> None:
    says = {"type": "text", "text": "[API Error: 401 no]"}
    message = {"model": "x", "content": [says], "usage": {"input_tokens": 3, "output_tokens": 2}}
    result = {"type": "result", "subtype": "success", "result": says["text"], "usage": message["usage"]}
    printed = b"\n".join(json.dumps(one).encode() for one in ({"type": "assistant", "message": message}, result))
    assert heard("qwen", printed) == [
        AgentTurn(Usage(3, 2), None, "x"),
        AgentText("[API Error: 401 no]"),
        AgentTotals(Usage(3, 2)),
        AgentStopped("[API Error: 401 no]"),
    ]


def test_the_agent_s_own_turn_limit_is_known_only_from_its_exit_code() -> None:
    happened = heard("qwen", bytes_of("qwen", "turns"), exit_code=53, stderr="Reached max session turns")
    assert happened[-1] == AgentProblem("limit", "Reached max session turns")
    assert not [one for one in happened if isinstance(one, AgentStopped)]


def test_a_turn_without_usage_is_counted() -> None:
    message = {"model": "x", "content": [{"type": "tool_use", "id": "c", "name": "edit"}]}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "ok"}]}
    told = ({"type": "assistant", "message": message}, {"type": "user", "message": {"content": [result]}})
    printed = b"\n".join(json.dumps(one).encode() for one in told)
    assert heard("qwen", printed, None) == [
        AgentToolCall("c", "edit", {}),
        AgentTurn(None, None, "x"),
        AgentToolResult("c", True, "ok"),
    ]


def test_a_stream_cut_inside_a_line_reports_no_end() -> None:
    printed = bytes_of("qwen", "success")
    happened = heard("qwen", printed[: printed.index(b'"result":"All done."')], exit_code=None)
    assert not [one for one in happened if isinstance(one, AgentStopped | AgentTotals | AgentProblem)]


def test_an_exit_without_a_result_is_not_a_success() -> None:
    assert heard("qwen", b"", exit_code=0) == [AgentProblem("agent", "it ended without reporting a result")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("qwen", values, text, code)
