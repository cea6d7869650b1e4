"""The budget of parallel workers: equal shares of the rest, and nothing is reserved permanently."""

import pytest

from donewhen.engines.interface import OutOfBudget
from donewhen.model.interface import Usage
from donewhen.session.log.state import SessionState
from donewhen.session.loop.budget import Allowance, Budget, Share


def test_a_share_is_limited_and_unspent_budget_goes_to_the_next_one() -> None:
    budget = Budget(Allowance(tokens=100), SessionState())
    greedy, modest = Share(budget, 4), Share(budget, 4)
    greedy.count_usage(Usage(input=25, output=0), None)
    with pytest.raises(OutOfBudget, match="used 25, share 25"):
        greedy.require()
    modest.count_usage(Usage(input=5, output=0), None)
    modest.require()
    Share(budget, 1).count_usage(Usage(input=69, output=0), None)
    modest.require()
    budget.count_usage(Usage(input=1, output=0), None)
    with pytest.raises(OutOfBudget, match="used 100, allowed 100"):
        modest.require()


def test_dollars_are_shared_as_tokens_are() -> None:
    budget = Budget(Allowance(usd=1.0), SessionState())
    one = Share(budget, 2)
    one.count_usage(Usage(), 0.5)
    with pytest.raises(OutOfBudget, match=r"share 0\.5"):
        one.require()
    Share(budget, 1).require()


def test_without_limits_a_share_has_none_either() -> None:
    one = Share(Budget(Allowance(), SessionState()), 8)
    one.count_usage(Usage(input=1_000_000, output=0), None)
    one.require()
