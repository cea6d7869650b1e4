"""Judges a tree against its base: whether each check is as good as it was. For the gate and the union.

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

JudgePhase = Literal["gate", "union"]
SEARCH_DEFENCES = replace(ALL, canary=False, reruns=False)
"""For a search, which repeats its runs itself and confirms its result with all defences."""
WITHOUT_RERUNS = replace(ALL, reruns=False)
"""For a check that is red on the base: one red run is enough to call it unchanged."""
MOST_NAMED = 3


@frozen
class CheckSelection:
    """Which checks of a contract to run, and with which defences."""

    contract: Contract
    names: Sequence[str]
    """Empty for all of the contract."""
    defences: Defences


@frozen
class RegressionJudge:
    """Judges trees over one base. Create it with `regression_judge`, which judges the base first."""

    workplace: Workplace
    contract: Contract
    builds: Contract
    """Checks that show that the project builds.

    They are judged separately, so that the cached runs of the contract can be used by every caller.
    """
    base: str
    """The base commit."""
    baseline: Mapping[str, Result]
    emit: Emit

    async def __call__(
        self, tree: str, phase: JudgePhase, first: Sequence[str] = (), *, fresh: bool = False, proven: bool = True
    ) -> CheckDeltas:
        names = [check.name for check in self.contract.checks]
        if phase == "gate" and proven:
            return await self._judge_one_patch(tree, names, fresh)
        defences = ALL if proven else SEARCH_DEFENCES
        before, after = [name for name in names if name in first], [name for name in names if name not in first]
        contract = [CheckSelection(self.contract, some, defences) for some in (before, after)]
        return await self._deltas(tree, phase, [*contract, self._build_selection(defences)], fresh)

    async def _judge_one_patch(self, tree: str, names: Sequence[str], fresh: bool) -> CheckDeltas:
        """Judge one patch. A check that was red on the base and has a new result is judged again with all defences."""
        red = [name for name in names if self.baseline[name].status is not CheckStatus.PASS]
        green = [name for name in names if name not in red]
        selections = [
            CheckSelection(self.contract, green, ALL),
            CheckSelection(self.contract, red, WITHOUT_RERUNS),
            self._build_selection(ALL),
        ]
        first = await self._deltas(tree, "gate", selections, fresh)
        changed = [delta.name for delta in first.deltas if delta.name in red and delta.has_changed]
        second = await self._deltas(tree, "gate", [CheckSelection(self.contract, changed, ALL)], fresh)
        by_name = {delta.name: delta for delta in (*first.deltas, *second.deltas)}
        return CheckDeltas(tuple(by_name.values()), first.restored)

    def _build_selection(self, defences: Defences) -> "CheckSelection":
        return CheckSelection(self.builds, [check.name for check in self.builds.checks], defences)

    async def with_baseline(self, tree: str) -> "RegressionJudge":
        """Return this judge with a tree that was reached since as its baseline. Nothing is reported."""
        quiet = replace(self, emit=_ignore)
        found = [
            await quiet._judge(tree, "union", CheckSelection(part, (), ALL), fresh=False)
            for part in (self.contract, self.builds)
            if part.checks
        ]
        known = {one.name: one for verdict in found for one in verdict.results if not one.status.blames_machine}
        return replace(self, baseline={**self.baseline, **known})

    async def _deltas(
        self, tree: str, phase: JudgePhase, selections: Sequence["CheckSelection"], fresh: bool
    ) -> CheckDeltas:
        """Judge the selections in order. Stop after the first one with a result against the tree."""
        found = CheckDeltas(())
        for selection in selections:
            if selection.names:
                verdict = await self._judge(tree, phase, selection, fresh)
                deltas = [check_delta(self.baseline[result.name], result) for result in verdict.results]
                restored = [f"{edit.path} is protected: {edit.reason}" for edit in verdict.edits]
                found = CheckDeltas((*found.deltas, *deltas), tuple(dict.fromkeys((*found.restored, *restored))))
            if found.broken or found.unknown or found.restored:
                break
        return found

    async def _judge(self, tree: str, phase: JudgePhase, selection: "CheckSelection", fresh: bool) -> Verdict:
        to_judge = TreeToJudge(
            base=self.base, candidate=tree, phase=phase, fresh=fresh, only=selection.names, defences=selection.defences
        )
        return await judge_tree(self.workplace, selection.contract, to_judge, self.emit)


async def regression_judge(
    workplace: Workplace, contract: Contract, base: str, emit: Emit, reports: bool = True
) -> RegressionJudge:
    """Judge the base, then return the judge. Without `reports`, nothing about the base is emitted."""
    files = await workplace.trees.layers.root_of(base)
    known = {check.name for check in contract.checks}
    builds = replace(contract, checks=tuple(check for check in build_checks(files) if check.name not in known))
    tree = TreeToJudge(base=base, candidate=await workplace.store.tree_of(base), phase="baseline")
    emit_now = emit if reports else _ignore
    found = [await judge_tree(workplace, part, tree, emit_now) for part in (contract, builds) if part.checks]
    emit_now(BaselineCompleted(results=tuple(one for verdict in found for one in check_results(verdict))))
    # A build check that is not green on the base, most often because its tools are missing, says nothing about a patch.
    baseline = {result.name: result for verdict in found for result in verdict.results}
    green = tuple(check for check in builds.checks if baseline[check.name].status is CheckStatus.PASS)
    builds = replace(builds, checks=green)
    return RegressionJudge(workplace, contract, builds, base, baseline, emit)


def _ignore(_: Event) -> None:
    """Ignore an event."""


def check_delta(before: Result, now: Result) -> CheckDelta:
    """Return the check delta, with the tests that count one by one."""
    kind, detail = compare(before, now)
    counts_by_test = before.status is not CheckStatus.PASS and not now.quarantined
    return CheckDelta(
        name=now.name,
        kind=kind,
        status=now.status.value,
        detail=detail,
        exit_code=now.exit_code,
        duration_ms=now.duration_ms,
        quarantined=now.quarantined,
        passed=now.passed if counts_by_test else frozenset(),
    )


def compare(before: Result, now: Result) -> tuple[DeltaKind, str]:
    """Return how a check compares with the base, and the reason as text."""
    reason = "; ".join(now.reasons) or now.status.value
    if now.quarantined:
        return "open", "in quarantine"
    if now.status is CheckStatus.PASS:
        return ("kept" if before.status is CheckStatus.PASS else "gained"), ""
    if now.status is CheckStatus.INFRA:
        return ("unknown" if before.status is not CheckStatus.INFRA else "open"), reason
    if not now.status.is_believable and before.status is not now.status:
        return "turned", f"{now.name} is {now.status.value}: {reason}"
    if before.status is CheckStatus.PASS:
        return (
            "unknown" if now.status is CheckStatus.FLAKY else "turned"
        ), f"{now.name} is {now.status.value}: {reason}"
    return _compare_tests(before, now)


def _compare_tests(before: Result, now: Result) -> tuple[DeltaKind, str]:
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
