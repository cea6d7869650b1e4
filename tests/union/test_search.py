"""The search in a red union: which patches are kept, the culprits with their partners and checks, and the number of
verdicts.

Every answer is known by construction (see `unions`); flaky checks are in `test_flaky_search`.
"""

import math

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unions import CHECKS, KINDS, MOST, Clash, Judging, Union, generated

from donewhen.union.observations import Observation
from donewhen.union.oracle import Members, MergedTree, SearchLimits
from donewhen.union.order import SearchItem, by_risk, components, lanes
from donewhen.union.search import SearchResult, search
from tiers import examples

LANES = (1, 2, 5)


def searched(union: Union, at_once: int = 1, most_runs: int | None = None) -> tuple[SearchResult, Judging]:
    judging = Judging(union)
    limits = SearchLimits(at_once=at_once, most_runs=most_runs)

    async def run() -> SearchResult:
        return await search(union.items, judging, limits=limits)

    return anyio.run(run), judging


def apart(*ids: str) -> tuple[SearchItem, ...]:
    """Patches without common files."""
    return tuple(SearchItem(id, frozenset({f"{id}.py"})) for id in ids)


def assert_exact(union: Union, found: SearchResult) -> None:
    """Every culprit is the last patch of a real conflict, with its partner and its check."""
    order = [item.id for item in by_risk(union.items)]
    blames = {(blame.culprit, blame.partner, blame.check) for blame in found.blames}
    if union.hub:
        assert [blame.culprit for blame in found.blames] == [union.hub]
        partners = {id for clash in union.real for id in clash.members} - {union.hub}
        assert found.blames[0].partner in partners
        assert Clash(found.blames[0].witness, found.blames[0].check) in union.real
    else:
        last = [sorted(clash.members, key=order.index) for clash in union.real]
        expected = [(ids[-1], ids[0] if len(ids) == 2 else None) for ids in last]
        checks = [clash.check for clash in union.real]
        assert blames == {(*who, check) for who, check in zip(expected, checks, strict=True)}
    for blame in found.blames:
        assert blame.confirmed
        assert any(set(clash.members) <= set(blame.witness) for clash in union.real)
        assert bool(blame.conflict) == (blame.check is None)
    culprits = {culprit for culprit, _, _ in blames}
    assert found.kept == tuple(id for id in union.ids if id not in culprits)
    assert (found.flaky, found.undecided) == ((), ())


def most_runs(union: Union, at_once: int) -> int:
    """The promised bound: one, for each culprit a search of the order and one for its partner, and one for each
    part."""
    steps = math.ceil(math.log2(len(union.items)))
    culprits = 2 if union.hub else len(union.real)
    parts = min(at_once, len(components(union.items))) if at_once > 1 and culprits else 0
    taken_back = culprits if at_once > 1 else 0
    return 1 + culprits * (1 + steps) + culprits * steps + parts + taken_back + (1 if union.hub else 0)


def assert_within_bounds(union: Union, found: SearchResult, judging: Judging, at_once: int) -> None:
    assert found.runs <= most_runs(union, at_once)
    assert found.confirmations <= 6 * (len(union.real) + at_once - 1)
    assert judging.runs == found.runs + found.confirmations
    assert found.kept in judging.green or not found.kept
    if not union.real:
        assert (found.runs, found.confirmations) == (1, 0)


@pytest.mark.parametrize("at_once", LANES)
@pytest.mark.parametrize("kind", KINDS)
def test_culprits_are_found_exactly_within_the_promised_number_of_verdicts(kind: object, at_once: int) -> None:
    [make] = [one for one in KINDS if one is kind]
    for count in (2, 3, 4, 5, 8, 13, 16, 32):
        for seed in range(4):
            union = generated(make, count, seed)
            found, judging = searched(union, at_once)
            assert_exact(union, found)
            assert_within_bounds(union, found, judging, at_once)


@settings(max_examples=examples(60))
@given(
    kind=st.sampled_from(KINDS),
    count=st.integers(2, MOST),
    seed=st.integers(0, 2**32),
    at_once=st.sampled_from(LANES),
)
def test_culprits_are_found_exactly_for_any_seed(kind: object, count: int, seed: int, at_once: int) -> None:
    [make] = [one for one in KINDS if one is kind]
    union = generated(make, count, seed)
    found, judging = searched(union, at_once)
    assert_exact(union, found)
    assert_within_bounds(union, found, judging, at_once)


@st.composite
def tangles(draw: st.DrawFn) -> Union:
    """Patches with any conflicts, overlapping in any way."""
    ids = [f"p{number}" for number in range(draw(st.integers(1, 9)))]
    files = st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=2)
    items = tuple(SearchItem(id, draw(files)) for id in ids)
    clashing = st.lists(st.sampled_from(ids), min_size=1, max_size=4, unique=True).map(tuple)
    clashes = st.builds(Clash, clashing, st.sampled_from([*CHECKS, None]))
    return Union("tangle", items, tuple(draw(st.lists(clashes, max_size=6))))


def is_red(union: Union, members: Members) -> bool:
    return any(clash.shows_in(members) for clash in union.clashes)


@settings(max_examples=examples(150))
@given(union=tangles(), at_once=st.sampled_from(LANES))
def test_no_left_out_patch_could_be_added_to_the_kept_set(union: Union, at_once: int) -> None:
    found, judging = searched(union, at_once)
    assert found.kept in judging.green or not found.kept
    missing = [id for id in union.ids if id not in found.kept]
    assert sorted(blame.culprit for blame in found.blames) == sorted(missing)
    for id in missing:
        assert is_red(union, tuple(one for one in union.ids if one in (*found.kept, id)))
    for blame in found.blames:
        assert blame.culprit in blame.witness
        assert is_red(union, blame.witness)


class Whimsical:
    """An oracle with arbitrary but constant verdicts: more patches may be greener than fewer."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.asked: list[tuple[tuple[str, ...], bool]] = []

    async def merge(self, members: Members) -> MergedTree:
        return MergedTree("+".join(members))

    async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
        self.asked.append((first, fresh))
        return (
            Observation(("tests",)) if hash((self.seed, *map(len, tree.split("+")), len(tree))) % 3 else Observation()
        )


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32), count=st.integers(1, 12), at_once=st.sampled_from(LANES))
def test_checks_that_become_green_with_more_patches_do_not_mislead_the_search(
    seed: int, count: int, at_once: int
) -> None:
    probe = Whimsical(seed)

    async def run() -> None:
        items = apart(*("p" * (number + 1) for number in range(count)))
        found = await search(items, probe, limits=SearchLimits(at_once=at_once))
        if found.kept:
            assert (await probe.judge("+".join(found.kept), (), fresh=True)).is_green
        assert len(found.kept) + len(found.blames) == count

    anyio.run(run)


def test_a_union_of_nothing_is_not_judged() -> None:
    found, judging = searched(Union("empty", ()))
    assert (found.kept, found.blames, judging.runs) == ((), (), 0)


def test_if_every_patch_is_red_alone_each_is_its_own_culprit() -> None:
    union = Union("all bad", apart("a", "b", "c"), tuple(Clash((id,)) for id in "abc"))
    found, _ = searched(union)
    assert found.kept == ()
    assert [(blame.culprit, blame.partner, blame.witness) for blame in found.blames] == [
        (id, None, (id,)) for id in ("a", "b", "c")
    ]


def test_of_three_patches_that_fail_only_together_the_last_is_the_culprit_and_the_others_are_named() -> None:
    union = Union("triple", apart("a", "b", "c", "d"), (Clash(("a", "c", "d")),))
    [blame] = searched(union)[0].blames
    assert (blame.culprit, blame.partner) == ("d", None)
    assert {"a", "c"} <= set(blame.witness)


def test_merge_conflicts_are_found_without_extra_verdicts() -> None:
    clashes = (Clash(("b", "g"), None), Clash(("a", "c", "h"), None))
    found, judging = searched(Union("no merge", apart(*"abcdefgh"), clashes))
    assert found.kept == ("a", "b", "c", "d", "e", "f")
    assert [(blame.culprit, blame.partner, blame.check) for blame in found.blames] == [
        ("g", "b", None),
        ("h", None, None),
    ]
    assert all(blame.conflict for blame in found.blames)
    assert judging.runs == 1


def test_a_patch_in_conflict_with_many_is_left_out_instead_of_them() -> None:
    union = Union("hub", apart("hub", "a", "b", "c", "d"), tuple(Clash(("hub", id)) for id in "abcd"), hub="hub")
    found, _ = searched(union)
    assert found.kept == ("a", "b", "c", "d")
    assert [(blame.culprit, blame.partner) for blame in found.blames] == [("hub", "a")]


def test_a_patch_in_conflict_with_two_conflicting_ones_stays() -> None:
    clashes = (Clash(("hub", "a")), Clash(("hub", "b")), Clash(("a", "b")))
    found, _ = searched(Union("ring", apart("hub", "a", "b", "c"), clashes))
    assert found.kept == ("hub", "c")


def test_a_patch_judged_alone_before_is_not_judged_alone_again() -> None:
    plain = Union("pair", apart("a", "b", "c", "d"), (Clash(("a", "d")),))
    gated = Union(
        "pair", tuple(SearchItem(item.id, item.files, green_alone=True) for item in plain.items), plain.clashes
    )
    (found, judging), (also_found, other) = searched(gated), searched(plain)
    assert (found.kept, found.blames) == (also_found.kept, also_found.blames)
    assert not [tree for tree in judging.judged_trees if "+" not in tree]
    assert judging.runs < other.runs


def test_a_single_patch_is_proven_even_if_it_was_green_alone_before() -> None:
    found, judging = searched(Union("one", (SearchItem("a", frozenset({"a.py"}), green_alone=True),)))
    assert found.kept == ("a",)
    assert judging.runs == 1


def test_a_check_that_was_red_runs_first_afterwards() -> None:
    union = Union("pair", apart(*"abcdefgh"), (Clash(("b", "g"), CHECKS[-1]),))
    asked: list[tuple[str, ...]] = []

    class Listening(Judging):
        async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
            asked.append(first)
            return await super().judge(tree, first, fresh=fresh)

    anyio.run(search, union.items, Listening(union))
    assert asked[0] == ()
    assert set(asked[1:]) == {(CHECKS[-1],)}


def test_two_unions_with_the_same_tree_are_judged_once() -> None:
    """The patches `n…` change nothing, so most prefixes of the order are one tree."""

    class Idle(Judging):
        async def merge(self, members: Members) -> MergedTree:
            doing = tuple(id for id in members if not id.startswith("n"))
            return await super().merge(doing)

    union = Union("idle", apart("a", *(f"n{number}" for number in range(14)), "z"), (Clash(("a", "z")),))
    judging = Idle(union)
    found = anyio.run(search, union.items, judging)
    assert [(blame.culprit, blame.partner) for blame in found.blames] == [("z", "a")]
    assert found.runs == len({"a", "z", "a+z"})


@pytest.mark.parametrize("at_once", LANES)
def test_without_remaining_verdicts_the_largest_green_union_is_kept_and_the_rest_is_named(at_once: int) -> None:
    union = Union("pairs", apart(*"abcdefgh"), (Clash(("a", "f")), Clash(("b", "h")), Clash(("c",))))
    needed = searched(union, at_once)[1].runs
    for most in range(needed + 1):
        found, judging = searched(union, at_once, most)
        assert judging.runs == found.runs + found.confirmations <= most
        assert found.kept in judging.green or not found.kept
        blamed = [blame.culprit for blame in found.blames]
        assert sorted([*found.kept, *found.undecided, *blamed]) == sorted(union.ids)
    assert searched(union, at_once, needed)[0].undecided == ()


# -- the oracle --


class Broken(Exception):
    pass


@pytest.mark.parametrize("at_once", LANES)
@pytest.mark.parametrize("good", [0, 1, 2, 5])
def test_an_exception_of_the_oracle_reaches_the_caller_unchanged(at_once: int, good: int) -> None:
    class Breaking(Judging):
        async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
            if self.runs == good:
                raise Broken
            return await super().judge(tree, first, fresh=fresh)

    union = Union("pair", apart(*"abcdefgh"), (Clash(("a", "h")),))

    async def run() -> None:
        await search(union.items, Breaking(union), limits=SearchLimits(at_once=at_once))

    with pytest.raises(Broken):
        anyio.run(run)


@pytest.mark.anyio
@pytest.mark.parametrize("at_once", LANES)
async def test_a_cancelled_search_leaves_no_running_verdict(at_once: int) -> None:
    union = Union("bad", apart(*"abcdefgh"), tuple(Clash((id,)) for id in "abcdefgh"))
    going: set[str] = set()
    all_busy = anyio.Event()

    class Hanging(Judging):
        async def judge(self, tree: str, first: tuple[str, ...], *, fresh: bool) -> Observation:
            if self.trees[tree] == union.ids:
                return await super().judge(tree, first, fresh=fresh)
            going.add(tree)
            if len(going) == at_once:
                all_busy.set()
            try:
                await anyio.sleep_forever()
            finally:
                going.discard(tree)
            raise AssertionError("nobody wakes it")

    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await search(union.items, Hanging(union), limits=SearchLimits(at_once=at_once))

        tasks.start_soon(run)
        await all_busy.wait()
        assert len(going) == at_once
        tasks.cancel_scope.cancel()
    assert not going


# -- the order --


def ids(items: list[SearchItem]) -> list[str]:
    return [item.id for item in items]


def test_harmless_patches_are_tried_first_and_ties_keep_their_order() -> None:
    items = [
        SearchItem("risky", frozenset("x"), risk=(1,)),
        SearchItem("shares much", frozenset("abc")),
        SearchItem("shares little", frozenset("a")),
        SearchItem("wide", frozenset("uvw")),
        SearchItem("small", frozenset("s")),
        SearchItem("also small", frozenset("t")),
    ]
    assert ids(by_risk(items)) == ["small", "also small", "wide", "shares little", "shares much", "risky"]


def test_components_are_joined_by_any_chain_of_common_files() -> None:
    items = [
        SearchItem("a", frozenset("1")),
        SearchItem("b", frozenset("2")),
        SearchItem("c", frozenset("3")),
        SearchItem("d", frozenset("13")),
    ]
    assert [ids(group) for group in components(items)] == [["a", "c", "d"], ["b"]]


@given(st.lists(st.frozensets(st.sampled_from("abcdefghijkl"), max_size=3), max_size=12), st.integers(1, 4))
def test_lanes_share_no_files_and_contain_every_patch(touched: list[frozenset[str]], most: int) -> None:
    items = [SearchItem(str(number), files) for number, files in enumerate(touched)]
    dealt = lanes(components(items), most)
    assert len(dealt) <= most
    assert sorted(item.id for lane in dealt for item in lane) == sorted(item.id for item in items)
    touching = [set[str]().union(*(item.files for item in lane)) for lane in dealt]
    assert sum(map(len, touching)) == len(set[str]().union(*touching))
