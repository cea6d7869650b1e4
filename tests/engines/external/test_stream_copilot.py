"""Streams of the Copilot CLI, recorded from version 1.0.102."""

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
from tiers import examples

TURN = AgentTurn(None, None, "scripted")


def test_a_success_is_reported_turn_by_turn_and_names_its_conversation_last() -> None:
    *happened, named, ended = heard("copilot", bytes_of("copilot", "success"))
    assert happened == [
        AgentStarted("", "scripted"),
        TURN,
        AgentText("I write the file."),
        AgentToolCall("call_0_0", "create", {"path": "/repo/hello.txt", "file_text": "hi\n"}),
        AgentToolResult("call_0_0", True, "Created file /repo/hello.txt with 3 characters"),
        TURN,
        AgentToolCall("call_1_0", "bash", {"command": "cat hello.txt", "description": "read"}),
        AgentToolCall("call_1_1", "bash", {"command": "false", "description": "fail"}),
        AgentToolResult("call_1_0", True, "hi\n<shellId: 1 completed with exit code 0>"),
        AgentToolResult("call_1_1", False, "\n<shellId: 0 completed with exit code 1>"),
        TURN,
        AgentText("All done."),
    ]
    assert isinstance(named, AgentStarted)
    assert len(named.conversation) == 36
    assert ended == AgentStopped()


def test_a_denied_write_is_a_failed_call_in_a_successful_run() -> None:
    happened = heard("copilot", bytes_of("copilot", "denied"))
    first = next(one for one in happened if isinstance(one, AgentToolResult))
    assert (first.id, first.ok) == ("call_0_0", False)
    assert first.text.startswith("Permission denied")
    assert happened[-1] == AgentStopped()


def test_a_refused_key_is_reported_once_after_all_retries() -> None:
    happened = heard("copilot", bytes_of("copilot", "unauthorized"), exit_code=1)
    assert [one.kind for one in happened if isinstance(one, AgentProblem)] == ["sign_in"]
    assert not [one for one in happened if isinstance(one, AgentStopped | AgentTurn)]


def test_a_stream_cut_inside_a_line_reports_no_end() -> None:
    printed = bytes_of("copilot", "success")
    happened = heard("copilot", printed[: printed.index(b'"exitCode":0,"usage"')], exit_code=None)
    assert happened[-1] == AgentText("All done.")


def test_an_exit_without_a_result_is_not_a_success() -> None:
    assert heard("copilot", b"", exit_code=0) == [AgentProblem("agent", "it ended without reporting a result")]


def test_a_result_with_another_code_is_a_problem() -> None:
    assert heard("copilot", b'{"type":"result","exitCode":7}', 7) == [
        AgentProblem("agent", "it reports that it ended with 7")
    ]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not [one for one in claims("copilot", values, text, code) if isinstance(one, AgentStopped | AgentTotals)]
