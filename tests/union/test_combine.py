"""From patches to a union, step by step: real trees, and a judge with results by member."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.events import Event, SubtaskApplied, SubtaskGated, SubtaskVerifying, UnionRejected, UnionVerified
from donewhen.union.check_delta import CheckDelta, CheckDeltas, DeltaKind, Gains
from donewhen.union.combine import Combiner, Dropped, United
from donewhen.union.gate import PatchGate
from donewhen.union.integrate import Integration
from donewhen.union.parser_client import ParserClient
from donewhen.union.patch import Patch
from donewhen.workspace.git.store import Store
from donewhen.workspace.sandbox import level
from donewhen.workspace.state_dir import state_root
from repositories import git, opened, repository

pytestmark = pytest.mark.anyio
Work = Mapping[str, Sequence[str]]
"""By patch, the modules that it brings. A scene depends only on which modules exist."""
Rule = Callable[[frozenset[str]], Mapping[str, DeltaKind | CheckDelta]]
"""Existing modules → check results. `works` is green unless stated otherwise."""


@dataclass
class Judge:
    """Return the result of a rule for the modules of a tree."""

    store: Store
    rule: Rule
    when_proven: Rule | None = None
    """The result when a verdict has to be believable."""
    proven: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    """Unions that were judged with the full proof."""

    async def __call__(
        self,
        tree: str,
        phase: Literal["gate", "union"],
        first: Sequence[str] = (),
        *,
        fresh: bool = False,
        proven: bool = True,
    ) -> CheckDeltas:
        del first, fresh
        names = (await self.store.bare.run("ls-tree", "--name-only", tree)).decode().split()
        there = frozenset(name.removesuffix(".py") for name in names) - {"first"}
        rule = self.rule
        if phase == "union" and proven:
            self.proven.append(there)
            rule = self.when_proven or rule
        return check_deltas({"works": "kept", **rule(there)})


def check_deltas(stands: Mapping[str, DeltaKind | CheckDelta]) -> CheckDeltas:
    return CheckDeltas(
        tuple(
            one if isinstance(one, CheckDelta) else CheckDelta(name=name, kind=one, status=STATUS[one])
            for name, one in stands.items()
        )
    )


STATUS: Mapping[DeltaKind, str] = {
    "kept": "pass",
    "gained": "pass",
    "turned": "fail",
    "open": "fail",
    "unknown": "infra",
}


@dataclass
class Scene:
    uniting: Combiner
    patches: list[Patch]
    judge: Judge
    told: list[Event]

    @property
    def applied(self) -> list[str]:
        return [one.id for one in self.told if isinstance(one, SubtaskApplied)]


@asynccontextmanager
async def scene(
    root: Path,
    work: Work,
    rule: Rule,
    *,
    ground: Sequence[str] = (),
    keeps_gains: bool = True,
    when_proven: Rule | None = None,
) -> AsyncGenerator[Scene]:
    """Patches on the base, or on a starting tree that already has modules."""
    repo = repository(root / "repo", {"first.py": "FIRST = 1\n"})
    base, under = tree_of(repo), tree_of(repo, *ground)
    on = under if ground else ""
    patches = [Patch(id=id, tree=tree_of(repo, *ground, *names), on=on) for id, names in work.items()]
    async with opened(repo, root / "store") as store:
        reader = ParserClient(
            store.bare.launcher, await level.recorded_probe(store.bare.launcher, state_root(os.environ))
        )
        judge, told = Judge(store, rule, when_proven), list[Event]()
        gate = PatchGate(store=store, base=base, parser=reader, judging=judge)
        integration = Integration(store, under, reader, {patch.id: patch for patch in patches})
        before = ("earlier",) if ground else ()
        uniting = Combiner(gate, integration, judge, told.append, at_once=1, before=before, keeps_gains=keeps_gains)
        yield Scene(uniting, patches, judge, told)


def tree_of(repo: Path, *modules: str) -> str:
    """A tree with the first module and these; all have the same text."""
    text = git(repo, "rev-parse", "main:first.py")
    listed = "".join(f"100644 blob {text}\t{module}.py\n" for module in {"first", *modules})
    return git(repo, "mktree", given=listed.encode())


def goal(reached: Callable[[frozenset[str]], bool]) -> Rule:
    """A check `goal` that is red on the base."""
    return lambda there: {"goal": "gained" if reached(there) else "open"}


def broken_by(*breakers: str) -> Rule:
    """`b` reaches the goal, but not together with all of these."""
    return goal(lambda there: "b" in there and not there.issuperset(breakers))


def named(dropped: Dropped) -> set[str | None]:
    return {dropped.patch, dropped.partner}


async def united(root: Path, work: Work, rule: Rule, *, keeps_gains: bool = True) -> United:
    async with scene(root, work, rule, keeps_gains=keeps_gains) as here:
        return await here.uniting.combine_all(here.patches)


def alone(*ids: str) -> dict[str, list[str]]:
    """Patches that bring one module each."""
    return {id: [id] for id in ids}


def large(id: str) -> dict[str, list[str]]:
    """A patch that is tried last because it brings more than others."""
    return {id: [id, f"{id}_more", f"{id}_still_more"]}


# -- step by step --


async def test_a_patch_is_reported_while_and_after_it_is_judged(tmp_path: Path) -> None:
    async with scene(tmp_path, alone("a"), lambda _: {"works": "turned"}) as here:
        gated = await here.uniting.gate_one(here.patches[0])
        assert gated.status == "rejected"
        assert [type(event) for event in here.told] == [SubtaskVerifying, SubtaskGated]


async def test_single_steps_report_and_keep_the_same_as_one_call(tmp_path: Path) -> None:
    def rule(there: frozenset[str]) -> dict[str, DeltaKind | CheckDelta]:
        return {"works": "turned" if "bad" in there or {"a", "x"} <= there else "kept"}

    async with scene(tmp_path / "steps", alone("a", "bad", "x", "c"), rule) as steps:
        gated = [await steps.uniting.gate_one(patch) for patch in steps.patches]
        one_by_one = await steps.uniting.combine(gated)
    async with scene(tmp_path / "whole", alone("a", "bad", "x", "c"), rule) as whole:
        at_once = await whole.uniting.combine_all(whole.patches)
    assert steps.told == whole.told
    assert one_by_one == at_once
    assert [one.status for one in at_once.gated] == ["accepted", "rejected", "accepted", "accepted"]
    assert len(at_once.kept) == 2


async def test_one_process_reads_the_texts_of_all_patches(tmp_path: Path) -> None:
    async with scene(tmp_path, alone("a", "b", "c"), lambda _: {}) as here:
        await here.uniting.combine_all(here.patches)
        assert here.uniting.gate.parser.processes == 1


async def test_a_later_patch_can_be_combined_with_the_others(tmp_path: Path) -> None:
    async with scene(tmp_path, alone("a", "b"), lambda _: {}) as here:
        first, later = here.patches
        known = {first.id: first}
        here.uniting.integration.patches = known
        gated = [await here.uniting.gate_one(first)]
        known[later.id] = later
        gated.append(await here.uniting.gate_one(later))
        assert (await here.uniting.combine(gated)).kept == ("a", "b")


async def test_without_an_accepted_patch_the_starting_tree_stays_and_no_union_is_reported(tmp_path: Path) -> None:
    async with scene(tmp_path, alone("a"), lambda _: {"works": "unknown"}, ground=["g"]) as here:
        found = await here.uniting.combine_all(here.patches)
        assert (found.kept, found.together.tree) == ((), here.patches[0].on)
        assert [type(event) for event in here.told] == [SubtaskVerifying, SubtaskGated]


# -- on another starting tree --


async def test_patches_in_the_starting_tree_are_part_of_the_union_and_not_applied_again(tmp_path: Path) -> None:
    async with scene(tmp_path, alone("a", "c"), lambda _: {}, ground=["g"]) as here:
        found = await here.uniting.combine_all(here.patches)
        (verified,) = [event for event in here.told if isinstance(event, UnionVerified)]
        assert verified.applied == ("earlier", "a", "c")
        assert here.applied == ["a", "c"]
        assert found.kept == ("a", "c")
        assert here.judge.proven == [frozenset({"g", "a", "c"})]


async def test_a_patch_with_another_starting_tree_is_never_merged(tmp_path: Path) -> None:
    async with scene(tmp_path, alone("a"), lambda _: {}, ground=["g"]) as here:
        here.uniting.integration.base = here.uniting.gate.base
        with pytest.raises(AssertionError, match="is not based on"):
            await here.uniting.combine_all(here.patches)


async def test_on_another_starting_tree_a_goal_that_one_reaches_and_another_breaks_names_both(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, alone("a", "b", "x"), broken_by("x"), ground=["g"]) as here:
        found = await here.uniting.combine_all(here.patches)
    (dropped,) = found.dropped
    assert named(dropped) == {"b", "x"}
    assert set(found.kept) == {"a", "b", "x"} - {dropped.patch}


# -- goals stay reached --


@pytest.mark.parametrize(
    ("work", "culprit", "partner"),
    [({**alone("b"), **large("x")}, "x", "b"), ({**large("b"), **alone("x")}, "b", "x")],
    ids=["who breaks it comes last", "who reaches it comes last"],
)
async def test_a_goal_that_one_reaches_and_another_breaks_names_both(
    tmp_path: Path, work: Work, culprit: str, partner: str
) -> None:
    async with scene(tmp_path, work, broken_by("x")) as here:
        found = await here.uniting.combine_all(here.patches)
        (rejected,) = [event for event in here.told if isinstance(event, UnionRejected)]
    (dropped,) = found.dropped
    assert (dropped.patch, dropped.partner, dropped.check) == (culprit, partner, "goal")
    assert dropped.why == rejected.reason == "build_test_failed"
    assert found.kept == (partner,)


async def test_without_gains_to_keep_a_goal_decides_nothing(tmp_path: Path) -> None:
    found = await united(tmp_path, alone("b", "x"), broken_by("x"), keeps_gains=False)
    assert (found.kept, found.dropped, found.runs, found.confirmations) == (("b", "x"), (), 1, 0)


@pytest.mark.parametrize(
    "rule",
    [goal(lambda _: False), goal(lambda there: not {"a", "b"} ^ there), goal(lambda there: {"a", "b", "x"} <= there)],
    ids=["by nobody", "by two and broken by the third", "by all"],
)
async def test_a_goal_that_no_patch_reaches_alone_does_not_count(tmp_path: Path, rule: Rule) -> None:
    found = await united(tmp_path, alone("a", "b", "x"), rule)
    assert (found.kept, found.dropped, found.runs) == (("a", "b", "x"), (), 1)


async def test_a_goal_reached_together_in_another_way_is_kept(tmp_path: Path) -> None:
    found = await united(tmp_path, alone("b", "c", "x"), goal(lambda t: "c" in t or ("b" in t and "x" not in t)))
    assert (found.kept, found.dropped) == (("b", "c", "x"), ())


@pytest.mark.parametrize("work", [alone("a", "b", "x"), alone("x", "b", "a"), {**large("b"), **alone("x", "a")}])
async def test_of_three_patches_the_harmless_one_is_kept_and_never_named(tmp_path: Path, work: Work) -> None:
    found = await united(tmp_path, work, broken_by("x"))
    (dropped,) = found.dropped
    assert named(dropped) == {"b", "x"}
    assert set(found.kept) == {"a", "b", "x"} - {dropped.patch}


async def test_a_goal_that_two_break_only_together_needs_all_three(tmp_path: Path) -> None:
    found = await united(tmp_path, alone("b", "x", "y"), broken_by("x", "y"))
    (dropped,) = found.dropped
    assert (dropped.partner, dropped.check, len(found.kept)) == (None, "goal", 2)
    assert all(id in dropped.detail for id in found.kept)


async def test_two_patches_that_break_each_other_s_goal_are_found(tmp_path: Path) -> None:
    def rule(there: frozenset[str]) -> dict[str, DeltaKind | CheckDelta]:
        both = {"b", "c"} <= there
        return {
            "one": "gained" if "b" in there and not both else "open",
            "two": "gained" if "c" in there and not both else "open",
        }

    found = await united(tmp_path, alone("a", "b", "c"), rule)
    (dropped,) = found.dropped
    assert named(dropped) == {"b", "c"}
    assert found.flaky == ()


async def test_a_union_without_the_patch_that_reached_a_goal_need_not_reach_it(tmp_path: Path) -> None:
    """Two break it; leaving out the one that reached it costs less than leaving out both of them."""
    rule = goal(lambda there: "b" in there and not there & {"x", "y"})
    found = await united(tmp_path, alone("b", "x", "y"), rule)
    assert found.kept == ("x", "y")
    assert [one.patch for one in found.dropped] == ["b"]


async def test_the_same_tree_from_other_patches_need_not_reach_their_goals(tmp_path: Path) -> None:
    """All modules of `b` are in `x` too, so a union has the same tree with and without `b`; `a` is not involved."""
    work = {"a": ["a"], "b": ["b"], "x": ["b", "x"]}
    found = await united(tmp_path, work, broken_by("x"))
    (dropped,) = found.dropped
    assert (dropped.patch, dropped.partner, dropped.check) == ("x", "b", "goal")
    assert found.kept == ("a", "b")


async def test_the_kept_union_was_proven_with_its_goals(tmp_path: Path) -> None:
    async with scene(tmp_path, alone("a", "b", "x"), broken_by("x")) as here:
        found = await here.uniting.combine_all(here.patches)
        assert here.judge.proven == [frozenset(found.kept)]
    assert found.check_deltas is not None
    assert found.check_deltas.lacking(found.check_deltas.gains) == ()


async def test_a_goal_lost_only_by_the_stricter_proof_is_searched_again(tmp_path: Path) -> None:
    reached = goal(lambda there: "b" in there)
    async with scene(tmp_path, alone("a", "b", "x"), reached, when_proven=broken_by("x")) as here:
        found = await here.uniting.combine_all(here.patches)
    (dropped,) = found.dropped
    assert (named(dropped), dropped.check) == ({"b", "x"}, "goal")
    assert len(found.kept) == 2


# -- by test --


def by_test(*passed: str, stands: DeltaKind = "open", status: str = "fail", quarantined: bool = False) -> CheckDelta:
    return CheckDelta(name="tests", kind=stands, status=status, passed=frozenset(passed), quarantined=quarantined)


def rule_from_tests(of_b: CheckDelta, of_both: CheckDelta, otherwise: CheckDelta | None = None) -> Rule:
    def rule(there: frozenset[str]) -> dict[str, DeltaKind | CheckDelta]:
        return {"tests": of_both if {"b", "x"} <= there else of_b if "b" in there else otherwise or by_test("old")}

    return rule


@pytest.mark.parametrize(
    ("of_b", "of_both", "lost"),
    [
        (by_test("old", "new", stands="kept"), by_test("old", stands="kept"), True),
        (by_test("old", "new", stands="gained", status="pass"), by_test("old", stands="kept"), True),
        (by_test("old", "new"), by_test(status="timeout"), True),
        (by_test("old", "new"), by_test("old", "new"), False),
        (by_test("old", "new"), by_test("old", stands="gained", status="pass"), False),
        (by_test("new", status="flaky"), by_test("old"), False),
        (by_test("old"), by_test("old"), False),
    ],
    ids=[
        "a test",
        "the whole check, though no test of the base",
        "all, for want of time",
        "nothing",
        "the check is green",
        "a test that wavered",
        "a test nobody reached",
    ],
)
async def test_in_a_check_that_stays_red_each_fixed_test_counts(
    tmp_path: Path, of_b: CheckDelta, of_both: CheckDelta, lost: bool
) -> None:
    found = await united(tmp_path, alone("a", "b", "x"), rule_from_tests(of_b, of_both))
    assert [(named(one), one.check) for one in found.dropped] == ([({"b", "x"}, "tests")] if lost else [])


async def test_two_checks_that_are_always_red_together_are_not_called_flaky(tmp_path: Path) -> None:
    """The second of them is known from another pair, and so is tried first."""

    def rule(there: frozenset[str]) -> dict[str, DeltaKind | CheckDelta]:
        both, others = {"a", "x"} <= there, {"c", "y"} <= there
        return {"works": "turned" if both else "kept", "also": "turned" if both or others else "kept"}

    found = await united(tmp_path, {**alone("c", "y"), **large("a"), **large("x")}, rule)
    assert {frozenset(named(one)) for one in found.dropped} == {frozenset("ax"), frozenset("cy")}
    assert found.flaky == ()


NAMES = st.sampled_from(["one", "two", "three"])
LEGS = st.builds(
    CheckDelta,
    name=NAMES,
    kind=st.sampled_from(["kept", "gained", "turned", "open", "unknown"]),
    status=st.sampled_from(["pass", "fail", "timeout"]),
    passed=st.frozensets(st.sampled_from(["t1", "t2"])),
)
JUDGEMENTS = st.builds(CheckDeltas, st.lists(LEGS, unique_by=lambda leg: leg.name).map(tuple))
GAINS = st.frozensets(st.tuples(NAMES, st.sampled_from(["", "t1", "t2"])))


@given(JUDGEMENTS, GAINS, GAINS)
def test_present_gains_are_never_missing_and_expecting_more_never_misses_less(
    said: CheckDeltas, some: Gains, more: Gains
) -> None:
    assert said.lacking(said.gains) == ()
    assert said.lacking(frozenset()) == ()
    assert set(said.lacking(some)) <= set(said.lacking(some | more))
