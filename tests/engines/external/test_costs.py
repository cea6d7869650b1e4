"""The cost of an invocation: turns and sums are not counted twice, and an unreported cost is not zero."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.engines.external.agent_events import AgentTotals, AgentTurn
from donewhen.engines.external.run.ledger import InvocationCosts
from donewhen.events import Event, Spend
from donewhen.model.interface import Usage

used = st.builds(Usage, input=st.integers(0, 1000), output=st.integers(0, 1000))


class Purse:
    """A budget that only counts."""

    def __init__(self) -> None:
        self.tokens = 0
        self.usd: float | None = 0.0

    def require(self) -> None:
        return

    def lease(self, most: Usage) -> contextlib.AbstractAsyncContextManager[None]:
        raise AssertionError(most)  # an agent makes its own calls

    def count_usage(self, usage: Usage, usd: float | None) -> Event:
        self.tokens += usage.total
        self.usd = None if usd is None or self.usd is None else self.usd + usd
        return Spend(tokens=self.tokens, usd=self.usd)


def costs(purse: Purse, earlier: Usage | None = None) -> InvocationCosts:
    return InvocationCosts(purse, "", earlier or Usage())


@given(turns=st.lists(used, max_size=6), total=used)
def test_a_final_sum_adds_only_what_the_turns_did_not_report(turns: list[Usage], total: Usage) -> None:
    purse = Purse()
    counted = costs(purse)
    for one in turns:
        counted.turn(one, None)
    counted.total(AgentTotals(total, 0.5))
    told = Usage(sum(one.input for one in turns), sum(one.output for one in turns))
    assert purse.tokens == max(told.input, total.input) + max(told.output, total.output)
    counted.close()
    assert purse.usd == 0.5


def test_a_sum_of_the_whole_conversation_does_not_count_what_was_paid_before() -> None:
    purse = Purse()
    counted = costs(purse, earlier=Usage(800, 50))
    counted.total(AgentTotals(Usage(900, 60), with_earlier=True))
    assert purse.tokens == 110
    assert counted.conversation_usage == Usage(900, 60)


@pytest.mark.parametrize("turn", [AgentTurn(), AgentTurn(Usage(5, 5))])
def test_an_unreported_cost_is_unknown_and_not_zero(turn: AgentTurn) -> None:
    purse = Purse()
    counted = costs(purse)
    counted.turn(turn.usage, counted.price(turn, "some-model"))
    counted.close()
    assert purse.usd is None


def test_the_cost_is_computed_for_a_known_model_if_the_agent_reports_only_tokens() -> None:
    known = InvocationCosts(Purse(), "anthropic", Usage())
    assert (known.price(AgentTurn(Usage(1000, 100)), "claude-sonnet-4-5") or 0) > 0
    assert known.price(AgentTurn(Usage(1000, 100)), "nobody-knows-it") is None
    assert known.price(AgentTurn(Usage(1000, 100), usd=0.1), "claude-sonnet-4-5") == 0.1
