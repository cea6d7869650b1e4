"""What makes a green run worth believing, by more runs where they are needed. `judge` asks; `evidence` has the rules.

The cheap doubts come first, and the first kind that is found ends the search: what is not a pass needs no more proof
that it is none.
"""

import datetime
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from donewhen.judge import evidence
from donewhen.judge.bench import Bench
from donewhen.judge.contract import Check, Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.evidence import Doubt
from donewhen.judge.ground import Surroundings
from donewhen.judge.judged import Judged
from donewhen.judge.load import is_overloaded
from donewhen.judge.ran import Ran
from donewhen.judge.verdict import Phase, Status, VerdictNote
from donewhen.records import frozen
from donewhen.workspace.objects import raw

Tell = Callable[[Check, Ran], None]

PASSES_OF_NEW_TESTS = 3


@frozen(kw_only=True)
class Case:
    """What is to be judged."""

    base: str
    """A commit; protection is taken from it."""
    candidate: str
    """A tree id."""
    surroundings: Surroundings
    today: datetime.date
    phase: Phase = "final"
    as_is: bool = False
    """Judge the candidate as it is, without protection."""
    defences: Defences = ALL
    overloaded: Callable[[], bool] = is_overloaded
    """Whether a time limit that ran out may be the machine's fault; asked when one did."""


@dataclass(slots=True)
class Proof:
    """The proof of one verdict."""

    bench: Bench
    contract: Contract
    judged: Judged
    case: Case
    tell_baseline: Tell
    notes: list[VerdictNote] = field(default_factory=list[VerdictNote])

    @property
    def changed(self) -> bool:
        """Whether there is a base to compare with. Files judged as somebody left them are compared with nothing."""
        return self.judged.tree != self.bench.base_tree and not self.case.as_is

    async def doubts(self, check: Check, ran: Ran) -> list[Doubt]:
        """Everything that speaks against a green run."""
        found = await self._tampering(check, ran)
        if not evidence.wants_tests(check, self.contract):
            return found
        found += evidence.doubts_alone(ran)
        if self.case.defences.counts:
            found += evidence.doubts_of_counts(check, ran)
        if found or not self.changed:
            return found
        return await self._doubts_beside_base(check, ran)

    async def _tampering(self, check: Check, ran: Ran) -> list[Doubt]:
        found = [(Status.TAMPERED, line) for line in self.judged.shadows] if self.case.defences.shadowing else []
        if ran.touched and self.changed:
            # What the base's own run writes there is the project's habit, not the candidate's doing.
            found += evidence.doubts_of_seal(ran, await self.base(check))
        return found

    async def _doubts_beside_base(self, check: Check, ran: Ran) -> list[Doubt]:
        defences, base = self.case.defences, await self.base(check)
        found = list(evidence.doubts_of_report(ran, base)) if defences.sidecar else []
        found += evidence.doubts_beside_base(check, ran, base) if defences.counts else ()
        if not found and defences.counts and (missing := evidence.not_run(check, ran, base)):
            # Names that differ from run to run prove nothing: only those count that a second run of the base has too.
            again = await self.bench.run(check, self.bench.base_tree, 2)
            found += evidence.doubts_of_names(missing & frozenset(again.reading.ran if again.reading else ()))
        if not found and ran.reading is not None and defences.canary:
            found += await self._canary(check)
        if not found and self.judged.control != self.bench.base_tree and defences.reruns:
            found += await self._repeated(check) or await self._older_tests_alone(check)
        return found

    async def base(self, check: Check) -> Ran:
        ran = await self.bench.run(check, self.bench.base_tree)
        self.tell_baseline(check, ran)
        return ran

    async def control(self, check: Check) -> Ran:
        if self.judged.control == self.bench.base_tree:
            return await self.base(check)
        return await self.bench.run(check, self.judged.control)

    async def flaky_on_base(self, check: Check) -> list[str]:
        """Whether the base is undecided as well, which clears the change."""
        if not self.changed:
            return []
        seen = {evidence.outcome(check, await self.base(check))[0] is Status.PASS}
        for _ in range(PASSES_OF_NEW_TESTS - 1):
            seen.add(evidence.outcome(check, await self.bench.again(check, self.bench.base_tree))[0] is Status.PASS)
            if len(seen) > 1:
                return ["the base is undecided as well: this check was flaky before"]
        return ["the base gives the same result each time: the change made it flaky"]

    async def _canary(self, check: Check) -> list[Doubt]:
        """A runner that stays green with a test that must fail cannot be believed."""
        base, tree = self.bench.base_tree, self.judged.tree
        proven, ran = await self.bench.kept_canary(check, base), await self.bench.kept_canary(check, tree)
        if proven is None or (proven.caught and ran is None):
            from donewhen.judge import runners  # a verdict out of kept runs does not need it

            asked = runners.ask(check.command, self.bench.base_files.below(check.dir), "/nowhere")
            canary = runners.canary(asked, self.bench.base_files, check.dir, secrets.token_hex(5))
            if canary is None:
                self.notes.append(VerdictNote(check.name, "no test that must fail could be added"))
                return []
            proven = proven or await self.bench.with_canary(check, base, canary.files, canary.name)
            files = await self._over_candidate(canary.files) if proven.caught else None
            ran = await self.bench.with_canary(check, tree, files, canary.name) if files else None
        if not proven.caught or ran is None:
            text = "a test that must fail cannot be added to what this command runs"
            self.notes.append(VerdictNote(check.name, text))
            return []
        return list(evidence.doubts_of_canary(check, ran))

    async def _over_candidate(self, files: Mapping[str, bytes]) -> dict[str, bytes] | None:
        """The files of a canary, made for the base, with what was added to them put onto the candidate's instead."""
        store = self.bench.ground.store
        changes = await store.diff(self.bench.base_tree, self.judged.tree)
        changed = {change.path: change.new for change in changes if change.path in files and change.old is not None}
        laid = dict(files)
        for path, entry in changed.items():
            before = self.bench.base_files.read(path, len(files[path]))
            if entry is None or before is None or not files[path].startswith(before):
                return None
            (now,) = await store.bare.readable_contents([entry.id])
            if now is None:
                return None
            laid[path] = now + files[path][len(before) :]
        return laid

    async def _older_tests_alone(self, check: Check) -> list[Doubt]:
        """What was green with new test files must be green without them: they may add tests, and not help others."""
        from donewhen.workspace.store import edit

        store, base = self.bench.ground.store, self.bench.base_tree
        added = [change.path for change in await store.diff(base, self.judged.control) if change.old is None]
        alone = await edit.with_changes(store.bare, self.judged.tree, {raw(path): None for path in added})
        if alone == self.judged.tree:
            return []
        status, reason = evidence.outcome(check, await self.bench.run(check, alone))
        if status is Status.PASS or (await self.base(check)).reading is None:
            return []
        return [(Status.TAMPERED, f"the older tests pass only together with the new test files ({reason})")]

    async def _repeated(self, check: Check) -> list[Doubt]:
        """New tests have to pass more than once."""
        for number in range(2, PASSES_OF_NEW_TESTS + 1):
            ran = await self.bench.run(check, self.judged.tree, number)
            if evidence.outcome(check, ran)[0] is not Status.PASS:
                await self.bench.drop(check, self.judged.tree)
                return [(Status.FLAKY, "with new tests, green and then red on the same tree")]
        return []
