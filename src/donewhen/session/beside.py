"""A tree judged beside its base: for each check whether it is as good as it was. What a gate and a union are told.

A check that is red on the base cannot turn. But where its runner names its tests, each test that passed on the base
counts by itself: one check for everything, which is what most contracts have, still shows what a patch breaks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from donewhen.events import BaselineCompleted, Emit
from donewhen.judge.contract import Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.detect.building import build_checks
from donewhen.judge.verdict import Result, Status
from donewhen.records import frozen
from donewhen.session.checking import judge_tree, plain_results
from donewhen.session.workplace import Workplace
from donewhen.union.legs import Judgement, Leg, Stands

Way = Literal["gate", "union"]
CHECKS_ALONE = replace(ALL, canary=False, reruns=False)
"""For a search, which asks again by itself, and whose answer is proven with all defences in the end."""
PRETENDED = (Status.TAMPERED, Status.VACUOUS)
"""A green that is none: worse than red, whatever the base was."""
MOST_NAMED = 3


@frozen
class Beside:
    """Judges trees over one base. Use `beside`, which judges the base first."""

    place: Workplace
    contract: Contract
    base: str
    """A commit."""
    baseline: Mapping[str, Result]
    emit: Emit

    async def __call__(
        self, tree: str, phase: Way, first: Sequence[str] = (), *, fresh: bool = False, proven: bool = True
    ) -> Judgement:
        defences = ALL if proven else CHECKS_ALONE
        names = [check.name for check in self.contract.checks]
        suspects = [name for name in names if name in first]
        others = [name for name in names if name not in suspects]
        seen = await self._judged(tree, phase, suspects or others, fresh, defences)
        if not suspects or not others or seen.turned or seen.unknown or seen.taken_back:
            return seen
        rest = await self._judged(tree, phase, others, fresh, defences)
        return Judgement((*seen.legs, *rest.legs), rest.taken_back)

    async def _judged(self, tree: str, phase: Way, only: Sequence[str], fresh: bool, defences: Defences) -> Judgement:
        verdict = await judge_tree(
            self.place,
            self.contract,
            base=self.base,
            candidate=tree,
            emit=self.emit,
            phase=phase,
            fresh=fresh,
            only=only,
            defences=defences,
        )
        legs = tuple(_leg(self.baseline[result.name], result) for result in verdict.results)
        return Judgement(legs, tuple(f"{edit.path} is protected: {edit.reason}" for edit in verdict.edits))


async def beside(place: Workplace, contract: Contract, base: str, emit: Emit) -> Beside:
    """The contract and what shows that the project builds, judged on the base."""
    files = place.trees.directory / (await place.trees.layers.files(base)).path
    known = {check.name for check in contract.checks}
    builds = tuple(check for check in build_checks(files) if check.name not in known)
    whole = replace(contract, checks=(*contract.checks, *builds))
    tree = await place.store.tree_of(base)
    verdict = await judge_tree(place, whole, base=base, candidate=tree, emit=emit, phase="baseline")
    emit(BaselineCompleted(results=tuple(plain_results(verdict))))
    # A build that does not stand on the base, most often for want of its tools, has nothing to say about a patch.
    stands = {result.name for result in verdict.results if result.status is Status.PASS or result.name in known}
    checks = tuple(check for check in whole.checks if check.name in stands)
    return Beside(place, replace(whole, checks=checks), base, {one.name: one for one in verdict.results}, emit)


def _leg(before: Result, now: Result) -> Leg:
    stands, detail = compared(before, now)
    return Leg(
        name=now.name,
        stands=stands,
        status=now.status.value,
        detail=detail,
        exit_code=now.exit_code,
        duration_ms=now.duration_ms,
        quarantined=now.quarantined,
    )


def compared(before: Result, now: Result) -> tuple[Stands, str]:
    """How a check stands, and in words why."""
    words = "; ".join(now.reasons) or now.status.value
    if now.quarantined:
        return "open", "in quarantine"
    if now.status is Status.PASS:
        return ("kept" if before.status is Status.PASS else "gained"), ""
    if now.status is Status.INFRA:
        return ("unknown" if before.status is not Status.INFRA else "open"), words
    if now.status in PRETENDED and before.status is not now.status:
        return "turned", f"{now.name} is {now.status.value}: {words}"
    if before.status is Status.PASS:
        return ("unknown" if now.status is Status.FLAKY else "turned"), f"{now.name} is {now.status.value}: {words}"
    return _test_by_test(before, now)


def _test_by_test(before: Result, now: Result) -> tuple[Stands, str]:
    """A check that was red on the base: the tests in it that passed there must pass."""
    if not before.passed:
        return "open", f"{now.status.value}, and {before.status.value} on the base"
    lost = sorted(before.passed - now.passed)
    if not lost:
        return "kept", f"{now.status.value} as on the base; the {len(before.passed)} tests that passed there pass"
    more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
    return "turned", f"{now.name}: {', '.join(lost[:MOST_NAMED])}{more} passed on the base"
