"""Streams of Claude Code, recorded from version 2.1.197."""

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

TURN = AgentTurn(Usage(100, 1), None, "scripted")
"""What is known of a turn at its start: all of its input, almost nothing of its output."""
WRITE = {"file_path": "/repo/hello.txt", "content": "hi\n"}


def test_a_success_is_reported_turn_by_turn_and_summed_up_at_the_end() -> None:
    began, *rest = heard("claude", bytes_of("claude", "success"))
    assert isinstance(began, AgentStarted)
    assert len(began.conversation) == 36
    head_bytes = next(one.text for one in rest if isinstance(one, AgentToolResult))
    assert head_bytes.startswith("File created successfully at: /repo/hello.txt")
    assert rest == [
        TURN,
        AgentText("I write the file."),
        AgentToolCall("call_0_0", "Write", WRITE),
        AgentToolResult("call_0_0", True, head_bytes),
        TURN,
        AgentToolCall("call_1_0", "Bash", {"command": "cat hello.txt", "description": "read"}),
        AgentToolCall("call_1_1", "Bash", {"command": "false", "description": "fail"}),
        *sorted((one for one in rest if isinstance(one, AgentToolResult) and one.id != "call_0_0"), key=rest.index),
        TURN,
        AgentText("All done."),
        AgentTotals(Usage(300, 30), 0.0022500000000000003),
        AgentStopped("All done."),
    ]
    assert {one for one in rest if isinstance(one, AgentToolResult)} >= {
        AgentToolResult("call_1_0", True, "hi"),
        AgentToolResult("call_1_1", False, "Exit code 1"),
    }


def test_a_denied_write_is_a_failed_call_in_a_successful_run() -> None:
    happened = heard("claude", bytes_of("claude", "denied"))
    first = next(one for one in happened if isinstance(one, AgentToolResult))
    assert (first.id, first.ok) == ("call_0_0", False)
    assert "haven't granted" in first.text
    assert isinstance(happened[-1], AgentStopped)


def test_a_refused_key_is_a_problem_although_its_subtype_says_success() -> None:
    _, *rest = heard("claude", bytes_of("claude", "unauthorized"), exit_code=1)
    assert rest == [AgentProblem("sign_in", "Invalid API key · Fix external API key")]


def test_a_missing_sign_in_is_reported_as_such() -> None:
    _, *rest = heard("claude", bytes_of("claude", "not_signed_in"), exit_code=1)
    assert rest == [AgentProblem("sign_in", "Not logged in · Please run /login")]


def test_an_empty_balance_is_reported_as_a_quota() -> None:
    _, *rest = heard("claude", bytes_of("claude", "quota"), exit_code=1)
    assert rest == [AgentProblem("quota", "Credit balance is too low")]


def test_a_rate_limit_says_when_it_ends() -> None:
    limited = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1794900000}}
    ended = {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429, "result": "no more"}
    printed = b"".join(json.dumps(one).encode() + b"\n" for one in (limited, ended))
    assert heard("claude", printed, 1) == [AgentProblem("quota", "no more", "2026-11-17T07:20:00Z")]


def test_the_agent_s_own_turn_limit_is_a_limit_and_not_a_success() -> None:
    happened = heard("claude", bytes_of("claude", "turns"), exit_code=1)
    assert happened[-2:] == [
        AgentTotals(Usage(100, 10), 0.00075),
        AgentProblem("limit", "Reached maximum number of turns (1)"),
    ]


def test_while_a_command_runs_in_the_background_a_result_is_not_the_end() -> None:
    happened = heard("claude", bytes_of("claude", "background"))
    assert [one for one in happened if isinstance(one, AgentStarted | AgentTurn | AgentTotals | AgentStopped)][1:] == [
        TURN,
        TURN,
        AgentTotals(Usage(200, 20), 0.0015),
        TURN,
        AgentTotals(Usage(300, 30), 0.0022500000000000003),
        AgentStopped("Now it is there."),
    ]


def test_a_lost_conversation_is_reported_as_a_problem_only() -> None:
    happened = heard("claude", bytes_of("claude", "no_such_conversation"), exit_code=1, stderr="No conversation found")
    assert [type(one) for one in happened] == [AgentProblem]


def test_a_stream_cut_inside_a_line_reports_no_end() -> None:
    printed = bytes_of("claude", "success")
    happened = heard("claude", printed[: printed.index(b'"subtype":"success"')], exit_code=None)
    assert not [one for one in happened if isinstance(one, AgentStopped | AgentTotals | AgentProblem)]
    assert happened[-1] == AgentText("All done.")


def test_an_exit_without_a_result_is_not_a_success() -> None:
    assert heard("claude", b"", exit_code=0) == [AgentProblem("agent", "it ended without reporting a result")]


def test_text_of_a_sub_agent_is_not_the_agent_s_own() -> None:
    message = {"id": "m", "model": "x", "content": [{"type": "text", "text": "sub"}], "usage": {"input_tokens": 5}}
    printed = json.dumps({"type": "assistant", "parent_tool_use_id": "call", "message": message}).encode()
    assert heard("claude", printed, exit_code=None) == [AgentTurn(Usage(5), None, "x")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("claude", values, text, code)
