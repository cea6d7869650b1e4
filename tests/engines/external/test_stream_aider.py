"""The text of aider, recorded from version 0.86.2."""

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


def test_an_answer_is_a_turn_and_a_written_file_is_a_call() -> None:
    assert heard("aider", bytes_of("aider", "success")) == [
        AgentStarted(model="fake-model"),
        AgentText("I will write it.\nhello.txt\n```\nhello\n```"),
        AgentTurn(Usage(1500, 20)),
        AgentToolCall("edit-1", "edit", {"path": "hello.txt"}),
        AgentToolResult("edit-1", True, "Applied edit to hello.txt"),
    ]


def test_a_refused_key_is_a_problem_although_the_exit_code_is_zero() -> None:
    began, complained = heard("aider", bytes_of("aider", "unauthorized"), exit_code=0)
    assert began == AgentStarted(model="fake-model")
    assert isinstance(complained, AgentProblem)
    assert complained.kind == "sign_in"


def test_an_error_followed_by_an_answer_is_not_reported() -> None:
    error = b"litellm.InternalServerError: OpenAIException - try again\nRetrying in 0.2 seconds...\n"
    happened = heard("aider", error + bytes_of("aider", "success"))
    assert not [one for one in happened if isinstance(one, AgentProblem)]


def test_rounded_tokens_and_prices_of_a_message_are_read() -> None:
    line = b"Tokens: 12k sent, 1.5k cache write, 20k cache hit, 1.1k received. Cost: $0.06 message, $0.10 session.\n"
    assert heard("aider", line) == [AgentTurn(Usage(33500, 1100, 20000, 1500), 0.06)]


def test_text_about_tokens_that_is_not_a_count_is_text() -> None:
    assert not [one for one in heard("aider", b"Tokens: many sent, few received.\n") if isinstance(one, AgentTurn)]


def test_json_in_an_answer_is_text() -> None:
    happened = heard("aider", b'{"name": "x"}\nTokens: 5 sent, 5 received.\n')
    assert happened == [AgentText('{"name": "x"}'), AgentTurn(Usage(5, 5))]


def test_an_exit_without_an_answer_is_a_problem() -> None:
    assert heard("aider", b"Unknown model\n", exit_code=0) == [AgentProblem("agent", "Unknown model")]


@given(st.lists(anything(), max_size=5), st.text(), st.sampled_from((None, 0, 1, 53)))
@settings(max_examples=examples(60))
def test_any_output_raises_nothing_and_reports_no_end(values: list[Any], text: str, code: int) -> None:
    assert not claims("aider", values, text, code)
