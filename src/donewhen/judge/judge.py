"""One tree in, one result per check out. The judge runs every check, whatever the others say, and believes none alone.

    verdict = await Judge(ground, contract, case, runs, emit).verdict()

What is judged is J: the candidate with protected paths from the base. A red check is run again only where that decides
something; red and green on the same tree is flaky, never a pass. A green one has to show that its tests ran (see
`evidence`), that its runner can still fail (a canary, proven on the base first), and that new tests pass repeatedly.
"""

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING

from donewhen import events
from donewhen.events import Emit
from donewhen.judge import evidence, judged
from donewhen.judge.bench import Bench
from donewhen.judge.cache import Runs, key_of
from donewhen.judge.contract import Check, Contract
from donewhen.judge.ground import Ground
from donewhen.judge.judged import Judged
from donewhen.judge.proof import Case, Proof
from donewhen.judge.ran import Ran
from donewhen.judge.verdict import Result, Status, Verdict
from donewhen.workspace.beneath import Root

if TYPE_CHECKING:
    from donewhen.judge.protect import Guard
    from donewhen.judge.seal import Seal

# Where nothing changed and every run is kept, no rule about a path is asked: `protect` and `seal` are loaded on use.


class Judge:
    """Judges one candidate."""

    def __init__(self, ground: Ground, contract: Contract, case: Case, runs: Runs, emit: Emit) -> None:
        self._ground = ground
        self._contract = contract
        self._case = case
        self._runs = runs
        self._emit = emit
        self._baseline: dict[str, Result] = {}
        self._logs: dict[str, str] = {}
        self._made_guard: Guard | None = None

    async def verdict(self) -> Verdict:
        base_tree = await self._ground.store.tree_of(self._case.base)
        base_files = await self._ground.trees.layers.root_of(self._case.base)
        found = await self._judged(base_tree, base_files)
        for edit in found.edits:
            self._emit(events.ProtectedEdit(**asdict(edit)))
        bench = await self._bench(base_tree, base_files, found)
        proof = Proof(bench, self._contract, found, self._case, self._told_baseline)
        results = [await self._result(proof, check) for check in self._contract.checks]
        results = await self._rerun(proof, results)
        verdict = Verdict(
            base=self._case.base,
            candidate=self._case.candidate,
            tree=found.tree,
            results=tuple(results),
            edits=found.edits,
            notes=tuple(proof.notes),
            logs={r.name: self._logs[r.name] for r in results if r.status is not Status.PASS},
        )
        verdict = await self._controlled(proof, verdict)
        return replace(verdict, baseline=tuple(self._baseline.values()))

    @property
    def _protecting(self) -> bool:
        return self._case.defences.protection and not self._case.as_is

    def _guard(self, base_files: Root) -> "Guard":
        """The rules about paths; one set of them for the whole verdict."""
        from donewhen.judge.protect import Guard

        self._made_guard = self._made_guard or Guard(self._contract, base_files)
        return self._made_guard

    async def _judged(self, base_tree: str, base_files: Root) -> Judged:
        case = self._case
        if not self._protecting or case.candidate == base_tree:
            return judged.as_it_is(case.candidate)
        from donewhen.judge import protect

        store, sites, guard = self._ground.store, case.surroundings.sites, self._guard(base_files)
        return await protect.judged(store, case.base, case.candidate, self._contract, base_files, sites, guard)

    async def _bench(self, base_tree: str, base_files: Root, found: Judged) -> Bench:
        case = self._case
        bench = Bench(
            ground=self._ground,
            base=case.base,
            base_tree=base_tree,
            base_files=base_files,
            surroundings=case.surroundings,
            defences=case.defences,
            runs=self._runs,
        )
        if not self._protecting or not case.defences.sealing:
            return bench
        changes = await self._ground.store.diff(base_tree, found.tree)
        changed, directories = {change.path for change in changes}, {check.dir for check in self._contract.checks}
        added = [change.path for change in changes if change.new is not None]

        @cache
        def seal() -> "Seal":
            from donewhen.judge.seal import Seal

            return Seal(self._guard(base_files), base_files, added, case.surroundings.sites)

        def broken(written: Iterable[str]) -> tuple[str, ...]:
            return seal().broken(written)

        return replace(
            bench,
            broken=broken,
            fixed=cache(lambda: seal().fixed(changed, directories)),
            rules=key_of(self._contract.protect, self._contract.editable),
        )

    async def _result(self, proof: Proof, check: Check) -> Result:
        phase = self._case.phase
        self._emit(events.CheckStarted(name=check.name, phase=phase))
        result = await self._weighed(proof, check, await proof.bench.run(check, proof.judged.tree))
        self._tell(result, phase)
        if result.status is Status.TIMEOUT and self._case.overloaded():
            # A time limit that ran out on a machine with too much to do says nothing about the work: once more.
            self._emit(events.CheckStarted(name=check.name, phase="rerun"))
            result = await self._weighed(proof, check, await proof.bench.again(check, proof.judged.tree), attempt=2)
            result = replace(result, reasons=(*result.reasons, "timed out at first, on an overloaded machine"))
            self._tell(result, "rerun")
        return result

    async def _weighed(self, proof: Proof, check: Check, ran: Ran, attempt: int = 1) -> Result:
        """What one run of a check is worth."""
        self._logs[check.name] = ran.log or ran.tail
        trouble = self._case.surroundings.trouble
        status, reason = (Status.INFRA, trouble) if trouble else evidence.outcome(check, ran)
        reasons = [reason] if reason else []
        if status is Status.PASS:
            doubts = await proof.doubts(check, ran)
            status, reasons = evidence.worst(doubts), [line for _, line in doubts]
        return self._made(check, ran, status, reasons, attempt)

    def _made(self, check: Check, ran: Ran, status: Status, reasons: list[str], attempt: int = 1) -> Result:
        quarantined = check.in_quarantine(self._case.today)
        return result_of(check, ran, status, reasons, attempt=attempt, quarantined=quarantined)

    def _tell(self, result: Result, phase: str) -> None:
        self._emit(completed(result, phase))

    def _told_baseline(self, check: Check, ran: Ran) -> None:
        status, reason = evidence.outcome(check, ran)
        result = self._made(check, ran, status, [reason] if reason else [])
        if check.name not in self._baseline:
            self._emit(events.CheckStarted(name=check.name, phase="baseline"))
            self._tell(result, "baseline")
        self._baseline[check.name] = result

    async def _rerun(self, proof: Proof, results: list[Result]) -> list[Result]:
        """Run red checks again as long as only they are in the way, until one is red for good."""
        open_ones = [r for r in results if r.status is not Status.PASS and not r.quarantined]
        decides = self._case.defences.reruns and self._case.phase != "baseline"
        if not decides or any(r.status not in (Status.FAIL, Status.FLAKY) for r in open_ones):
            return results
        checks = {check.name: check for check in self._contract.checks}
        for number, result in enumerate(results):
            if result.status is Status.FAIL and not result.quarantined:
                again = await self._second_look(proof, checks[result.name], result)
                results = [*results[:number], again, *results[number + 1 :]]
                if again.status is Status.FAIL:
                    break
        return results

    async def _second_look(self, proof: Proof, check: Check, first: Result) -> Result:
        bench, tree = proof.bench, proof.judged.tree
        kept = await bench.run(check, tree) if first.cached else None
        self._emit(events.CheckStarted(name=check.name, phase="rerun"))
        if kept is not None and kept.confirmed:
            confirmed = replace(first, attempt=2)
            self._tell(confirmed, "rerun")
            return confirmed
        ran = await bench.again(check, tree)
        self._logs[check.name] = ran.log or ran.tail
        status, reason = evidence.outcome(check, ran)
        if status is Status.PASS and evidence.wants_tests(check, self._contract):
            # A runner that reports failures is red, whatever its exit code.
            status, reason = next(iter(evidence.doubts_alone(ran)), (status, reason))
        if status is Status.PASS:
            await bench.drop(check, tree)
            reasons = ["red, then green on the same tree", *await proof.flaky_on_base(check)]
            result = self._made(check, ran, Status.FLAKY, reasons, attempt=2)
        else:
            await bench.keep(check, tree, replace(ran, confirmed=True))
            result = self._made(check, ran, status, [reason], attempt=2)
        self._tell(result, "rerun")
        return result

    async def _controlled(self, proof: Proof, verdict: Verdict) -> Verdict:
        """Take the product's changes out again: a green that stays green does not depend on them.

        A part of the work need not turn anything: at the gate this is not asked.
        """
        asked = self._contract.min_evidence != "exit" and self._case.phase != "gate"
        if not verdict.green or not asked or not proof.changed:
            return verdict
        for check in self._contract.checks:
            ran = await proof.control(check)
            if evidence.outcome(check, ran)[0] is not Status.PASS:
                return replace(verdict, discriminating=True)
        verdict = replace(verdict, discriminating=False)
        if self._contract.min_evidence != "control":
            return verdict
        reason = "not discriminating: it is green without the product's changes as well"
        vacuous = (replace(r, status=Status.VACUOUS, reasons=(*r.reasons, reason)) for r in verdict.results)
        return replace(verdict, results=tuple(vacuous))


def result_of(
    check: Check, ran: Ran, status: Status, reasons: list[str], *, attempt: int = 1, quarantined: bool = False
) -> Result:
    return Result(
        name=check.name,
        status=status,
        exit_code=ran.exit_code,
        signal=ran.signal,
        duration_ms=ran.duration_ms,
        output_tail=ran.tail,
        tests=ran.reading.tests if ran.reading else None,
        runner=ran.reading.runner if ran.reading else "",
        evidence=ran.evidence,
        reasons=tuple(reasons),
        attempt=attempt,
        cached=ran.cached,
        quarantined=quarantined,
        passed=frozenset(ran.reading.ran) - frozenset(ran.reading.failures) if ran.reading else frozenset(),
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
        tests=asdict(result.tests) if result.tests else None,
        evidence=result.evidence,
        cached=result.cached,
        reasons=result.reasons,
    )
