"""Makes more runs, where they are needed, before a green run is believed. `judge` calls it; `evidence` has the rules.

The cheap comparisons come first. The search ends at the first kind of doubt that is found: a check that does not pass
needs no further proof. The module also detects an overloaded machine, on which a timeout proves little about the work.
"""

import contextlib
import datetime
import os
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from donewhen.judge import evidence
from donewhen.judge.check_run import CheckRun
from donewhen.judge.check_runs import CheckRuns
from donewhen.judge.contract import Check, Contract
from donewhen.judge.defences import ALL, Defences
from donewhen.judge.evidence import Doubt
from donewhen.judge.graded_tree import GradedTree
from donewhen.judge.judge_host import JudgeEnvironment
from donewhen.judge.mentions import mentioned_names
from donewhen.judge.used_paths import UsedPaths
from donewhen.judge.verdict import CheckStatus, Phase, VerdictNote
from donewhen.records import frozen
from donewhen.workspace.beneath import LeavesRoot, Root
from donewhen.workspace.git.objects import raw
from donewhen.workspace.git.store import edit_tree

if TYPE_CHECKING:
    from donewhen.judge.base_tests import BaseTests

OVERLOAD_FACTOR = 2.0
"""More runnable processes per CPU than this mean an overloaded machine."""


def is_overloaded() -> bool:
    """Return True if the load average of the last minute is too high for the number of CPUs."""
    return os.getloadavg()[0] > OVERLOAD_FACTOR * (os.cpu_count() or 1)


EmitBaseline = Callable[[Check, CheckRun], None]

PASSES_OF_NEW_TESTS = 3
DOCUMENTS = (".md", ".rst", ".txt", ".gitignore", ".gitattributes")
"""Files that may name a data file without using it."""
MOST_SCRIPTS, SCRIPT_BYTES = 32, 64 * 1024
"""How much is read of the scripts that a check starts."""


@frozen(kw_only=True)
class JudgeRequest:
    """The input of the judge."""

    base: str
    """A commit. Protected paths are restored from it."""
    candidate: str
    """A tree id."""
    environment: JudgeEnvironment
    today: datetime.date
    phase: Phase = "final"
    as_is: bool = False
    """Judge the candidate unchanged, without protection."""
    once: bool = False
    """Run no check a second time: for a trial whose verdict decides nothing."""
    defences: Defences = ALL
    overloaded: Callable[[], bool] = is_overloaded
    """Returns True if the machine may be the cause of a timeout. Called only after a timeout."""


class PathRules(NamedTuple):
    is_protected: Callable[[str], bool]
    """Tells whether a path of the base is protected from the work."""
    reason_of_made: Callable[[str], str]
    """Returns why one program of a check may not make a file for another one; empty if it may."""


@dataclass(slots=True)
class GreenProof:
    """The extra runs for one verdict."""

    runs: CheckRuns
    contract: Contract
    graded: GradedTree
    request: JudgeRequest
    emit_baseline: EmitBaseline
    rules: PathRules
    notes: list[VerdictNote] = field(default_factory=list[VerdictNote])

    @property
    def changed(self) -> bool:
        """True if the tree is compared with the base: they differ and `as_is` is off."""
        return self.graded.tree != self.runs.base_tree and not self.request.as_is

    async def doubts(self, check: Check, run: CheckRun) -> list[Doubt]:
        """Return every doubt about a green run."""
        shadows = self.graded.shadows if self.request.defences.shadowing else ()
        found = [(CheckStatus.TAMPERED, line) for line in shadows]
        if (run.touched or run.bytecode or run.data_written) and self.changed:
            # Paths that the run on the base writes too are normal for the project and not an act of the candidate.
            base = await self.base(check)
            if run.bytecode and not base.bytecode:
                run = await self.runs.run_without_bytecode(check, self.graded.tree, run.bytecode)
                found += evidence.doubts_of_bytecode(check, run)
            foreign = [path for path in run.data_written if path not in base.data_written]
            foreign = [path for path in foreign if not await self._is_state(path)]
            found += evidence.doubts_of_seal(run, base, foreign)
        if run.used is not None and run.used.made and self.changed:
            found += self._doubts_of_made(run.used, (await self.base(check)).used)
        if not evidence.needs_tests(check, self.contract):
            return found
        found += evidence.doubts_alone(run)
        if self.request.defences.counts:
            found += evidence.doubts_of_counts(check, run)
        if found or not self.changed:
            return found
        return await self._doubts_against_base(check, run)

    def _doubts_of_made(self, used: UsedPaths, base: UsedPaths | None) -> list[Doubt]:
        """Return the files that one program made for another one which looked for them on the base in vain."""
        if base is None:
            return []
        new = {path: readers for path, readers in used.made.items() if path not in base.made}
        awaited = [path for path in new if any(path in base.missed_by.get(one, ()) for one in new[path])]
        return list(evidence.doubts_of_made({path: self.rules.reason_of_made(path) for path in awaited}))

    async def _is_state(self, path: str) -> bool:
        """Return True if a data file is named by the product, and by no test and nothing else that judges.

        For a file of the base the product of the base must name it: the work cannot make test data its own.
        """
        tree = self.runs.base_tree if self.runs.is_in_base(path) else self.graded.tree
        naming = await self.runs.host.store.files_naming(path.rpartition("/")[2], tree)
        sources = [other for other in naming if other != path and not other.endswith(DOCUMENTS)]
        return bool(sources) and not any(self.rules.is_protected(other) for other in sources)

    async def _doubts_against_base(self, check: Check, run: CheckRun) -> list[Doubt]:
        defences, base = self.request.defences, await self.base(check)
        found = list(evidence.doubts_of_report(run, base)) if defences.sidecar else []
        tests = cache(lambda: self._base_tests(check))
        if defences.counts:
            skips = evidence.skips_of_base(run, base, lambda n: tests().skips(n), lambda n: tests().skipped_in(n))
            found += evidence.doubts_against_base(check, run, base, skips)
        missing = evidence.not_run(check, run, base, lambda name: tests().takes_foreign_parameters(name))
        if not found and defences.counts and missing:
            # Test names can differ from run to run. Only names that a second run on the base also has are counted.
            again = await self.runs.run(check, self.runs.base_tree, 2)
            found += evidence.doubts_of_names(missing & frozenset(again.reading.ran if again.reading else ()))
        if not found and defences.observation:
            found += await self._doubts_of_programs(check, run, base)
            found += await self._doubts_of_reads(check, run, base)
        if not found and run.reading is not None and defences.canary:
            found += await self._canary(check)
        if not found and self.graded.control != self.runs.base_tree and defences.reruns:
            found += await self._repeat(check) or await self._run_without_new_tests(check, run)
        if not found and self.graded.loaded and defences.reruns:
            found += await self._run_without_loaded_files(check, run)
        return found

    def _base_tests(self, check: Check) -> "BaseTests":
        from donewhen.judge.base_tests import BaseTests  # most runs skip no more tests and rename none

        return BaseTests(self.runs.base_files, check.dir, self.request.environment.sites)

    async def _doubts_of_programs(self, check: Check, run: CheckRun, base: CheckRun) -> list[Doubt]:
        """Compare the programs that were started. Only those that two runs on the base started are counted.

        A record of this run that is not complete counts nevertheless: product code could start thousands of programs.
        """
        if run.started is None or base.started is None or not base.all_started:
            return []
        from donewhen.judge.started import no_longer_started  # only a green check on changed work needs it

        missing = no_longer_started(base.started, run.started, self.rules.is_protected)
        if missing:
            again = await self.runs.run(check, self.runs.base_tree, 2)
            twice = no_longer_started(again.started or (), run.started, self.rules.is_protected)
            missing = tuple(name for name in missing if name in twice)
        return list(evidence.doubts_of_programs(missing))

    async def _doubts_of_reads(self, check: Check, run: CheckRun, base: CheckRun) -> list[Doubt]:
        """Compare which protected sources were read. Only those that two runs on the base read are counted.

        Data are not compared: a red run may read what explains its failure. Programs are compared elsewhere. A record
        of this run that is not complete counts nevertheless: product code could open thousands of files.
        """
        if run.used is None or base.used is None or not base.used.is_complete:
            return []
        from donewhen.judge.protect.names.sources import is_source  # only a green check on changed work needs it

        read = frozenset(run.used.read)
        unread = [path for path in base.used.read if is_source(path) and path not in read]
        programs = {program.name.removeprefix("./") for program in base.started or ()}
        unread = [path for path in unread if path not in programs and self.rules.is_protected(path)]
        if unread:
            again = await self.runs.run(check, self.runs.base_tree, 2)
            unread = [path for path in unread if again.used is not None and path in again.used.read]
        return list(evidence.doubts_of_reads(unread))

    async def base(self, check: Check) -> CheckRun:
        run = await self.runs.run(check, self.runs.base_tree)
        self.emit_baseline(check, run)
        return run

    async def control(self, check: Check) -> CheckRun:
        if self.graded.control == self.runs.base_tree:
            return await self.base(check)
        return await self.runs.run(check, self.graded.control)

    async def flaky_on_base(self, check: Check) -> list[str]:
        """Return a line that states if the check is flaky on the base too, which clears the change."""
        if not self.changed:
            return []
        seen = {evidence.status_of(check, await self.base(check))[0] is CheckStatus.PASS}
        for _ in range(PASSES_OF_NEW_TESTS - 1):
            run = await self.runs.run_unkept(check, self.runs.base_tree)
            seen.add(evidence.status_of(check, run)[0] is CheckStatus.PASS)
            if len(seen) > 1:
                return ["the base gives different results as well: this check was flaky before"]
        return ["the base gives the same result each time: the change made it flaky"]

    async def _canary(self, check: Check) -> list[Doubt]:
        """Add tests that must fail. A runner that does not report all of them cannot be believed.

        Only tests that it reports on the base count. A runner that stops early may leave some of them out, so those
        that are missing are run once more without the others.
        """
        base, tree = self.runs.base_tree, self.graded.tree
        on_base = await self.runs.kept_canary(check, base) or await self._run_canary(check, base)
        if on_base is None:
            self.notes.append(VerdictNote(check.name, "no test that must fail could be added"))
            return []
        run = await self.runs.kept_canary(check, tree) if on_base.caught else None
        if on_base.caught and run is None:
            run = await self._run_canary(check, tree, on_base.caught)
        if run is None:
            text = "a test that must fail cannot be added to what this command runs"
            self.notes.append(VerdictNote(check.name, text))
            return []
        again = None
        if run.caught and run.not_caught:
            again = await self._run_canary(check, tree, run.not_caught, keep=False)
        return list(evidence.doubts_of_canary(check, run, again))

    async def _run_canary(
        self, check: Check, tree: str, numbers: Collection[int] | None = None, keep: bool = True
    ) -> CheckRun | None:
        """Run a check with all tests that must fail, or with some of them; None if none can be added."""
        from donewhen.judge import runners  # a verdict from kept runs does not need it

        asked = runners.instrument_command(check.command, self.runs.base_files.below(check.dir), "/nowhere")
        canary = runners.canary(asked, self.runs.base_files, check.dir, secrets.token_hex(5), numbers)
        if canary is None:
            return None
        files = {path: (path, content) for path, content in canary.files.items()}
        if tree != self.runs.base_tree:
            files = await self._adapt_to_candidate(canary.files)
        names = {test.number: test.name for test in canary.tests if test.path in files}
        return await self.runs.run_canary(check, tree, dict(files.values()), names, keep) if names else None

    async def _adapt_to_candidate(self, files: Mapping[str, bytes]) -> dict[str, tuple[str, bytes]]:
        """Return the canary files, made for the base, adapted to the candidate, with the paths that they have there.

        The text that the canary added is appended to the candidate's version of each file. A file for which that is
        impossible is left out.
        """
        from donewhen.judge.protect.contents.rust_modules import other_file  # only for the run of a canary

        store = self.runs.host.store
        changes = await store.diff(self.runs.base_tree, self.graded.tree)
        entries = {change.path: change.new for change in changes}
        adapted = {path: (path, content) for path, content in files.items()}
        for path in [change.path for change in changes if change.path in files and change.old is not None]:
            place = path if entries[path] or not path.endswith(".rs") else other_file(path)
            entry, before = entries.get(place), self.runs.base_files.read(path, len(files[path]))
            del adapted[path]
            if entry is not None and before is not None and files[path].startswith(before):
                (now,) = await store.bare.readable_contents([entry.id])
                if now is not None:
                    adapted[path] = place, now + files[path][len(before) :]
        return adapted

    async def _run_without_new_tests(self, check: Check, run: CheckRun) -> list[Doubt]:
        """Run the check without the new test files. It must stay green.

        New test files may add tests. They may not help other tests to pass. A check that has no other tests is excused.
        """
        store, base = self.runs.host.store, self.runs.base_tree
        added = [change.path for change in await store.diff(base, self.graded.control) if change.old is None]
        without_new = await edit_tree.with_changes(store.bare, self.graded.tree, {raw(path): None for path in added})
        if without_new == self.graded.tree:
            return []
        status, reason = evidence.status_of(check, await self.runs.run(check, without_new))
        if status is CheckStatus.PASS:
            return []
        on_base = await self.base(check)
        if on_base.reading is None and (run.reading is not None or self._asks_for(check, on_base, added)):
            return []
        return [(CheckStatus.TAMPERED, f"the older tests pass only together with the new test files ({reason})")]

    async def _run_without_loaded_files(self, check: Check, run: CheckRun) -> list[Doubt]:
        """Run the check without new files that have no tests and that the runner executes all the same.

        The product may need them: then tests cannot be loaded without them, or the output names what is missing. If
        every test still runs and one fails for another reason, the files only change what the tests see.
        """
        gone = {raw(path): None for path in self.graded.loaded}
        tree = await edit_tree.with_changes(self.runs.host.store.bare, self.graded.tree, gone)
        without = await self.runs.run(check, tree)
        if evidence.status_of(check, without)[0] is CheckStatus.PASS:
            return []
        return list(evidence.doubts_of_loaded_files(check, run, without, self.graded.loaded))

    def _asks_for(self, check: Check, on_base: CheckRun, added: Sequence[str]) -> bool:
        """Return True if the check itself, or a script that it starts on the base, names a new file by its path."""
        scripts = list(dict.fromkeys(path for program in on_base.started or () for path in program.files))
        contents = [self.runs.base_files.read_inside(path, SCRIPT_BYTES) for path in scripts[:MOST_SCRIPTS]]
        scripts_text = "\n".join(content.decode("utf-8", "replace") for content in contents if content)
        in_command, in_scripts = mentioned_names(check.command), mentioned_names(scripts_text)
        for path in added:
            new = _first_new_part(self.runs.base_files, path)
            from_check = os.path.relpath(new, check.dir)
            if not in_command.isdisjoint((from_check, f"{from_check}/")) or not in_scripts.isdisjoint((new, f"{new}/")):
                return True
        return False

    async def _repeat(self, check: Check) -> list[Doubt]:
        """Run a check with new tests several times. It must pass each time."""
        for number in range(2, PASSES_OF_NEW_TESTS + 1):
            run = await self.runs.run(check, self.graded.tree, number)
            if evidence.status_of(check, run)[0] is not CheckStatus.PASS:
                await self.runs.drop(check, self.graded.tree)
                return [(CheckStatus.FLAKY, "with new tests, green and then red on the same tree")]
        return []


def _first_new_part(base_files: Root, path: str) -> str:
    """Return the first part of a new path that the base does not have: the file, or a directory above it."""
    parts = path.split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    with contextlib.suppress(LeavesRoot):  # the base has a link where the work has a directory
        return next((directory for directory in above if not base_files.is_directory(directory)), path)
    return path
