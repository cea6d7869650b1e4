"""Conclusions from counts: the bounds of a rate, retired hints, and withheld offers."""

from hypothesis import assume, given
from hypothesis import strategies as st

from donewhen.memory.counting import Counts, wilson

FEW = st.integers(min_value=0, max_value=60)


@given(FEW, FEW)
def test_the_confidence_bounds_contain_the_rate_and_lie_between_zero_and_one(good: int, bad: int) -> None:
    low, high = wilson(good, bad)
    assert 0.0 <= low <= high <= 1.0
    if good + bad:
        assert low <= good / (good + bad) <= high


@given(FEW, FEW)
def test_one_more_success_never_lowers_the_bounds(good: int, bad: int) -> None:
    assert wilson(good + 1, bad)[0] >= wilson(good, bad)[0]
    assert Counts(helped=good + 1, hurt=bad).rank >= Counts(helped=good, hurt=bad).rank


@given(FEW, FEW)
def test_without_control_rounds_a_hint_is_retired_after_three_more_failures_than_successes(
    helped: int, hurt: int
) -> None:
    assert Counts(helped=helped, hurt=hurt).is_retired == (hurt >= helped + 3)


@given(FEW, FEW, FEW, FEW)
def test_a_hint_that_does_no_worse_than_control_rounds_is_not_retired(
    helped: int, hurt: int, passed: int, red: int
) -> None:
    assume(hurt <= helped + 2 and passed + red)
    counts = Counts(helped=helped, hurt=hurt, withheld_passed=passed, withheld_red=red)
    if helped + hurt and helped / (helped + hurt) >= passed / (passed + red):
        assert not counts.is_retired


def test_a_hint_is_retired_if_rounds_without_it_do_clearly_better() -> None:
    assert Counts(helped=40, hurt=40, withheld_passed=9).is_retired
    assert not Counts(helped=40, hurt=40, withheld_passed=2).is_retired  # so few may have passed by chance
    assert not Counts(helped=40, hurt=2, withheld_passed=9).is_retired


def test_every_tenth_offer_is_withheld_and_the_first_never_is() -> None:
    counts, withheld = Counts(), list[int]()
    for number in range(1, 41):
        if counts.is_next_withheld(shown_for_signature=counts.shown):
            withheld.append(number)
            counts = Counts(shown=counts.shown, withheld=counts.withheld + 1)
        else:
            counts = Counts(shown=counts.shown + 1, withheld=counts.withheld)
    assert withheld == [10, 20, 30, 40]


def test_the_first_offer_for_a_signature_is_never_withheld() -> None:
    counts = Counts(shown=9)
    assert counts.is_next_withheld(shown_for_signature=1)
    assert not counts.is_next_withheld(shown_for_signature=0)
    assert Counts(shown=10).is_next_withheld(shown_for_signature=1)
