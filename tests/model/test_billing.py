"""The cost of a turn with partial replies: everything that the provider counted is paid for."""

from dataclasses import dataclass

import pytest
from talking import WIRES, World, first_turn, talking

from donewhen.model.deadlines import RetryBudget
from donewhen.model.fallback import Fallback
from donewhen.model.interface import Bill, ModelFailed, ModelWaits, OnText, Reply, Turn, Usage, close_model
from donewhen.model.open_model import ModelConfig, open_model
from wire_server import Act, Answer, Cuts, Refuses, Says, Wire, frames, serving

pytestmark = pytest.mark.anyio

PRICED: dict[Wire, str] = {
    "openai-chat": "openai-chat:gpt-4.1",
    "anthropic": "anthropic:claude-sonnet-4-5",
    "google": "google:gemini-2.5-pro",
}
"""A model with a price for each wire that reports usage before its last event."""
HALF = Answer(text="half", input=1000, output=50)
FINE = Says(Answer(text="fine", input=1000, output=10))


def all_but_the_end(wire: Wire) -> Act:
    """Everything except the final event; Google has none, so there the bytes end after the last one."""
    return Cuts(HALF, len(frames(wire, HALF)) - (0 if wire == "google" else 1))


async def ended(wire: Wire, *acts: Act, retries: int = 5) -> Reply | ModelFailed | ModelWaits:
    with serving(*acts, again=True) as server:
        async with talking(server, wire, name=PRICED[wire], retry=RetryBudget(per_turn=retries)) as model:
            try:
                return await model.reply(first_turn())
            except (ModelFailed, ModelWaits) as failure:
                return failure


@pytest.mark.parametrize("wire", PRICED)
async def test_a_failed_turn_reports_the_cost_of_its_broken_replies(wire: Wire) -> None:
    failure = await ended(wire, all_but_the_end(wire), retries=2)
    assert isinstance(failure, ModelFailed)
    assert failure.bill.usage == Usage(3000, 150)
    assert failure.bill.usd is not None and failure.bill.usd > 0


@pytest.mark.parametrize("wire", PRICED)
async def test_a_broken_reply_is_paid_for_in_addition_to_the_next_one(wire: Wire) -> None:
    whole = await ended(wire, FINE)
    reply = await ended(wire, all_but_the_end(wire), FINE)
    assert isinstance(whole, Reply) and isinstance(reply, Reply)
    assert reply.usage == Usage(2000, 60)
    assert (reply.cost_usd or 0) > (whole.cost_usd or 0) > 0
    assert reply.filled == whole.filled == 1000, "the window holds the prompt once, however often it was sent"


async def test_a_reply_cut_at_its_start_costs_its_prompt() -> None:
    failure = await ended("anthropic", Cuts(HALF, 1), retries=0)
    assert isinstance(failure, ModelFailed)
    assert failure.bill.usage.input == 1000


async def test_waiting_for_a_person_keeps_the_earlier_cost() -> None:
    waits = await ended("anthropic", all_but_the_end("anthropic"), Refuses(401))
    assert isinstance(waits, ModelWaits)
    assert waits.bill.usage == Usage(1000, 50)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_refused_request_costs_nothing(wire: Wire) -> None:
    with serving(Refuses(400)) as server:
        async with talking(server, wire) as model:
            with pytest.raises(ModelFailed) as failed:
                await model.reply(first_turn())
    assert failed.value.bill == Bill()


async def test_a_broken_reply_of_a_library_provider_is_paid_for() -> None:
    with serving(all_but_the_end("openai-chat"), again=True) as server:
        config = ModelConfig(base_url=f"{server.url}/v1", retry=RetryBudget(per_turn=0))
        model = open_model("vllm:m", config, {}, World().outside())
        try:
            with pytest.raises(ModelFailed) as failed:
                await model.reply(first_turn())
        finally:
            await close_model(model)
    assert failed.value.bill.usage == Usage(1000, 50)


@dataclass
class Gives:
    """A model that always gives the same."""

    name: str
    what: Reply | Bill

    async def reply(self, turn: Turn, on_text: OnText | None = None) -> Reply:
        del turn, on_text
        if isinstance(self.what, Reply):
            return self.what
        failure = ModelFailed("broken", "network")
        failure.bill = self.what
        raise failure


SPENT = Bill(Usage(100, 10), 0.5)
REPLY = Reply(text="2", usage=Usage(200, 20), cost_usd=0.25)


async def test_the_cost_of_a_failed_model_is_added_to_its_fallback() -> None:
    reply = await Fallback((Gives("a:1", SPENT), Gives("b:2", REPLY))).reply(first_turn())
    assert (reply.usage, reply.cost_usd, reply.filled) == (Usage(300, 30), 0.75, 200)


@pytest.mark.parametrize(
    ("first", "second"), [(SPENT, REPLY.changed(cost_usd=None)), (Bill(Usage(1, 1)), REPLY)], ids=["second", "first"]
)
async def test_one_unknown_price_makes_the_sum_unknown(first: Bill, second: Reply) -> None:
    reply = await Fallback((Gives("a:1", first), Gives("b:2", second))).reply(first_turn())
    assert reply.cost_usd is None


async def test_a_failure_of_all_models_has_the_total_cost() -> None:
    with pytest.raises(ModelFailed) as failed:
        await Fallback((Gives("a:1", SPENT), Gives("b:2", SPENT))).reply(first_turn())
    assert failed.value.bill == Bill(Usage(200, 20), 1.0)
