"""The judge: takes one tree and returns one result per check. It runs every check, whatever the others return.

    verdict = await Judge(host, contract, request, runs, emit).verdict()

It judges the judged tree: the candidate with protected paths from the base. An exit code alone is never enough. A red
check is run a second time only where that can change the verdict. A check that is red and green on the same tree is
flaky, never a pass. A green check must show that its tests ran (see `evidence`), that its runner can still fail (a
canary, proven on the base first), and that new tests pass repeatedly.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING

from donewhen import events
from donewhen.events import Emit
from donewhen.judge import evidence, graded_tree
from donewhen.judge.check_run import CheckRun, SealedWrites
from donewhen.judge.check_runs import CheckRuns
from donewhen.judge.contract import Check, Contract
from donewhen.judge.graded_tree import GradedTree
from donewhen.judge.green_proof import GreenProof, JudgeRequest, PathRules
from donewhen.judge.judge_host import JudgeHost
from donewhen.judge.run_cache import RunCache, key_of
from donewhen.judge.used_paths import UsedPaths
from donewhen.judge.verdict import Basis, CheckStatus, Result, Verdict, VerdictNote
from donewhen.workspace.beneath import Root

if TYPE_CHECKING:
    from donewhen.judge.protect import Guard, UsedFiles
    from donewhen.judge.seal import Seal

# `protect` and `seal` are imported on use: no path rule is needed if nothing changed and every run is kept.


NOT_OBSERVED = "what the checks use could not be observed here: names alone decide which changes count"


class Judge:
    """Judges one candidate."""

    def __init__(self, host: JudgeHost, contract: Contract, request: JudgeRequest, runs: RunCache, emit: Emit) -> None:
        self._host = host
        self._contract = contract
        self._request = request
        self._runs = runs
        self._emit = emit
        self._baseline: dict[str, Result] = {}
        self._logs: dict[str, str] = {}
        self._kept_guard: Guard | None = None
        self._base_runs: dict[tuple[str, frozenset[str]], CheckRun] = {}
        self._used_by: dict[str, CheckRun] = {}
        """For each check, a run on the base that shows what it uses."""
        self.used: dict[str, UsedPaths] = {}
        """For each check, what its run on the judged tree used, if that was observed."""

    async def verdict(self) -> Verdict:
        base_tree = await self._host.store.tree_of(self._request.base)
        base_files = await self._host.trees.layers.root_of(self._request.base)
        used = await self._used_files(base_tree, base_files)
        graded = await self._grade(base_tree, base_files, used)
        for edit in graded.edits:
            self._emit(events.ProtectedEdit(**asdict(edit)))
        check_runs = await self._check_runs(base_tree, base_files, graded)
        check_runs = replace(check_runs, hidden=await self._host.held_out_files(self._request.base))

        def is_protected(path: str) -> bool:
            return bool(self._guard(base_files).protects(path)) or (used is not None and used.is_judging(path))

        def reason_of_made(path: str) -> str:
            return used.reason_of_made(path) if used is not None else ""

        rules = PathRules(is_protected, reason_of_made)
        proof = GreenProof(check_runs, self._contract, graded, self._request, self._emit_baseline, rules)
        if self._kept_guard is not None and used is None and self._request.defences.observation:
            proof.notes.append(VerdictNote("", NOT_OBSERVED))
        results = [await self._result(proof, check) for check in self._contract.checks]
        results = await self._rerun(proof, results)
        verdict = Verdict(
            base=self._request.base,
            candidate=self._request.candidate,
            tree=graded.tree,
            results=tuple(results),
            edits=graded.edits,
            basis=tuple(self._basis()),
            notes=tuple(proof.notes),
            logs={r.name: self._logs[r.name] for r in results if r.status is not CheckStatus.PASS},
        )
        verdict = await self._compare_with_control(proof, verdict)
        return replace(verdict, baseline=tuple(self._baseline.values()))

    async def held_out_files(self) -> frozenset[str]:
        """Return the files of the base that belong to held-out checks alone. Raise BadInput if others need them."""
        from donewhen.judge.held_out import find_held_out_files  # most contracts have no held-out check

        base_tree = await self._host.store.tree_of(self._request.base)
        base_files = await self._host.trees.layers.root_of(self._request.base)
        runs = await self._check_runs(base_tree, base_files, graded_tree.whole_tree(base_tree))
        return await find_held_out_files(self._contract, runs)

    @property
    def _has_protection(self) -> bool:
        return self._request.defences.protection and not self._request.as_is

    def _guard(self, base_files: Root) -> "Guard":
        """Return the path rules. One instance serves the whole verdict."""
        from donewhen.judge.protect import Guard

        self._kept_guard = self._kept_guard or Guard(self._contract, base_files)
        return self._kept_guard

    async def _used_files(self, base_tree: str, base_files: Root) -> "UsedFiles | None":
        """Return the rules about what the checks used on the base; None if nothing is compared or was observed."""
        request = self._request
        is_compared = self._has_protection and request.candidate != base_tree and not request.environment.trouble
        if not is_compared or not request.defences.observation:
            return None
        check_runs = await self._check_runs(base_tree, base_files, graded_tree.whole_tree(base_tree))
        for check in self._contract.checks:
            self._used_by[check.name] = await check_runs.used_on_base(check)
        from donewhen.judge.protect import UsedFiles

        used = [run.used for run in self._used_by.values() if run.used is not None]
        return UsedFiles(self._guard(base_files), used) if used else None

    def _basis(self) -> Iterator[Basis]:
        """Yield what decided which changes count."""
        if self._kept_guard is None:
            return
        if self._contract.product:
            yield "declared"
        runs = [(check, self._used_by.get(check.name)) for check in self._contract.checks]
        if any(run is not None and run.used is not None for _, run in runs):
            yield "observed"
        if not all(run is not None and _has_seen_all(check, run) for check, run in runs):
            yield "names"

    async def _grade(self, base_tree: str, base_files: Root, used: "UsedFiles | None") -> GradedTree:
        request = self._request
        if not self._has_protection or request.candidate == base_tree:
            return graded_tree.whole_tree(request.candidate)
        from donewhen.judge import protect

        return await protect.grade_candidate(
            self._host.store, request.base, request.candidate, self._guard(base_files), request.environment.sites, used
        )

    async def _check_runs(self, base_tree: str, base_files: Root, graded: GradedTree) -> CheckRuns:
        request = self._request
        check_runs = CheckRuns(
            host=self._host,
            base=request.base,
            base_tree=base_tree,
            base_files=base_files,
            environment=request.environment,
            defences=request.defences,
            runs=self._runs,
            base_runs=self._base_runs,
        )
        if not self._has_protection or not request.defences.sealing:
            return check_runs
        changes = await self._host.store.diff(base_tree, graded.tree)
        changed, directories = {change.path for change in changes}, {check.dir for check in self._contract.checks}
        added = [change.path for change in changes if change.new is not None]

        @cache
        def seal() -> "Seal":
            from donewhen.judge.seal import Seal

            return Seal(self._guard(base_files), base_files, added, request.environment.sites)

        def forbidden_writes(written: Iterable[str]) -> SealedWrites:
            return seal().forbidden_writes(written)

        return replace(
            check_runs,
            forbidden_writes=forbidden_writes,
            seals_outside=True,
            read_only_files=cache(lambda: seal().read_only_files(changed, directories)),
            rules=key_of(self._contract.protect, self._contract.editable),
        )

    async def _result(self, proof: GreenProof, check: Check) -> Result:
        phase = self._request.phase
        self._emit(events.CheckStarted(name=check.name, phase=phase))
        run = await proof.runs.run(check, proof.graded.tree)
        if run.used is not None:
            self.used[check.name] = run.used
        result = await self._evaluate(proof, check, run)
        self._emit_result(result, phase)
        if result.status is CheckStatus.TIMEOUT and not self._request.once and self._request.overloaded():
            # A timeout on an overloaded machine is not evidence about the work, so the check runs a second time.
            self._emit(events.CheckStarted(name=check.name, phase="rerun"))
            run = await proof.runs.run_unkept(check, proof.graded.tree)
            result = await self._evaluate(proof, check, run, attempt=2)
            result = replace(result, reasons=(*result.reasons, "timed out at first, on an overloaded machine"))
            self._emit_result(result, "rerun")
        return result

    async def _evaluate(self, proof: GreenProof, check: Check, run: CheckRun, attempt: int = 1) -> Result:
        """Return the result of a check from the facts of one run."""
        self._logs[check.name] = run.log or run.tail
        trouble = self._request.environment.trouble
        status, reason = (CheckStatus.INFRA, trouble) if trouble else evidence.status_of(check, run)
        reasons = [reason] if reason else []
        if status is CheckStatus.PASS:
            doubts = await proof.doubts(check, run)
            status, reasons = evidence.worst(doubts), [line for _, line in doubts]
        return self._make_result(check, run, status, reasons, attempt)

    def _make_result(
        self, check: Check, run: CheckRun, status: CheckStatus, reasons: list[str], attempt: int = 1
    ) -> Result:
        quarantined = check.in_quarantine(self._request.today)
        return result_of(check, run, status, reasons, attempt=attempt, quarantined=quarantined)

    def _emit_result(self, result: Result, phase: str) -> None:
        self._emit(completed(result, phase))

    def _emit_baseline(self, check: Check, run: CheckRun) -> None:
        status, reason = evidence.status_of(check, run)
        result = self._make_result(check, run, status, [reason] if reason else [])
        if check.name not in self._baseline:
            self._emit(events.CheckStarted(name=check.name, phase="baseline"))
            self._emit_result(result, "baseline")
        self._baseline[check.name] = result

    async def _rerun(self, proof: GreenProof, results: list[Result]) -> list[Result]:
        """Run red checks a second time, if only red or flaky checks prevent a green verdict.

        Stop at the first check that is red twice.
        """
        deciding = [r for r in results if r.status is not CheckStatus.PASS and not r.quarantined]
        decides = self._request.defences.reruns and self._request.phase != "baseline" and not self._request.once
        if not decides or any(r.status not in (CheckStatus.FAIL, CheckStatus.FLAKY) for r in deciding):
            return results
        checks = {check.name: check for check in self._contract.checks}
        for number, result in enumerate(results):
            if result.status is CheckStatus.FAIL and not result.quarantined:
                again = await self._rerun_check(proof, checks[result.name], result)
                results = [*results[:number], again, *results[number + 1 :]]
                if again.status is CheckStatus.FAIL:
                    break
        return results

    async def _rerun_check(self, proof: GreenProof, check: Check, first: Result) -> Result:
        check_runs, tree = proof.runs, proof.graded.tree
        kept = await check_runs.run(check, tree) if first.cached else None
        self._emit(events.CheckStarted(name=check.name, phase="rerun"))
        if kept is not None and kept.confirmed:
            confirmed = replace(first, attempt=2)
            self._emit_result(confirmed, "rerun")
            return confirmed
        run = await check_runs.run_unkept(check, tree)
        self._logs[check.name] = run.log or run.tail
        status, reason = evidence.status_of(check, run)
        if status is CheckStatus.PASS and evidence.needs_tests(check, self._contract):
            # A runner that reports failures is red, whatever its exit code is.
            status, reason = next(iter(evidence.doubts_alone(run)), (status, reason))
        if status is CheckStatus.PASS:
            await check_runs.drop(check, tree)
            reasons = ["red, then green on the same tree", *await proof.flaky_on_base(check)]
            result = self._make_result(check, run, CheckStatus.FLAKY, reasons, attempt=2)
        else:
            await check_runs.keep(check, tree, replace(run, confirmed=True))
            result = self._make_result(check, run, status, [reason], attempt=2)
        self._emit_result(result, "rerun")
        return result

    async def _compare_with_control(self, proof: GreenProof, verdict: Verdict) -> Verdict:
        """Run the checks on the control tree, which lacks the product's changes, and record if one fails there.

        If all of them stay green, the verdict does not depend on the product's changes. This step is skipped in phase
        "gate": a part of the work need not change the status of any check.
        """
        is_needed = self._contract.min_evidence != "exit" and self._request.phase != "gate"
        if not verdict.green or not is_needed or not proof.changed:
            return verdict
        for check in self._contract.checks:
            run = await proof.control(check)
            if evidence.status_of(check, run)[0] is not CheckStatus.PASS:
                return replace(verdict, discriminating=True)
        verdict = replace(verdict, discriminating=False)
        if self._contract.min_evidence != "control":
            return verdict
        reason = "not discriminating: it is also green without the product's changes"
        vacuous = (replace(r, status=CheckStatus.VACUOUS, reasons=(*r.reasons, reason)) for r in verdict.results)
        return replace(verdict, results=tuple(vacuous))


def _has_seen_all(check: Check, run: CheckRun) -> bool:
    """Return True if a run on the base did not break off early, and everything that it used is known."""
    is_green = evidence.status_of(check, run)[0] is CheckStatus.PASS
    return is_green and run.used is not None and run.used.is_complete


def result_of(
    check: Check, run: CheckRun, status: CheckStatus, reasons: list[str], *, attempt: int = 1, quarantined: bool = False
) -> Result:
    return Result(
        name=check.name,
        status=status,
        exit_code=run.exit_code,
        signal=run.signal,
        duration_ms=run.duration_ms,
        output_tail=run.tail,
        tests=run.reading.tests if run.reading else None,
        runner=run.reading.runner if run.reading else "",
        evidence=run.evidence,
        reasons=tuple(reasons),
        attempt=attempt,
        cached=run.cached,
        quarantined=quarantined,
        passed=frozenset(run.reading.ran) - frozenset(run.reading.failures) if run.reading else frozenset(),
    )


def completed(result: Result, phase: str) -> events.CheckCompleted:
    return events.CheckCompleted(
        name=result.name,
        phase=phase,
        attempt=result.attempt,
        status=result.status.value,
        exit_code=result.exit_code,
        signal=result.signal,
        duration_ms=result.duration_ms,
        output_tail=result.output_tail,
        tests=events.TestCounts(**asdict(result.tests)) if result.tests else None,
        evidence=result.evidence,
        cached=result.cached,
        reasons=result.reasons,
    )
