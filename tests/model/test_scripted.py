"""Scripted models: steps by role and number, real failures, and one line for every error in a file."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import World, first_turn

from donewhen.errors import BadInput
from donewhen.model.interface import Call, ModelFailed, Reply, Usage
from donewhen.model.open_model import open_model
from donewhen.model.scripted import Scripted, open_scripted
from tiers import examples

pytestmark = pytest.mark.anyio

Write = Callable[[Any], str]


@pytest.fixture
def script(tmp_path: Path) -> Write:
    def write(content: Any) -> str:
        path = tmp_path / "steps.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


async def reply_of(model: Scripted, number: int, role: str = "maker") -> Reply:
    return await model.reply(replace(first_turn(), number=number, role=role))


async def test_each_turn_gets_the_step_with_its_number(script: Write) -> None:
    model = open_scripted(
        script(
            [
                {"tool": {"name": "shell", "input": {"command": "ls"}}, "say": "looking"},
                {"tools": [{"name": "read_file", "input": {"path": "a"}}, {"name": "list_dir"}]},
                {"text": "done", "usage": {"input": 7, "output": 3}},
            ]
        )
    )
    first, second, third = [await reply_of(model, number) for number in range(3)]
    assert (first.text, first.calls, first.stop) == ("looking", (Call("", "shell", {"command": "ls"}),), "calls")
    assert [call.name for call in second.calls] == ["read_file", "list_dir"]
    assert (third.text, third.calls, third.usage, third.stop) == ("done", (), Usage(7, 3), "done")
    assert third.cost_usd is None
    assert await reply_of(model, 0) == first


async def test_each_role_has_its_own_steps_and_a_missing_role_has_none(script: Write) -> None:
    model = open_scripted(script({"maker": [{"text": "m"}], "worker:a": [{"text": "w"}]}))
    assert (await reply_of(model, 0)).text == "m"
    assert (await reply_of(model, 0, "worker:a")).text == "w"
    with pytest.raises(ModelFailed, match="0 steps for planner"):
        await reply_of(model, 0, "planner")


async def test_a_script_that_runs_out_is_a_permanent_failure(script: Write) -> None:
    model = open_scripted(script([{"text": "only"}]))
    with pytest.raises(ModelFailed) as failed:
        await reply_of(model, 1)
    assert (failed.value.kind, failed.value.final) == ("script", True)


async def test_a_step_with_an_error_fails_and_the_next_step_follows(script: Write) -> None:
    model = open_scripted(script([{"error": "the server burns"}, {"text": "again"}]))
    with pytest.raises(ModelFailed, match="the server burns") as failed:
        await reply_of(model, 0)
    assert (failed.value.kind, failed.value.final) == ("script", False)
    assert (await reply_of(model, 1)).text == "again"


async def test_a_delay_passes_before_the_reply(script: Write) -> None:
    world = World()
    heard: list[str] = []
    model = open_scripted(script([{"text": "late", "delay": 1.5}]), world.outside().pause)
    reply = await model.reply(first_turn(), heard.append)
    assert (world.pauses, heard, reply.duration_ms) == ([1.5], ["late"], 1500)


async def test_an_input_that_is_not_an_object_is_a_call_with_a_problem(script: Write) -> None:
    reply = await reply_of(open_scripted(script([{"tool": {"name": "shell", "input": "ls"}}])), 0)
    assert reply.calls == (Call("", "shell", {}, "the input is not an object"),)


def test_a_scripted_model_is_opened_by_its_name(script: Write) -> None:
    file = script([{"text": "hello"}])
    assert open_model(f"scripted:{file}").name == f"scripted:{file}"


MISTAKES: list[tuple[Any, str]] = [
    ("[", "not JSON"),
    ("[NaN]", "not JSON"),
    ("[" * 100_000, "not JSON"),
    ("7", "neither a list of steps"),
    ({"maker": {}}, "maker is not a list of steps"),
    ([{"text": "ok"}, 7], "step 2 of maker: a step must be an object, not 7"),
    ([{}], "step 1 of maker: needs exactly one of tool, tools, text"),
    ([{"text": "a", "tool": {"name": "b"}}], "needs exactly one of"),
    ([{"text": 5}], "text must be text, not 5"),
    ([{"txt": "a"}], "unknown key 'txt'"),
    ([{"tool": "shell"}], "a call must be an object"),
    ([{"tool": {"input": {}}}], 'a call must be {"name"'),
    ([{"tool": {"name": "a", "arguments": {}}}], 'a call must be {"name"'),
    ([{"tools": []}], "one or more calls"),
    ([{"tools": {"name": "a"}}], "one or more calls"),
    ([{"text": "a", "usage": {"input": -1}}], "whole numbers of tokens, not -1"),
    ([{"text": "a", "usage": {"tokens": 1}}], "usage needs input and output"),
    ([{"text": "a", "delay": "1"}], "delay must be a number"),
    ([{"text": "a", "delay": True}], "delay must be a number"),
    ([{"error": ""}], "error needs a message"),
    ({"planner": [{"text": "a"}, {}]}, "step 2 of planner"),
    ({"Maker": [{"text": "a"}]}, "unknown role 'Maker'; use maker, planner, evaluator, checker or worker:SUBTASK"),
    ({"text": "a"}, "unknown role 'text'"),
]


@pytest.mark.parametrize(("content", "complaint"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_in_a_script_is_one_line_with_file_and_step(script: Write, content: Any, complaint: str) -> None:
    file = script(content)
    with pytest.raises(BadInput) as wrong:
        open_scripted(file)
    assert str(wrong.value).startswith(f"{file}: ")
    assert complaint in str(wrong.value)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize("file", ["", "missing.json", ".", "nul\0.json"])
def test_a_script_that_cannot_be_read_is_one_line(file: str) -> None:
    with pytest.raises(BadInput) as wrong:
        open_scripted(file)
    assert "\n" not in str(wrong.value)


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/null", "pipe"])
def test_a_script_that_is_a_device_or_a_pipe_is_refused_at_once(tmp_path: Path, file: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="it is a pipe or a device, not a file"):
        open_scripted(str(tmp_path / file))


async def test_the_message_about_a_script_of_one_step_is_singular(script: Write) -> None:
    model = open_scripted(script([{"text": "a"}]))
    with pytest.raises(ModelFailed, match=r"^the script has 1 step for maker, but turn 2 was requested$"):
        await reply_of(model, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["tool", "tools", "text", "name", "input", "usage", "delay", "error"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(150))
@given(content=JSON)
def test_any_file_is_a_script_or_one_error_line(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(json.dumps(content))
    try:
        model = open_scripted(str(file))
    except BadInput as wrong:
        assert "\n" not in str(wrong)
        return
    roles: dict[str, list[Any]] = {"maker": content} if isinstance(content, list) else content
    assert {role: len(steps) for role, steps in model.steps.items()} == {role: len(roles[role]) for role in roles}


@settings(max_examples=examples(50))
@given(steps=st.lists(st.text(min_size=1, max_size=20), max_size=5), number=st.integers(0, 6))
async def test_every_turn_gets_its_step_or_a_failure(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], number: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "numbered.json"
    file.write_text(json.dumps([{"text": text} for text in steps]))
    model = open_scripted(str(file))
    if number < len(steps):
        assert (await reply_of(model, number)).text == steps[number]
        return
    with pytest.raises(ModelFailed):
        await reply_of(model, number)
