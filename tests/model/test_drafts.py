"""What may become the input of a call: limits, partial characters, invalid numbers, ids."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.model.interface import Call
from donewhen.model.partial_reply import (
    DEEPEST_INPUT,
    LARGEST_INPUT,
    PartialCall,
    PartialReply,
    calls_of,
    without_surrogates,
)


def call_of(arguments: str, **draft: str) -> Call:
    (call,) = calls_of(PartialReply(calls=[PartialCall("c1", "shell", arguments)], **draft), ())  # pyright: ignore[reportArgumentType] - a stop by name
    return call


def nested(depth: int) -> str:
    return '{"a": ' * depth + "1" + "}" * depth


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"command": "ls', "cannot be read"),
        ("[1]", "not an object"),
        ('"ls"', "not an object"),
        ("null", "not an object"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "is too large"),
        ('{"a": ' + "9" * 5000 + "}", "cannot be read"),
        (nested(DEEPEST_INPUT + 1), "deep"),
        (nested(900), "deep"),
        (nested(100_000), "deep"),
        ("[" * 100_000, "deep"),
        (json.dumps({"content": "x" * 10_000_000}), "more than"),
        ('{"a": "\\ud800"}', "half a character"),
        ('{"\\udc00": 1}', "half a character"),
        ('{"a": "\ud800"}', "half a character"),
        ('{"a": 1} {"b": 2}', "cannot be read"),
        ('{"a": "\x00"}', "cannot be read"),
    ],
    ids=range(18),
)
def test_an_unreadable_input_is_a_problem_and_empty(arguments: str, problem: str) -> None:
    call = call_of(arguments)
    assert call.input == {}
    assert problem in call.problem
    assert len(call.problem) < 300


@pytest.mark.parametrize(
    ("arguments", "input"),
    [
        ("", {}),
        ("  ", {}),
        ('{"a": [1, 2.5, null, true, "ü"]}', {"a": [1, 2.5, None, True, "ü"]}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a": "\ud83d\ude00"}', {"a": "😀"}),
        ('{"a": "' + "{[" * 500 + '"}', {"a": "{[" * 500}),
        (json.dumps({"content": "x" * (LARGEST_INPUT - 100)}), {"content": "x" * (LARGEST_INPUT - 100)}),
        (nested(DEEPEST_INPUT), json.loads(nested(DEEPEST_INPUT))),
    ],
    ids=range(8),
)
def test_an_ordinary_input_is_read_unchanged(arguments: str, input: object) -> None:
    assert call_of(arguments) == Call("c1", "shell", input)  # pyright: ignore[reportArgumentType] - objects all of them


def test_a_call_cut_by_the_token_limit_does_not_run() -> None:
    assert "cut off at the token limit" in call_of('{"command": "rm -r', stop="length").problem
    assert "cut off at the token limit" in call_of("", stop="length").problem
    assert call_of('{"command": "ls"}', stop="length").problem == ""


def test_a_repeated_id_is_left_empty_and_a_repeated_call_counts_once() -> None:
    wishes = [
        PartialCall("c1", "shell", '{"command": "a"}'),
        PartialCall("c1", "shell", '{"command": "b"}'),
        PartialCall("c1", "shell", '{"command": "a"}'),
        PartialCall("old", "shell", "{}"),
        PartialCall("", "shell", "{}"),
        PartialCall("", "shell", "{}"),
    ]
    calls = calls_of(PartialReply(calls=wishes), {"old"})
    assert [(call.id, call.input) for call in calls] == [
        ("c1", {"command": "a"}),
        ("", {"command": "b"}),
        ("", {}),
        ("", {}),
        ("", {}),
    ]


def test_text_has_no_lone_surrogates() -> None:
    assert without_surrogates("a\ud83d\ude00b\ud800c") == "a😀b\ufffdc"


@given(st.text(max_size=40) | st.text('{}[]":,\\ud8012e- aN', max_size=40))
def test_any_arguments_give_an_input_or_a_problem_but_never_both(arguments: str) -> None:
    call = call_of(arguments)
    assert not (call.input and call.problem)
    json.dumps(dict(call.input), allow_nan=False, ensure_ascii=False).encode()
