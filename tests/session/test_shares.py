"""What several who work at the same time may spend: equal parts of what is left, and nothing is set aside for good."""

import pytest

from donewhen.engines.base import OutOfBudget
from donewhen.model.base import Usage
from donewhen.session.meter import Allowance, Budget, Share
from donewhen.session.story import Story


def test_a_share_ends_where_the_others_begin_and_what_is_not_spent_is_there_for_the_next() -> None:
    budget = Budget(Allowance(tokens=100), Story())
    greedy, modest = Share(budget, 4), Share(budget, 4)
    greedy.spent(Usage(input=25, output=0), None)
    with pytest.raises(OutOfBudget, match="used 25, lent 25"):
        greedy.require()
    modest.spent(Usage(input=5, output=0), None)
    modest.require()
    Share(budget, 1).spent(Usage(input=69, output=0), None)
    modest.require()
    budget.spent(Usage(input=1, output=0), None)
    with pytest.raises(OutOfBudget, match="used 100, allowed 100"):
        modest.require()


def test_dollars_are_shared_as_tokens_are() -> None:
    budget = Budget(Allowance(usd=1.0), Story())
    one = Share(budget, 2)
    one.spent(Usage(), 0.5)
    with pytest.raises(OutOfBudget, match=r"lent 0\.5"):
        one.require()
    Share(budget, 1).require()


def test_without_limits_a_share_has_none_either() -> None:
    one = Share(Budget(Allowance(), Story()), 8)
    one.spent(Usage(input=1_000_000, output=0), None)
    one.require()
