"""The text of mini-SWE-agent, recorded from version 2.4.6 without its own instructions."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from streamed import anything, bytes_of, claims, heard

from donewhen.engines.external.agent_events import (
    AgentProblem,
    AgentText,
    AgentToolCall,
    AgentToolResult,
    AgentTotals,
    AgentTurn,
)
from tiers import examples

MISSING = "<returncode>\n1\n<output>\ncat: nothing-here: No such file or directory"
NOT_DONE = "<returncode>\n-1\n<output>\n<exception_info>\naction was not executed"
LAST = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo 'all is well'"


def test_a_success_is_reported_step_by_step() -> None:
    assert heard("mini", bytes_of("mini", "success")) == [
        AgentTurn(),
        AgentText("I will write it."),
        AgentToolCall("call-1", "bash", {"command": "printf 'hello\\n' > hello.txt"}),
        AgentToolResult("call-1", True, "<returncode>\n0\n<output>"),
        AgentTurn(),
        AgentToolCall("call-2", "bash", {"command": "cat nothing-here"}),
        AgentToolResult("call-2", False, MISSING),
        AgentTurn(),
        AgentText("It is written."),
        AgentToolCall("call-3", "bash", {"command": LAST}),
        AgentToolResult("call-3", True, NOT_DONE),
        AgentText("all is well"),
    ]


def test_the_agent_s_own_step_limit_is_reported_as_a_limit() -> None:
    happened = heard("mini", bytes_of("mini", "turns"))
    assert happened[-1] == AgentProblem("limit", "LimitsExceeded")
    assert len([one for one in happened if isinstance(one, AgentTurn)]) == 2


def test_a_refused_key_is_a_problem() -> None:
    [complained] = heard("mini", bytes_of("mini", "unauthorized"), exit_code=1)
    assert isinstance(complained, AgentProblem)
    assert complained.kind == "sign_in"


def test_an_error_followed_by_a_step_is_not_reported() -> None:
    error = b"openai.RateLimitError: wait a little\n"
    happened = heard("mini", error + bytes_of("mini", "success"))
    assert not [one for one in happened if isinstance(one, AgentProblem)]


def test_cost_is_reported_as_a_sum() -> None:
    printed = b"mini-swe-agent (step 1, $0.00):\na\nmini-swe-agent (step 2, $0.31):\nb\n"
    assert [one for one in heard("mini", printed) if isinstance(one, AgentTotals)] == [AgentTotals(usd=0.31)]


def test_results_of_several_commands_are_matched_in_order() -> None:
    commands = b"mini-swe-agent (step 1, $0.00):\n```\ntrue\n```\n```\nfalse\n```\n"
    results = b"Tool:\n<returncode>\n0\nTool:\n<returncode>\n1\n"
    happened = heard("mini", commands + results)
    assert [(one.id, one.ok) for one in happened if isinstance(one, AgentToolResult)] == [
        ("call-1", True),
        ("call-2", False),
    ]


def test_a_stream_cut_inside_a_command_reports_what_came_before() -> None:
    printed = bytes_of("mini", "success")
    happened = heard("mini", printed[: printed.index(b"nothing-here")], exit_code=None)
    assert happened[-1] == AgentToolCall("call-2", "bash", {"command": "cat"})


def test_an_exit_without_a_step_is_a_problem() -> None:
    assert heard("mini", b"hello\n", exit_code=0, stderr="no model") == [AgentProblem("agent", "no model")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("mini", values, text, code)
