"""What a run proves: from the facts of a run to a status, with one line for every doubt. Pure.

An exit code of 0 proves little. Where a runner is recognised, tests must have run, no fewer than on the base and with
no more skipped, and a report that the base's run left must be there. Doubt never turns into a pass.
"""

from collections.abc import Iterator

from donewhen.judge.contract import Check, Contract
from donewhen.judge.ran import Ran
from donewhen.judge.verdict import Status

Doubt = tuple[Status, str]
SEVERITY = (Status.TAMPERED, Status.VACUOUS, Status.FAIL, Status.FLAKY, Status.TIMEOUT, Status.INFRA)


def outcome(check: Check, ran: Ran) -> Doubt:
    """What the end of a run says by itself: the exit code and the printed text. The reason is empty for a pass."""
    if ran.end == "could_not_start":
        said = ran.reason.strip().splitlines()[-1:] or ["the command could not be started"]
        return Status.INFRA, f"exit code {ran.exit_code}: it could not be started" if ran.exit_code else said[0]
    if ran.end == "timed_out":
        return Status.TIMEOUT, f"not done after {check.timeout_secs:g} s"
    if ran.end == "limit":
        return Status.FAIL, f"stopped: {ran.reason}"
    if ran.end == "signalled":
        return Status.FAIL, f"killed by signal {ran.signal}"
    if check.expect_exit_zero and ran.exit_code != 0:
        return Status.FAIL, f"exit code {ran.exit_code}"
    if not check.expect_exit_zero and not 1 <= (ran.exit_code or 0) <= 125:
        return Status.FAIL, f"exit code {ran.exit_code}, and one from 1 to 125 was asked for"
    if not ran.printed:
        return Status.FAIL, f"did not print {check.output_contains!r}"
    return Status.PASS, ""


def wants_tests(check: Check, contract: Contract) -> bool:
    """Whether the exit code of a check is not enough. A check that must fail cannot show passing tests."""
    return contract.min_evidence != "exit" and check.expect_exit_zero


def doubts_of_seal(ran: Ran, base: Ran) -> Iterator[Doubt]:
    """What should not have been written during the run, and was not written by the base's run."""
    written = [line for line in ran.touched if line not in base.touched]
    if written:
        more = f" and {len(written) - 1} more" if len(written) > 1 else ""
        yield Status.TAMPERED, f"wrote what is sealed while it ran: {written[0]}{more}"


def doubts_alone(ran: Ran) -> Iterator[Doubt]:
    """What is wrong with a green run, seen by itself."""
    reading = ran.reading
    if reading is None:
        if ran.expected:
            yield Status.VACUOUS, f"exit code 0, but nothing shows that {' or '.join(ran.expected)} ran any test"
        return
    if reading.tests.failed:
        yield Status.FAIL, f"exit code 0, but {reading.runner} reports {reading.tests.failed} failed"
    if not reading.complete:
        yield Status.TAMPERED, f"exit code 0, but the report of {reading.runner} breaks off"


def doubts_of_counts(check: Check, ran: Ran) -> Iterator[Doubt]:
    """Too few tests, seen by itself."""
    if ran.reading is not None:
        ran_tests = ran.reading.tests.passed + ran.reading.tests.failed
        if ran_tests < check.min_tests:
            yield Status.VACUOUS, f"{_tests(ran_tests)} ran; at least {check.min_tests} must"


def doubts_beside_base(check: Check, ran: Ran, base: Ran) -> Iterator[Doubt]:
    """What is wrong with a green run when the base's run is laid beside it."""
    if base.reading is None or check.allow_skips:
        return
    before, now = base.reading.tests, ran.reading.tests if ran.reading is not None else None
    if now is None:
        yield Status.VACUOUS, f"no test is reported; on the base {_tests(before.collected)} are"
        return
    if now.collected < before.collected:
        yield Status.VACUOUS, f"{_tests(now.collected)} collected; on the base there are {before.collected}"
    if now.skipped > before.skipped:
        yield Status.VACUOUS, f"{_tests(now.skipped)} skipped; on the base {before.skipped}"


def not_run(check: Check, ran: Ran, base: Ran) -> frozenset[str]:
    """Tests that ran on the base and did not run now; nothing where the base does not tell names.

    Tests inside of sources are the product's to move: their modules and functions may get other names.
    """
    if base.reading is None or ran.reading is None or check.allow_skips:
        return frozenset()
    now = frozenset(ran.reading.ran)
    moved = {name.rpartition("::")[2] for name in now.difference(base.reading.ran) if name.startswith("src/")}
    missing = {name for name in base.reading.ran if name not in now and not name.startswith("Doc-tests ")}
    return frozenset(n for n in missing if not (n.startswith("src/") and n.rpartition("::")[2] in moved))


def doubts_of_names(missing: frozenset[str]) -> Iterator[Doubt]:
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        yield Status.VACUOUS, f"a test of the base did not run: {min(missing)}{more}"


def doubts_of_report(ran: Ran, base: Ran) -> Iterator[Doubt]:
    """A report that the base's run left and this one did not."""
    if base.evidence == "sidecar" and ran.evidence != "sidecar":
        runner = base.reading.runner if base.reading is not None else "the runner"
        yield Status.TAMPERED, f"the report that {runner} writes on the base is missing"


def doubts_of_canary(check: Check, ran: Ran) -> Iterator[Doubt]:
    """What a run shows to which a test was added that must fail."""
    if ran.end == "timed_out":
        yield Status.TIMEOUT, f"with a test that must fail, not done after {check.timeout_secs:g} s"
    elif not ran.caught:
        yield Status.TAMPERED, "a test that must fail was added, and the runner did not report it"
    elif ran.evidence == "sidecar" and ran.reading is not None and ran.reading.tests.failed > 1:
        yield Status.FLAKY, "a test that passed failed in another run on the same tree"


def worst(doubts: list[Doubt]) -> Status:
    found = {status for status, _ in doubts}
    return next((status for status in SEVERITY if status in found), Status.PASS)


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"
