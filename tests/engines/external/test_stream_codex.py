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


def test_a_success_is_reported_turn_by_turn_with_sums_at_the_end() -> None:
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


def test_changed_files_are_reported_as_a_tool_call() -> None:
    changes = [{"path": "/repo/hello.txt", "kind": "add"}]
    happened = heard("codex", bytes_of("codex", "changes"))
    assert happened[1:3] == [
        AgentToolCall("item_1", "file_change", {"changes": changes}),
        AgentToolResult("item_1", True, "add /repo/hello.txt"),
    ]


def test_calls_of_one_answer_that_run_one_after_the_other_count_as_several_turns() -> None:
    turns = [one for one in heard("codex", bytes_of("codex", "changes")) if isinstance(one, AgentTurn)]
    assert len(turns) == 4  # of four requests, the third of which called a tool that does not exist


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


def test_a_refused_key_is_one_problem_after_the_last_retry() -> None:
    _, *rest = heard("codex", bytes_of("codex", "unauthorized"), exit_code=1)
    assert [(one.kind, one.message[:30]) for one in rest if isinstance(one, AgentProblem)] == [
        ("sign_in", "unexpected status 401 Unauthor")
    ]


def test_an_exhausted_quota_is_reported_as_such() -> None:
    _, *rest = heard("codex", bytes_of("codex", "quota"), exit_code=1)
    assert rest == [AgentProblem("quota", "Quota exceeded. Check your plan and billing details.")]


def test_an_error_fixed_by_a_retry_is_not_reported() -> None:
    failed, _, _ = bytes_of("codex", "unauthorized").partition(b'{"type":"error","message":"unexpected')
    happened = heard("codex", failed + bytes_of("codex", "success"))
    assert not [one for one in happened if isinstance(one, AgentProblem)]
    assert happened[-1] == AgentStopped("It is written.")


def test_the_sums_of_a_continued_conversation_cover_all_of_it() -> None:
    """It prints them so: 850 tokens belong to the previous invocation."""
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


def test_a_stream_cut_inside_a_line_reports_no_end() -> None:
    printed = bytes_of("codex", "success")
    happened = heard("codex", printed[: printed.index(b'"aggregated_output":"hello"')], exit_code=None)
    assert isinstance(happened[-2], AgentToolCall)
    assert happened[-1] == AgentTurn()


def test_an_exit_without_a_final_message_is_a_problem() -> None:
    assert heard("codex", b"", exit_code=0) == [AgentProblem("agent", "it ended without reporting a result")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("codex", values, text, code)
