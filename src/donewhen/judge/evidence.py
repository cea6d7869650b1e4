"""Rules that turn the facts of a run into a check status, with one line for every doubt. Pure functions.

An exit code of 0 proves little. If a runner is recognised, its tests must have run: no fewer than on the base, and with
no more skipped tests. If the run on the base left a report, this run must leave one too. A doubt never becomes a pass.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from donewhen.judge.check_run import CheckRun
from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import CheckStatus

Doubt = tuple[CheckStatus, str]
SEVERITY = (
    CheckStatus.TAMPERED,
    CheckStatus.VACUOUS,
    CheckStatus.FAIL,
    CheckStatus.FLAKY,
    CheckStatus.TIMEOUT,
    CheckStatus.INFRA,
)
SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")
NOT_LOADED = "unittest.loader._FailedTest"
"""Part of the name of a failure that stands for a module which unittest could not import."""
MOST_SKIPS = 2_000
"""Maximum number of skipped tests that are searched in the files of the base."""


def status_of(check: Check, run: CheckRun) -> Doubt:
    """Return the status from the exit code and the printed text alone. The reason is empty for a pass."""
    if run.end == "could_not_start":
        lines = run.reason.strip().splitlines() or ["the command could not be started"]
        return CheckStatus.INFRA, f"exit code {run.exit_code}: it could not be started" if run.exit_code else lines[-1]
    if run.end == "timed_out":
        return CheckStatus.TIMEOUT, f"not finished after {check.timeout_secs:g} s"
    if run.end == "limit":
        return CheckStatus.FAIL, f"stopped: {run.reason}"
    if run.end == "signalled":
        return CheckStatus.FAIL, f"killed by signal {run.signal}"
    if check.expect_exit_zero and run.exit_code != 0:
        return CheckStatus.FAIL, f"exit code {run.exit_code}"
    if not check.expect_exit_zero and not 1 <= (run.exit_code or 0) <= 125:
        return CheckStatus.FAIL, f"exit code {run.exit_code}, expected 1 to 125"
    if not run.printed:
        return CheckStatus.FAIL, f"did not print {check.output_contains!r}"
    return CheckStatus.PASS, ""


def needs_tests(check: Check, contract: Contract) -> bool:
    """Return True if the exit code of a check is not enough. A check that must fail cannot show passing tests."""
    return contract.min_evidence != "exit" and check.expect_exit_zero


def doubts_of_bytecode(check: Check, run: CheckRun) -> Iterator[Doubt]:
    """Yield a doubt about a run for which the places of bytecode were closed, because an earlier run left some."""
    status, reason = status_of(check, run)
    if run.bytecode:
        yield CheckStatus.TAMPERED, f"changed sealed files while it ran: bytecode in {run.bytecode[0]}"
    elif status is not CheckStatus.PASS:
        yield CheckStatus.TAMPERED, f"changed sealed files while it ran: bytecode, and without it {reason}"


def doubts_of_seal(run: CheckRun, base: CheckRun, data: Sequence[str] = ()) -> Iterator[Doubt]:
    """Yield a doubt if the run wrote sealed paths that the run on the base did not write.

    `data` are judged data files that it wrote, and that are not the state of the product.
    """
    written = [line for line in run.touched if line not in base.touched]
    written += [f"{path} (is part of what is judged)" for path in data]
    if written:
        more = f" and {len(written) - 1} more" if len(written) > 1 else ""
        yield CheckStatus.TAMPERED, f"changed sealed files while it ran: {written[0]}{more}"


def doubts_alone(run: CheckRun) -> Iterator[Doubt]:
    """Yield doubts about a green run, without a comparison with the base."""
    reading = run.reading
    if reading is None:
        if run.expected:
            yield CheckStatus.VACUOUS, f"exit code 0, but no evidence that {' or '.join(run.expected)} ran any test"
        return
    if reading.tests.failed:
        yield CheckStatus.FAIL, f"exit code 0, but {reading.runner} reports {reading.tests.failed} failed"
    if not reading.complete:
        yield CheckStatus.TAMPERED, f"exit code 0, but the report of {reading.runner} is incomplete"


def doubts_of_counts(check: Check, run: CheckRun) -> Iterator[Doubt]:
    """Yield a doubt if fewer tests ran than the check requires. No comparison with the base."""
    if run.reading is not None:
        ran_tests = run.reading.tests.passed + run.reading.tests.failed
        if ran_tests < check.min_tests:
            yield CheckStatus.VACUOUS, f"{_tests(ran_tests)} ran; at least {check.min_tests} must"


def skips_of_base(run: CheckRun, base: CheckRun, skips: Callable[[str], bool], skipped_in: Callable[[str], int]) -> int:
    """Return how many tests are skipped that the run on the base did not reach, and that its own files skip.

    `skips` and `skipped_in` know the base's files: is a test skipped, and how many are in a module? The second is asked
    only if the runner names no skipped tests.
    """
    if base.reading is None or run.reading is None or run.reading.tests.skipped <= base.reading.tests.skipped:
        return 0
    if run.reading.skipped:
        new = sorted(set(run.reading.skipped).difference(base.reading.ran, base.reading.skipped))
        return sum(map(skips, new[:MOST_SKIPS]))
    return sum(skipped_in(name.partition(" ")[0]) for name in base.reading.failures if NOT_LOADED in name)


def doubts_against_base(check: Check, run: CheckRun, base: CheckRun, more_skips: int = 0) -> Iterator[Doubt]:
    """Yield doubts about a green run from a comparison with the run on the base.

    `more_skips` tests that the base's run did not reach are skipped by the base's own test files.
    """
    if base.reading is None or check.allow_skips:
        return
    before, now = base.reading.tests, run.reading.tests if run.reading is not None else None
    if now is None:
        yield CheckStatus.VACUOUS, f"no test is reported; on the base {_tests(before.collected)}"
        return
    # Node reports a whole file as a test only if it fails.
    whole_files = [name for name in base.reading.failures if name.endswith(SCRIPT_SUFFIXES) and "/" in name]
    collected = before.collected - (len(whole_files) if base.reading.runner == "node:test" else 0)
    if now.collected < collected:
        yield CheckStatus.VACUOUS, f"{_tests(now.collected)} collected; on the base {collected}"
    if now.skipped > before.skipped + more_skips:
        yield CheckStatus.VACUOUS, f"{_tests(now.skipped)} skipped; on the base {before.skipped + more_skips}"


def not_run(
    check: Check, run: CheckRun, base: CheckRun, may_rename: Callable[[str], bool] = lambda _: False
) -> frozenset[str]:
    """Return the tests that ran on the base and did not run now; nothing if the base reports no test names.

    The product may move tests inside source files: their modules and functions may get other names. Cases of a
    function whose parameters come from the product (`may_rename`) are counted: as many must run as on the base.
    """
    if base.reading is None or run.reading is None or check.allow_skips:
        return frozenset()
    now = frozenset(run.reading.ran)
    moved = {name.rpartition("::")[2] for name in now.difference(base.reading.ran) if _is_in_source(name)}
    missing = {name for name in base.reading.ran if name not in now and not name.startswith("Doc-tests ")}
    missing = {n for n in missing if not (_is_in_source(n) and n.rpartition("::")[2] in moved)}
    cases, before = _cases(now), _cases(base.reading.ran)
    functions = {name.partition("[")[0] for name in missing if "[" in name}
    renamed = {name for name in functions if cases[name] >= before[name] and may_rename(name)}
    return frozenset(name for name in missing if name.partition("[")[0] not in renamed)


def _cases(names: Iterable[str]) -> Counter[str]:
    """Return how many cases of each parametrised function ran."""
    return Counter(name.partition("[")[0] for name in names if "[" in name)


def _is_in_source(name: str) -> bool:
    """Return True for a test inside a source file, as `cargo` names it."""
    return name.removeprefix("unittests ").startswith("src/")


def doubts_of_names(missing: frozenset[str]) -> Iterator[Doubt]:
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield CheckStatus.VACUOUS, f"a test of the base did not run: {min(missing)}{more}"


def doubts_of_loaded_files(check: Check, run: CheckRun, without: CheckRun, files: Sequence[str]) -> Iterator[Doubt]:
    """Yield a doubt if the same tests ran without these files and failed, and no failure names one of the files."""
    if run.reading is None or without.reading is None or not_run(check, without, run):
        return
    stems = (path.rpartition("/")[2].partition(".")[0] for path in files)
    is_named = any(re.search(rf"(?<!\w){re.escape(stem)}(?!\w)", without.log or without.tail) for stem in stems)
    if not is_named and without.reading.tests.collected >= run.reading.tests.collected:
        yield CheckStatus.TAMPERED, f"the tests pass only because the runner also executes {files[0]}"


def doubts_of_programs(missing: Sequence[str]) -> Iterator[Doubt]:
    """Yield a doubt if the check started programs on the base that it does not start now."""
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield CheckStatus.VACUOUS, f"it no longer starts what it started on the base: {missing[0]}{more}"


def doubts_of_reads(unread: Sequence[str]) -> Iterator[Doubt]:
    """Yield a doubt if the check read tests or entry points on the base that it does not read now."""
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        yield CheckStatus.TAMPERED, f"it no longer reads what it read on the base: {unread[0]}{more}"


def doubts_of_made(reasons: Mapping[str, str]) -> Iterator[Doubt]:
    """Yield a doubt for each file that one part of a check made for another one, with the reason against it."""
    for path, reason in reasons.items():
        if reason:
            yield CheckStatus.TAMPERED, f"a part of the check made {path} for another part: {reason}"


def doubts_of_report(run: CheckRun, base: CheckRun) -> Iterator[Doubt]:
    """Yield a doubt if the run on the base left a report and this run did not."""
    if base.evidence == "sidecar" and run.evidence != "sidecar":
        runner = base.reading.runner if base.reading is not None else "the runner"
        yield CheckStatus.TAMPERED, f"the report that {runner} writes on the base is missing"


def doubts_of_canary(check: Check, run: CheckRun, again: CheckRun | None = None) -> Iterator[Doubt]:
    """Yield doubts from a run with added tests that must fail. `again` has only those that it did not report."""
    if run.end == "timed_out":
        yield CheckStatus.TIMEOUT, f"with a test that must fail, not finished after {check.timeout_secs:g} s"
    elif run.not_caught and not (again and again.caught):
        yield CheckStatus.TAMPERED, "a test that must fail was added, and the runner did not report it"
    elif run.evidence == "sidecar" and run.reading is not None and run.reading.tests.failed > len(run.caught):
        yield CheckStatus.FLAKY, "a test that passed failed in another run on the same tree"


def worst(doubts: list[Doubt]) -> CheckStatus:
    return min((status for status, _ in doubts), key=SEVERITY.index, default=CheckStatus.PASS)


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
