"""A tree judged beside its base: for each check whether it is as good as it was. What a gate and a union are told.

A check that is red on the base cannot turn. But where its runner names its tests, each test that passed on the base
counts by itself: one check for everything, which is what most contracts have, still shows what a patch breaks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from donewhen.events import BaselineCompleted, Emit, Event
from donewhen.judge.contract import Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.detect.building import build_checks
from donewhen.judge.verdict import Result, Status, Verdict
from donewhen.records import frozen
from donewhen.session.checking import judge_tree, plain_results
from donewhen.session.workplace import Workplace
from donewhen.union.legs import Judgement, Leg, Stands

Way = Literal["gate", "union"]
CHECKS_ALONE = replace(ALL, canary=False, reruns=False)
"""For a search, which asks again by itself, and whose answer is proven with all defences in the end."""
NO_SECOND_LOOK = replace(ALL, reruns=False)
"""For a patch alone and a check that is red on the base: to be red as it was, it need not be red twice."""
PRETENDED = (Status.TAMPERED, Status.VACUOUS)
"""A green that is none: worse than red, whatever the base was."""
UNSURE = (Status.FLAKY, Status.TIMEOUT, Status.INFRA)
"""Nothing that anybody could be measured by."""
MOST_NAMED = 3


@frozen
class Step:
    """Some checks of a contract, or all of it without names, and how hard they are looked at."""

    contract: Contract
    names: Sequence[str]
    defences: Defences


@frozen
class Beside:
    """Judges trees over one base. Use `beside`, which judges the base first."""

    place: Workplace
    contract: Contract
    builds: Contract
    """What shows that the project builds. It is judged by itself, so that what is kept of the contract's runs stays
    the same for everybody who judges by it."""
    base: str
    """A commit."""
    baseline: Mapping[str, Result]
    emit: Emit

    async def __call__(
        self, tree: str, phase: Way, first: Sequence[str] = (), *, fresh: bool = False, proven: bool = True
    ) -> Judgement:
        names = [check.name for check in self.contract.checks]
        if phase == "gate" and proven:
            return await self._alone(tree, names, fresh)
        defences = ALL if proven else CHECKS_ALONE
        before, after = [name for name in names if name in first], [name for name in names if name not in first]
        contract = [Step(self.contract, some, defences) for some in (before, after)]
        return await self._seen(tree, phase, [*contract, self._build(defences)], fresh)

    async def _alone(self, tree: str, names: Sequence[str], fresh: bool) -> Judgement:
        """One patch. A check that was red on the base and has something new to say is looked at with all defences."""
        red = [name for name in names if self.baseline[name].status is not Status.PASS]
        green = [name for name in names if name not in red]
        steps = [Step(self.contract, green, ALL), Step(self.contract, red, NO_SECOND_LOOK), self._build(ALL)]
        seen = await self._seen(tree, "gate", steps, fresh)
        news = [leg.name for leg in seen.legs if leg.name in red and leg.has_news]
        sure = await self._seen(tree, "gate", [Step(self.contract, news, ALL)], fresh)
        return Judgement(tuple({leg.name: leg for leg in (*seen.legs, *sure.legs)}.values()), seen.taken_back)

    def _build(self, defences: Defences) -> "Step":
        return Step(self.builds, [check.name for check in self.builds.checks], defences)

    async def on(self, tree: str) -> "Beside":
        """The same, beside a tree that was reached since; nobody is told."""
        quiet = replace(self, emit=_nobody)
        found = [
            await quiet._verdict(tree, "union", Step(part, (), ALL), fresh=False)
            for part in (self.contract, self.builds)
            if part.checks
        ]
        known = {one.name: one for verdict in found for one in verdict.results if one.status not in UNSURE}
        return replace(self, baseline={**self.baseline, **known})

    async def _seen(self, tree: str, phase: Way, steps: Sequence["Step"], fresh: bool) -> Judgement:
        """One step after the other; what speaks against the tree ends it."""
        seen = Judgement(())
        for step in steps:
            if step.names:
                part = await self._judged(tree, phase, step, fresh)
                seen = Judgement((*seen.legs, *part.legs), tuple(dict.fromkeys((*seen.taken_back, *part.taken_back))))
            if seen.turned or seen.unknown or seen.taken_back:
                break
        return seen

    async def _judged(self, tree: str, phase: Way, step: "Step", fresh: bool) -> Judgement:
        verdict = await self._verdict(tree, phase, step, fresh)
        legs = tuple(leg_of(self.baseline[result.name], result) for result in verdict.results)
        return Judgement(legs, tuple(f"{edit.path} is protected: {edit.reason}" for edit in verdict.edits))

    async def _verdict(self, tree: str, phase: Way, step: "Step", fresh: bool) -> Verdict:
        return await judge_tree(
            self.place,
            step.contract,
            base=self.base,
            candidate=tree,
            emit=self.emit,
            phase=phase,
            fresh=fresh,
            only=step.names,
            defences=step.defences,
        )


async def beside(place: Workplace, contract: Contract, base: str, emit: Emit, tell: bool = True) -> Beside:
    """The contract and what shows that the project builds, judged on the base; without a word if not `tell`."""
    files = await place.trees.layers.root_of(base)
    known = {check.name for check in contract.checks}
    builds = replace(contract, checks=tuple(check for check in build_checks(files) if check.name not in known))
    tree = await place.store.tree_of(base)
    heard = emit if tell else _nobody
    found = [
        await judge_tree(place, part, base=base, candidate=tree, emit=heard, phase="baseline")
        for part in (contract, builds)
        if part.checks
    ]
    heard(BaselineCompleted(results=tuple(one for verdict in found for one in plain_results(verdict))))
    # A build that does not stand on the base, most often for want of its tools, has nothing to say about a patch.
    baseline = {result.name: result for verdict in found for result in verdict.results}
    stands = tuple(check for check in builds.checks if baseline[check.name].status is Status.PASS)
    builds = replace(builds, checks=stands)
    return Beside(place, contract, builds, base, baseline, emit)


def _nobody(_: Event) -> None:
    """Hears what somebody else has told already."""


def leg_of(before: Result, now: Result) -> Leg:
    """How a check stands, with the tests that count one by one."""
    stands, detail = compared(before, now)
    counts_by_test = before.status is not Status.PASS and not now.quarantined
    return Leg(
        name=now.name,
        stands=stands,
        status=now.status.value,
        detail=detail,
        exit_code=now.exit_code,
        duration_ms=now.duration_ms,
        quarantined=now.quarantined,
        passed=now.passed if counts_by_test else frozenset(),
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
