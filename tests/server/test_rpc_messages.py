"""JSON-RPC 2.0: what is answered, with which code, and what a malformed message leaves alone."""

import json
from collections.abc import Mapping
from typing import Any, cast

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.errors import BadInput, MachineryBroke, NeedsPerson
from donewhen.server.call_errors import CallFailed, CallRefused
from donewhen.server.rpc.dispatch import LONGEST_ID, MOST_IN_BATCH, RpcDispatcher

done: list[str] = []


async def handle(method: str, params: Mapping[str, Any]) -> Any:
    match method:
        case "add":
            return params["a"] + params["b"]
        case "note":
            done.append(str(params["text"]))
            return None
        case "bad_input":
            raise BadInput("no such thing")
        case "needs_person":
            raise NeedsPerson("trust it first")
        case "machinery":
            raise MachineryBroke("the disk is full")
        case "decided":
            raise CallRefused("already_decided", "it was approved already", {"decision": "approved"})
        case "failed":
            raise CallFailed("bad_input", "in its process", 2)
        case _:
            raise ValueError("a secret that no client may see")


METHODS: dict[str, None] = dict.fromkeys(
    ("add", "note", "bad_input", "needs_person", "machinery", "decided", "failed", "broken")
)


def answer(message: object) -> Any:
    text = message if isinstance(message, str) else json.dumps(message)
    answered = anyio.run(RpcDispatcher(METHODS, handle).dispatch, text)
    return None if answered is None else json.loads(answered)


def request(method: str, id: object = 1, **params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_a_request_is_answered_with_its_id() -> None:
    assert answer(request("add", "x", a=1, b=2)) == {"jsonrpc": "2.0", "id": "x", "result": 3}


def test_a_notification_is_carried_out_and_not_answered() -> None:
    done.clear()

    assert answer({"jsonrpc": "2.0", "method": "note", "params": {"text": "hello"}}) is None
    assert answer({"jsonrpc": "2.0", "method": "no such method"}) is None
    assert answer([{"jsonrpc": "2.0", "method": "note", "params": {"text": "again"}}]) is None
    assert done == ["hello", "again"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", -32700),
        ("[", -32700),
        ('{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "add"}', -32700),
        ([], -32600),
        (1, -32600),
        (None, -32600),
        ({}, -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "add"}, -32600),
        ({"id": 1, "method": "add"}, -32600),
        ({"jsonrpc": "2.0", "id": {}, "method": "add"}, -32600),
        ({"jsonrpc": "2.0", "id": [1], "method": "add"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "add"}, -32600),
        ({"jsonrpc": "2.0", "id": "x" * (LONGEST_ID + 1), "method": "add"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 7}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "add", "params": 7}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "result": 7}, -32600),
        ([[request("add", a=1, b=2)]] * (MOST_IN_BATCH + 1), -32600),
    ],
)
def test_a_malformed_message_has_the_code_of_the_specification_and_no_id(message: object, code: int) -> None:
    answered = answer(message)

    assert (answered["error"]["code"], answered["id"]) == (code, None)
    assert len(json.dumps(answered)) < 1000


@pytest.mark.parametrize(
    "method", ["ADD", "add ", " add", "rpc.discover", "add\0", "", "__class__", "session.start" * 100]
)
def test_only_the_exact_name_of_a_method_is_a_method(method: str) -> None:
    error = answer(request(method))["error"]

    assert error["code"] == -32601
    assert len(json.dumps(error)) < 400


def test_parameters_are_given_by_name() -> None:
    error = answer({"jsonrpc": "2.0", "id": 1, "method": "add", "params": [1, 2]})["error"]

    assert (error["code"], error["data"]["problem"]) == (-32602, "parameters are given by name")


def test_each_element_of_a_batch_is_answered_on_its_own() -> None:
    done.clear()
    batch = [
        request("add", 1, a=1, b=2),
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "note", "params": {"text": "in a batch"}},
        [request("add", 2, a=1, b=2)],
        request("decided", 3),
        request("add", 1, a=3, b=4),
    ]

    answered = answer(batch)

    assert [(one["id"], one.get("result"), one.get("error", {}).get("code")) for one in answered] == [
        (1, 3, None),
        (None, None, -32600),
        (None, None, -32600),
        (3, None, -32000),
        (1, 7, None),
    ]
    assert done == ["in a batch"]


@pytest.mark.parametrize(
    ("method", "message", "data"),
    [
        ("bad_input", "no such thing", {"kind": "bad_input", "exit_code": 2}),
        ("needs_person", "trust it first", {"kind": "needs_person", "exit_code": 3}),
        ("machinery", "the disk is full", {"kind": "machinery", "exit_code": 4}),
        ("failed", "in its process", {"kind": "bad_input", "exit_code": 2}),
        (
            "decided",
            "it was approved already",
            {"kind": "already_decided", "decision": "approved", "exit_code": 2},
        ),
    ],
)
def test_an_error_of_the_program_says_its_kind_and_what_has_happened(
    method: str, message: str, data: dict[str, Any]
) -> None:
    assert answer(request(method))["error"] == {"code": -32000, "message": message, "data": data}


def test_an_unexpected_error_shows_nothing_of_the_inside(capfd: pytest.CaptureFixture[str]) -> None:
    answered = answer(request("broken"))

    assert answered["error"]["code"] == -32603
    assert "secret" not in json.dumps(answered)
    assert "secret" not in "".join(capfd.readouterr())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers() | JSON,
        "method": st.sampled_from([*METHODS]) | JSON,
        "params": st.fixed_dictionaries({"a": st.integers(), "b": st.integers(), "text": st.text()}) | JSON,
    },
)


@settings(max_examples=300, deadline=None)
@given(FIELDS | st.lists(FIELDS, max_size=4) | JSON)
def test_any_message_is_answered_by_the_rules(message: object) -> None:
    answered = answer(message)

    answers: list[Any] = [] if answered is None else [answered]
    if isinstance(answered, list):
        answers = cast("list[Any]", answered)
    for one in answers:
        assert one["jsonrpc"] == "2.0"
        assert ("result" in one) != ("error" in one)
        assert "id" in one
