"""From the facts of a run to a status: exit codes, counts, reports."""

from dataclasses import replace

import pytest

from donewhen.judge import evidence
from donewhen.judge.check_run import CheckRun
from donewhen.judge.contract import Check, Contract
from donewhen.judge.verdict import CheckStatus
from donewhen.readers.result import RunnerReport, Tests

CHECK = Check(name="tests", command="pytest")
GREEN = CheckRun(
    end="exited",
    exit_code=0,
    signal=None,
    reason="",
    duration_ms=1,
    tail="",
    printed=True,
    reading=RunnerReport("pytest", Tests(5, 5, 0, 0)),
    evidence="sidecar",
    expected=("pytest",),
)


def run_with_tests(tests: Tests, complete: bool = True) -> CheckRun:
    return replace(GREEN, reading=RunnerReport("pytest", tests, complete=complete))


@pytest.mark.promise("result.cannot-start")
@pytest.mark.parametrize(
    ("ran", "status"),
    [
        (GREEN, CheckStatus.PASS),
        (replace(GREEN, exit_code=1), CheckStatus.FAIL),
        (replace(GREEN, end="could_not_start", exit_code=127), CheckStatus.INFRA),
        (replace(GREEN, end="could_not_start", exit_code=None, reason="no disk"), CheckStatus.INFRA),
        (replace(GREEN, end="timed_out", exit_code=None), CheckStatus.TIMEOUT),
        (replace(GREEN, end="signalled", exit_code=139, signal=11), CheckStatus.FAIL),
        (replace(GREEN, end="limit", exit_code=None, reason="memory"), CheckStatus.FAIL),
        (replace(GREEN, printed=False), CheckStatus.FAIL),
    ],
)
def test_the_exit_of_a_run_gives_its_status(ran: CheckRun, status: CheckStatus) -> None:
    found, reason = evidence.status_of(CHECK, ran)
    assert found is status
    assert bool(reason) is (status is not CheckStatus.PASS)


@pytest.mark.promise("check.expect-exit-zero")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (0, CheckStatus.FAIL),
        (1, CheckStatus.PASS),
        (125, CheckStatus.PASS),
        (128, CheckStatus.FAIL),
        (200, CheckStatus.FAIL),
    ],
)
def test_a_check_that_must_fail_passes_with_exit_codes_from_1_to_125(code: int, status: CheckStatus) -> None:
    check = replace(CHECK, expect_exit_zero=False)
    assert evidence.status_of(check, replace(GREEN, exit_code=code))[0] is status


def test_a_check_that_must_fail_needs_no_tests() -> None:
    assert not evidence.needs_tests(replace(CHECK, expect_exit_zero=False), Contract(checks=()))
    assert not evidence.needs_tests(CHECK, Contract(checks=(), min_evidence="exit"))
    assert evidence.needs_tests(CHECK, Contract(checks=()))


def test_a_recognised_runner_that_shows_no_test_is_vacuous() -> None:
    silent = replace(GREEN, reading=None, evidence="exit")
    assert [status for status, _ in evidence.doubts_alone(silent)] == [CheckStatus.VACUOUS]
    assert list(evidence.doubts_alone(replace(silent, expected=()))) == []


def test_a_report_of_failures_is_believed_over_an_exit_code_of_0() -> None:
    assert [status for status, _ in evidence.doubts_alone(run_with_tests(Tests(5, 4, 1, 0)))] == [CheckStatus.FAIL]


def test_a_report_that_breaks_off_is_tampered_with() -> None:
    assert [status for status, _ in evidence.doubts_alone(run_with_tests(Tests(5, 5, 0, 0), complete=False))] == [
        CheckStatus.TAMPERED
    ]


@pytest.mark.promise("check.min-tests")
def test_fewer_tests_than_required_are_vacuous_and_skipped_ones_do_not_count() -> None:
    assert list(evidence.doubts_of_counts(CHECK, GREEN)) == []
    assert (
        evidence.worst(list(evidence.doubts_of_counts(CHECK, run_with_tests(Tests(3, 0, 0, 3))))) is CheckStatus.VACUOUS
    )
    assert evidence.worst(list(evidence.doubts_of_counts(replace(CHECK, min_tests=6), GREEN))) is CheckStatus.VACUOUS
    assert list(evidence.doubts_of_counts(replace(CHECK, min_tests=0), run_with_tests(Tests()))) == []


@pytest.mark.promise("check.allow-skips")
@pytest.mark.parametrize("now", [Tests(4, 4, 0, 0), Tests(5, 4, 0, 1)])
def test_fewer_collected_or_more_skipped_than_on_the_base_is_vacuous_unless_allowed(now: Tests) -> None:
    doubts = list(evidence.doubts_against_base(CHECK, run_with_tests(now), GREEN))
    assert evidence.worst(doubts) is CheckStatus.VACUOUS
    assert list(evidence.doubts_against_base(replace(CHECK, allow_skips=True), run_with_tests(now), GREEN)) == []


def test_more_tests_than_on_the_base_are_accepted() -> None:
    assert list(evidence.doubts_against_base(CHECK, run_with_tests(Tests(9, 9, 0, 0)), GREEN)) == []


def test_tests_that_the_base_shows_and_the_candidate_does_not_are_vacuous() -> None:
    silent = replace(GREEN, reading=None, evidence="exit", expected=())
    assert evidence.worst(list(evidence.doubts_against_base(CHECK, silent, GREEN))) is CheckStatus.VACUOUS


def test_a_report_that_only_the_base_has_is_tampering() -> None:
    text = replace(GREEN, evidence="text")
    assert evidence.worst(list(evidence.doubts_of_report(text, GREEN))) is CheckStatus.TAMPERED
    assert list(evidence.doubts_of_report(GREEN, text)) == []


def test_a_protected_path_written_during_the_run_is_tampering_unless_the_base_writes_it_too() -> None:
    wrote = replace(GREEN, touched=("tests/a.py (a test)", "conftest.py (…)"))
    ((status, line),) = evidence.doubts_of_seal(wrote, GREEN)
    assert status is CheckStatus.TAMPERED
    assert "tests/a.py (a test) and 1 more" in line
    assert list(evidence.doubts_of_seal(wrote, wrote)) == []


def test_bytecode_is_tampering_if_the_run_is_red_without_it_or_leaves_it_all_the_same() -> None:
    assert list(evidence.doubts_of_bytecode(CHECK, GREEN)) == []
    for run in (replace(GREEN, exit_code=1), replace(GREEN, bytecode=("a/__pycache__",))):
        assert [status for status, _ in evidence.doubts_of_bytecode(CHECK, run)] == [CheckStatus.TAMPERED]


def test_data_that_is_not_the_state_of_the_product_is_sealed() -> None:
    ((status, line),) = evidence.doubts_of_seal(GREEN, GREEN, ["cases/a.json"])
    assert status is CheckStatus.TAMPERED
    assert "cases/a.json (is part of what is judged)" in line


def test_the_worst_status_decides() -> None:
    assert (
        evidence.worst([(CheckStatus.VACUOUS, ""), (CheckStatus.TAMPERED, ""), (CheckStatus.FAIL, "")])
        is CheckStatus.TAMPERED
    )
    assert evidence.worst([]) is CheckStatus.PASS


def test_tests_of_the_base_that_did_not_run_are_named_unless_skips_are_allowed() -> None:
    base = replace(GREEN, reading=RunnerReport("pytest", Tests(3, 3, 0, 0), ran=("a", "b", "c")))
    now = replace(GREEN, reading=RunnerReport("pytest", Tests(3, 3, 0, 0), ran=("a", "easy", "easier")))
    missing = evidence.not_run(CHECK, now, base)
    assert missing == {"b", "c"}
    assert list(evidence.doubts_of_names(missing)) == [
        (CheckStatus.VACUOUS, "a test of the base did not run: b and 1 more")
    ]
    assert not evidence.not_run(replace(CHECK, allow_skips=True), now, base)
    assert evidence.not_run(CHECK, GREEN, base) == {"a", "b", "c"}  # an unreadable list is no excuse
    assert not evidence.not_run(CHECK, now, GREEN)


def test_a_script_that_node_reports_only_if_it_fails_is_not_missed() -> None:
    report = RunnerReport("node:test", Tests(3, 1, 2, 0), failures=("adds", "/w/plain.js"))
    base, now = replace(GREEN, reading=report), run_with_tests(Tests(2, 2, 0, 0))
    assert list(evidence.doubts_against_base(CHECK, now, base)) == []
    assert list(evidence.doubts_against_base(CHECK, run_with_tests(Tests(1, 1, 0, 0)), base)) != []
    of_jest = replace(base, reading=replace(report, runner="jest"))
    assert list(evidence.doubts_against_base(CHECK, now, of_jest)) != []


def skipping(*skipped: str, ran: tuple[str, ...] = (), failures: tuple[str, ...] = ()) -> CheckRun:
    tests = Tests(len(ran) + len(skipped), len(ran), 0, len(skipped))
    return replace(GREEN, reading=RunnerReport("pytest", tests, failures, ran=ran, skipped=skipped))


def test_only_skips_of_the_base_s_files_that_its_run_did_not_reach_are_added_to_its_skips() -> None:
    base, now = skipping("a", ran=("b",)), skipping("a", "b", "c", "d")
    assert evidence.skips_of_base(now, base, lambda name: name != "d", len) == 1
    assert evidence.skips_of_base(base, base, lambda _: True, len) == 0
    doubts = list(evidence.doubts_against_base(CHECK, skipping("a", "c"), base, 1))
    assert doubts == []


def test_without_names_the_skips_of_modules_that_could_not_be_loaded_are_counted() -> None:
    base = skipping(failures=("tests.test_a (unittest.loader._FailedTest.tests.test_a)", "test_b (tests.B)"))
    assert evidence.skips_of_base(run_with_tests(Tests(2, 1, 0, 1)), base, bool, {"tests.test_a": 3}.__getitem__) == 3


def test_cases_of_a_function_are_counted_if_the_product_names_them() -> None:
    base = skipping(ran=("m.test_x[a]", "m.test_x[b]", "m.test_y[a]", "m.test_z"))
    renamed = skipping(ran=("m.test_x[a]", "m.test_x[c]", "m.test_y[b]"))
    fewer = skipping(ran=("m.test_x[c]", "m.test_y[a]", "m.test_z"))
    assert evidence.not_run(CHECK, renamed, base, lambda _: True) == {"m.test_z"}
    assert evidence.not_run(CHECK, renamed, base, "m.test_y".__eq__) == {"m.test_x[b]", "m.test_z"}
    assert evidence.not_run(CHECK, fewer, base, lambda _: True) == {"m.test_x[a]", "m.test_x[b]"}


def test_tests_inside_sources_may_move_with_their_module() -> None:
    names = ("unittests src/lib.rs small > old::tests::adds", "Doc-tests small > src/lib.rs - f", "tests/a.rs a > adds")
    base = replace(GREEN, reading=RunnerReport("cargo", Tests(3, 3, 0, 0), ran=names))
    now = replace(
        GREEN, reading=RunnerReport("cargo", Tests(3, 3, 0, 0), ran=("unittests src/lib.rs small > new::tests::adds",))
    )
    assert evidence.not_run(CHECK, now, base) == {"tests/a.rs a > adds"}


@pytest.mark.parametrize(
    ("ran", "status"),
    [
        (replace(GREEN, caught=(0,), exit_code=1, reading=RunnerReport("pytest", Tests(6, 5, 1, 0))), CheckStatus.PASS),
        (replace(GREEN, not_caught=(0,)), CheckStatus.TAMPERED),
        (replace(GREEN, caught=(0,), not_caught=(1,)), CheckStatus.TAMPERED),
        (replace(GREEN, not_caught=(0,), end="timed_out"), CheckStatus.TIMEOUT),
        (
            replace(GREEN, caught=(0,), exit_code=1, reading=RunnerReport("pytest", Tests(6, 4, 2, 0))),
            CheckStatus.FLAKY,
        ),
    ],
)
def test_the_canary_must_be_the_only_failing_test(ran: CheckRun, status: CheckStatus) -> None:
    assert evidence.worst(list(evidence.doubts_of_canary(CHECK, ran))) is status


def test_added_tests_that_only_an_early_stop_left_out_are_no_doubt() -> None:
    first = replace(GREEN, caught=(0,), not_caught=(1, 2), exit_code=1)
    assert list(evidence.doubts_of_canary(CHECK, first, replace(GREEN, caught=(1,), not_caught=(2,)))) == []
    found = list(evidence.doubts_of_canary(CHECK, first, replace(GREEN, not_caught=(1, 2))))
    assert evidence.worst(found) is CheckStatus.TAMPERED


def test_every_status_but_a_pass_has_its_place_among_doubts() -> None:
    assert set(evidence.SEVERITY) == set(CheckStatus) - {CheckStatus.PASS}
    assert evidence.worst([(CheckStatus.FAIL, "a"), (CheckStatus.TAMPERED, "b")]) is CheckStatus.TAMPERED
    assert evidence.worst([]) is CheckStatus.PASS


def test_a_status_knows_who_is_to_blame() -> None:
    assert [one.value for one in CheckStatus if one.is_red] == ["fail", "timeout"]
    assert [one.value for one in CheckStatus if not one.is_believable] == ["vacuous", "tampered"]
    assert [one.value for one in CheckStatus if one.blames_machine] == ["flaky", "timeout", "infra"]
