"""Turns can be stored as JSON and loaded unchanged; a replay repeats them, including failures."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import first_turn

from donewhen.model.interface import Call, ModelFailed, Reply, Turn, Usage
from donewhen.model.replay import Replay

pytestmark = pytest.mark.anyio

TEXTS = st.text(max_size=10)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
INPUTS = st.dictionaries(TEXTS, PLAIN, max_size=3)
CALLS = st.lists(st.builds(Call, TEXTS, TEXTS, INPUTS, TEXTS), max_size=3).map(tuple)
COUNTS = st.integers(0, 10**6)
REPLIES = st.builds(
    Reply,
    text=TEXTS,
    calls=CALLS,
    usage=st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS),
    cost_usd=st.none() | st.floats(0, 100),
    duration_ms=COUNTS,
    model=TEXTS,
    stop=st.sampled_from(["done", "calls", "length"]),
    raw=PLAIN,
    fallback=TEXTS,
)


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(REPLIES)
def test_a_reply_is_the_same_after_storing_and_loading(reply: Reply) -> None:
    assert Reply.load(through_json(reply.plain())) == reply


def test_a_reply_keeps_fields_of_a_later_version() -> None:
    body = {**Reply(text="a").plain(), "mood": "good"}
    assert Reply.load(body).plain() == body


async def test_a_replay_gives_the_recorded_reply_with_that_number() -> None:
    replies = (Reply(text="a"), Reply(text="b"))
    model = Replay("replay:s1", {"maker": replies})
    heard: list[str] = []
    assert [await model.reply(_turn(number), heard.append) for number in (1, 0)] == [replies[1], replies[0]]
    assert heard == ["b", "a"]


async def test_a_recorded_failure_fails_again_in_a_replay() -> None:
    model = Replay("replay:s1", {"maker": (lambda: ModelFailed("busy", "overloaded"), Reply(text="b"))})
    for _ in range(2):
        with pytest.raises(ModelFailed, match="busy") as failed:
            await model.reply(_turn(0))
        assert failed.value.kind == "overloaded"
    assert (await model.reply(_turn(1))).text == "b"


async def test_a_replay_that_runs_out_is_a_permanent_failure() -> None:
    with pytest.raises(ModelFailed, match="replay:s1 has 0 turns of maker") as failed:
        await Replay("replay:s1", {}).reply(_turn(0))
    assert failed.value.final


def _turn(number: int) -> Turn:
    return replace(first_turn(), number=number)
