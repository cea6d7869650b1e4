"""Judges a tree against its base, check by check: whether each check is as good as it was. For the gate and the union.

A check that is red on the base cannot break. But if its runner names its tests, each test that passed on the base
counts separately. So a single check for everything, which is what most contracts have, still shows what a patch breaks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from donewhen.events import BaselineCompleted, Emit, Event
from donewhen.judge.contract import Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.detect.build_checks import build_checks
from donewhen.judge.verdict import CheckStatus, Result, Verdict
from donewhen.records import frozen
from donewhen.session.check.judge_tree import TreeToJudge, check_results, judge_tree
from donewhen.session.workplace import Workplace
from donewhen.union.check_delta import CheckDelta, CheckDeltas, DeltaKind

Way = Literal["gate", "union"]
CHECKS_ALONE = replace(ALL, canary=False, reruns=False)
"""For a search: it repeats its questions itself, and its answer is proven with all defences in the end."""
NO_SECOND_LOOK = replace(ALL, reruns=False)
"""For a single patch and a check that is red on the base: to be red as before, it need not be red twice."""
MOST_NAMED = 3


@frozen
class CheckSelection:
    """Some checks of a contract, or all of them without names, and the defences to use."""

    contract: Contract
    names: Sequence[str]
    defences: Defences


@frozen
class RegressionJudge:
    """Judges trees over one base. Create it with `beside`, which judges the base first."""

    place: Workplace
    contract: Contract
    builds: Contract
    """Checks that show that the project builds.

    They are judged separately, so that the kept runs of the contract stay the same for all who judge by it.
    """
    base: str
    """The base commit."""
    baseline: Mapping[str, Result]
    emit: Emit

    async def __call__(
        self, tree: str, phase: Way, first: Sequence[str] = (), *, fresh: bool = False, proven: bool = True
    ) -> CheckDeltas:
        names = [check.name for check in self.contract.checks]
        if phase == "gate" and proven:
            return await self._alone(tree, names, fresh)
        defences = ALL if proven else CHECKS_ALONE
        before, after = [name for name in names if name in first], [name for name in names if name not in first]
        contract = [CheckSelection(self.contract, some, defences) for some in (before, after)]
        return await self._seen(tree, phase, [*contract, self._build(defences)], fresh)

    async def _alone(self, tree: str, names: Sequence[str], fresh: bool) -> CheckDeltas:
        """Judge one patch. A check that was red on the base and has a new result is judged again with all defences."""
        red = [name for name in names if self.baseline[name].status is not CheckStatus.PASS]
        green = [name for name in names if name not in red]
        steps = [
            CheckSelection(self.contract, green, ALL),
            CheckSelection(self.contract, red, NO_SECOND_LOOK),
            self._build(ALL),
        ]
        seen = await self._seen(tree, "gate", steps, fresh)
        news = [leg.name for leg in seen.deltas if leg.name in red and leg.has_changed]
        sure = await self._seen(tree, "gate", [CheckSelection(self.contract, news, ALL)], fresh)
        return CheckDeltas(tuple({leg.name: leg for leg in (*seen.deltas, *sure.deltas)}.values()), seen.restored)

    def _build(self, defences: Defences) -> "CheckSelection":
        return CheckSelection(self.builds, [check.name for check in self.builds.checks], defences)

    async def on(self, tree: str) -> "RegressionJudge":
        """Return this judge with a tree that was reached since as its baseline. Nothing is reported."""
        quiet = replace(self, emit=_nobody)
        found = [
            await quiet._verdict(tree, "union", CheckSelection(part, (), ALL), fresh=False)
            for part in (self.contract, self.builds)
            if part.checks
        ]
        known = {one.name: one for verdict in found for one in verdict.results if not one.status.blames_machine}
        return replace(self, baseline={**self.baseline, **known})

    async def _seen(self, tree: str, phase: Way, steps: Sequence["CheckSelection"], fresh: bool) -> CheckDeltas:
        """Judge one selection after the other. Stop at the first result that speaks against the tree."""
        seen = CheckDeltas(())
        for step in steps:
            if step.names:
                part = await self._judged(tree, phase, step, fresh)
                seen = CheckDeltas((*seen.deltas, *part.deltas), tuple(dict.fromkeys((*seen.restored, *part.restored))))
            if seen.broken or seen.unknown or seen.restored:
                break
        return seen

    async def _judged(self, tree: str, phase: Way, step: "CheckSelection", fresh: bool) -> CheckDeltas:
        verdict = await self._verdict(tree, phase, step, fresh)
        legs = tuple(leg_of(self.baseline[result.name], result) for result in verdict.results)
        return CheckDeltas(legs, tuple(f"{edit.path} is protected: {edit.reason}" for edit in verdict.edits))

    async def _verdict(self, tree: str, phase: Way, step: "CheckSelection", fresh: bool) -> Verdict:
        to_judge = TreeToJudge(
            base=self.base, candidate=tree, phase=phase, fresh=fresh, only=step.names, defences=step.defences
        )
        return await judge_tree(self.place, step.contract, to_judge, self.emit)


async def beside(place: Workplace, contract: Contract, base: str, emit: Emit, tell: bool = True) -> RegressionJudge:
    """Judge the contract and the build checks on the base. Return the judge. Without `tell`, report nothing."""
    files = await place.trees.layers.root_of(base)
    known = {check.name for check in contract.checks}
    builds = replace(contract, checks=tuple(check for check in build_checks(files) if check.name not in known))
    tree = TreeToJudge(base=base, candidate=await place.store.tree_of(base), phase="baseline")
    heard = emit if tell else _nobody
    found = [await judge_tree(place, part, tree, heard) for part in (contract, builds) if part.checks]
    heard(BaselineCompleted(results=tuple(one for verdict in found for one in check_results(verdict))))
    # A build check that is not green on the base, most often because its tools are missing, says nothing about a patch.
    baseline = {result.name: result for verdict in found for result in verdict.results}
    stands = tuple(check for check in builds.checks if baseline[check.name].status is CheckStatus.PASS)
    builds = replace(builds, checks=stands)
    return RegressionJudge(place, contract, builds, base, baseline, emit)


def _nobody(_: Event) -> None:
    """Ignore an event that was reported already."""


def leg_of(before: Result, now: Result) -> CheckDelta:
    """Return the check delta, with the tests that count one by one."""
    stands, detail = compared(before, now)
    counts_by_test = before.status is not CheckStatus.PASS and not now.quarantined
    return CheckDelta(
        name=now.name,
        kind=stands,
        status=now.status.value,
        detail=detail,
        exit_code=now.exit_code,
        duration_ms=now.duration_ms,
        quarantined=now.quarantined,
        passed=now.passed if counts_by_test else frozenset(),
    )


def compared(before: Result, now: Result) -> tuple[DeltaKind, str]:
    """Return how a check compares with the base, and the reason as text."""
    words = "; ".join(now.reasons) or now.status.value
    if now.quarantined:
        return "open", "in quarantine"
    if now.status is CheckStatus.PASS:
        return ("kept" if before.status is CheckStatus.PASS else "gained"), ""
    if now.status is CheckStatus.INFRA:
        return ("unknown" if before.status is not CheckStatus.INFRA else "open"), words
    if not now.status.is_believable and before.status is not now.status:
        return "turned", f"{now.name} is {now.status.value}: {words}"
    if before.status is CheckStatus.PASS:
        return (
            "unknown" if now.status is CheckStatus.FLAKY else "turned"
        ), f"{now.name} is {now.status.value}: {words}"
    return _test_by_test(before, now)


def _test_by_test(before: Result, now: Result) -> tuple[DeltaKind, str]:
    """Compare a check that was red on the base: the tests in it that passed there must pass."""
    if not before.passed:
        return "open", f"{now.status.value}, and {before.status.value} on the base"
    lost = sorted(before.passed - now.passed)
    if not lost:
        return "kept", (
            f"{now.status.value} as on the base; the {len(before.passed)} tests that passed there still pass"
        )
    more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
    return "turned", f"{now.name}: {', '.join(lost[:MOST_NAMED])}{more} passed on the base"
