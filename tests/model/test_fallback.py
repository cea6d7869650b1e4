"""Fallbacks: the next model is used when one fails permanently, the reply says why, and the conversation stays
there."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from talking import ENVIRONMENT, World, first_turn

from donewhen.model.fallback import Fallback
from donewhen.model.interface import ModelFailed, ModelWaits, OnText, Reply, Turn, close_model
from donewhen.model.open_model import ModelConfig, open_model
from wire_server import Answer, Refuses, Says, serving

pytestmark = pytest.mark.anyio

Given = Reply | ModelFailed | ModelWaits


@dataclass
class Told:
    """A model with a script per turn; at the end the last step repeats."""

    name: str
    gives: list[Given]
    asked: list[str] = field(default_factory=list[str])

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        self.asked.append(turn.role)
        if on_text:
            on_text(self.name)
        given = self.gives.pop(0) if len(self.gives) > 1 else self.gives[0]
        if isinstance(given, Reply):
            return given
        raise given


BUSY = ModelFailed("busy", "overloaded")
NO_KEY = ModelWaits("no key", "sign_in")
WRONG = ModelFailed("wrong", "bad_request", final=True)
GONE = ModelFailed("gone", "not_found", final=True)


def turn(role: str = "maker") -> Turn:
    return Turn(role=role, number=0, system="", messages=())


async def test_the_first_model_answers_while_it_can() -> None:
    one, two = Told("a:1", [Reply(text="1")]), Told("b:2", [Reply(text="2")])
    model = Fallback((one, two))
    reply = await model.reply(turn())
    assert (reply.text, reply.fallback, two.asked, model.name) == ("1", "", [], "a:1")


@pytest.mark.parametrize("failure", [BUSY, NO_KEY, GONE], ids=str)
async def test_the_next_model_answers_and_says_why(failure: Given) -> None:
    model = Fallback((Told("a:1", [failure]), Told("b:2", [Reply(text="2", model="b:2")])))
    reply = await model.reply(turn())
    assert (reply.text, reply.model, reply.fallback) == ("2", "b:2", f"a:1: {failure}")


async def test_a_conversation_stays_with_the_model_that_replied() -> None:
    one, two = Told("a:1", [BUSY, Reply(text="1")]), Told("b:2", [Reply(text="2")])
    model = Fallback((one, two))
    replies = [await model.reply(turn(role)) for role in ("maker", "maker", "checker", "maker")]
    assert [reply.text for reply in replies] == ["2", "2", "1", "2"]
    assert [bool(reply.fallback) for reply in replies] == [True, True, False, True]


async def test_the_first_model_is_tried_again_if_its_fallback_fails() -> None:
    one, two = Told("a:1", [BUSY, Reply(text="1")]), Told("b:2", [Reply(text="2"), BUSY])
    model = Fallback((one, two))
    replies = [await model.reply(turn()) for _ in range(2)]
    assert [(reply.text, bool(reply.fallback)) for reply in replies] == [("2", True), ("1", False)]


async def test_a_bad_request_is_not_sent_to_a_fallback() -> None:
    two = Told("b:2", [Reply(text="2")])
    with pytest.raises(ModelFailed, match="wrong"):
        await Fallback((Told("a:1", [WRONG]), two)).reply(turn())
    assert two.asked == []


@pytest.mark.parametrize(
    ("failures", "told"),
    [((NO_KEY, BUSY), BUSY), ((BUSY, NO_KEY), BUSY), ((NO_KEY, GONE), NO_KEY), ((GONE, GONE), GONE)],
    ids=range(4),
)
async def test_if_all_models_fail_the_most_recoverable_failure_is_reported(
    failures: tuple[Given, Given], told: Given
) -> None:
    model = Fallback(tuple(Told(f"m:{n}", [failure]) for n, failure in enumerate(failures)))
    with pytest.raises((ModelFailed, ModelWaits)) as failed:
        await model.reply(turn())
    assert failed.value is told


async def test_a_dead_server_is_tried_once_and_then_its_fallback(tmp_path: Path) -> None:
    world, script = World(), tmp_path / "steps.json"
    script.write_text(json.dumps([{"text": "scripted"}]))
    with serving(Refuses(500), Says(Answer(text="too late"))) as server:
        config = ModelConfig(base_url=server.url, fallback=(f"scripted:{script}",))
        model = open_model("anthropic:m", config, ENVIRONMENT, world.outside())
        reply = await model.reply(first_turn())
        await close_model(model)
    assert (reply.text, len(server.received), world.pauses) == ("scripted", 1, [])
    assert reply.fallback == "anthropic:m: no (HTTP 500)"
