"""Flaky checks: hardly any patch is named for a flaky verdict, and flaky checks are named.

Flaky verdicts are drawn from a seed, so the numbers are the same in every run. `bench/union_search.py` prints the
table over more rates.
"""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unions import CHECKS, Clash, Judging, Union, cases, is_wrong

from donewhen.union.observations import Observation, Observations
from donewhen.union.oracle import SearchLimits
from donewhen.union.order import SearchItem
from donewhen.union.search import search
from tiers import examples

CASES = 2_000


async def wrong_blames(number: int, false_red: float, false_green: float, limits: SearchLimits) -> int:
    wrong = 0
    for seed, union in cases(number):
        judging = Judging(union, false_red, false_green, seed)
        found = await search(union.items, judging, limits=limits)
        assert found.kept in judging.green or not found.kept
        assert not found.undecided
        wrong += sum(is_wrong(union, blame.culprit, blame.partner) for blame in found.blames)
    return wrong


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    ("false_red", "false_green"),
    [(0.05, 0.0), (0.0, 0.05)],
    ids=["red now and then", "green now and then"],
)
def test_with_five_percent_flaky_verdicts_less_than_one_culprit_in_a_hundred_is_wrong(
    false_red: float, false_green: float
) -> None:
    assert anyio.run(wrong_blames, CASES, false_red, false_green, SearchLimits()) < CASES / 100


def test_without_reruns_the_same_flaky_verdicts_mislead_the_search() -> None:
    """The control: without confirmation the culprits are wrong far more often."""
    assert anyio.run(wrong_blames, 300, 0.05, 0.0, SearchLimits(confirmations=0, asks=1)) > 300 / 20


@pytest.mark.anyio
async def test_a_union_that_is_red_once_and_green_twice_is_kept_and_its_check_is_named() -> None:
    items = tuple(SearchItem(id, frozenset({id})) for id in "abc")

    class OneBadMoment(Judging):
        async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
            seen = await super().judge(tree, first, fresh=fresh)
            return Observation(("lint",)) if self.runs == 1 else seen

    found = await search(items, OneBadMoment(Union("none", items)))
    assert (found.kept, found.blames, found.flaky) == (("a", "b", "c"), (), ("lint",))
    assert (found.runs, found.confirmations) == (1, 3)


@pytest.mark.anyio
async def test_a_patch_red_by_changing_checks_is_left_out_as_unconfirmed() -> None:
    items = (SearchItem("a", frozenset({"a"})), SearchItem("b", frozenset({"b"})))

    class AnotherEachTime(Judging):
        async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
            seen = await super().judge(tree, first, fresh=fresh)
            others = [check for check in CHECKS if check not in first[:1]]
            return seen if seen.is_green else Observation((others[self.runs % len(others)],))

    found = await search(items, AnotherEachTime(Union("single", items, (Clash(("b",)),))))
    assert found.kept == ("a",)
    assert [(blame.culprit, blame.confirmed) for blame in found.blames] == [("b", False)]
    assert len(found.flaky) > 1


@pytest.mark.anyio
async def test_a_tree_is_not_judged_more_often_than_the_limits_say() -> None:
    items = tuple(SearchItem(id, frozenset({id})) for id in "abcd")
    asked: dict[str, int] = {}

    class Counting(Judging):
        async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
            asked[tree] = asked.get(tree, 0) + 1
            return await super().judge(tree, first, fresh=fresh)

    for seed in range(30):
        asked.clear()
        judging = Counting(Union("none", items), false_red=0.3, seed=seed)
        await search(items, judging, limits=SearchLimits(asks=5))
        assert max(asked.values()) <= 5


answers = st.lists(
    st.lists(st.sampled_from(CHECKS), max_size=2, unique=True).map(lambda turned: Observation(tuple(turned)))
)


@settings(max_examples=examples(100))
@given(answers)
def test_observations_count_green_only_if_a_whole_verdict_was_green(seen: list[Observation]) -> None:
    tally = Observations("t")
    for one in seen:
        tally.add(one, [tally.suspect] if tally.suspect else [])
    assert tally.times_judged == len(seen)
    if not any(one.is_green for one in seen):
        assert tally.is_red
    if seen and all(one.is_green for one in seen):
        assert (tally.is_red, tally.is_settled, tally.flaky) == (False, True, [])
    if not tally.is_red:
        assert all(tally.reds[check] - tally.passes[check] <= tally.greens for check in CHECKS)


def test_a_check_that_ran_first_and_was_not_the_red_one_has_passed() -> None:
    tally = Observations("t")
    tally.add(Observation(("tests",)), [])
    tally.add(Observation(("lint",)), ["tests", "lint", "types"])
    assert tally.flaky == ["tests"]
    assert (tally.suspect, tally.lead) == ("lint", 1)
