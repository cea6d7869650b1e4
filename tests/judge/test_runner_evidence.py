"""One result from the output of a run: several reports, unrelated reports, and printed text as the last resort."""

import pytest

from donewhen.judge.runners import InstrumentedCommand, in_tree_reports, read
from donewhen.readers.result import RunnerReport, Tests

GREEN = b'<testsuite><testcase name="a" classname="A"/></testsuite>'
RED = b'<testsuite><testcase name="b" classname="B"><failure/></testcase></testsuite>'
MAVEN = (
    "[INFO] --- surefire:3.2.5:test (default-test) @ a ---\n[INFO] Tests run: {}, Failures: 0, Errors: 0, Skipped: 0\n"
)


def command_with(*expected: str) -> InstrumentedCommand:
    return InstrumentedCommand("a command", {}, expected)


def test_a_report_counts_more_than_printed_text() -> None:
    found = read({"pytest.xml": RED}, {}, b"5 passed in 0.1s\n", command_with("pytest"))
    assert found == (RunnerReport("pytest", Tests(1, 0, 1, 0), ("B.b",), ran=("B.b",)), "sidecar")


def test_a_green_report_with_a_printed_failure_is_not_believed() -> None:
    found = read({"pytest.xml": GREEN}, {}, b"1 failed in 0.1s\n", command_with("pytest"))
    assert found is not None
    assert not found[0].complete


def test_without_a_report_the_evidence_is_text() -> None:
    assert read({}, {}, b"5 passed in 0.1s\n", command_with("pytest")) == (
        RunnerReport("pytest", Tests(5, 5, 0, 0)),
        "text",
    )


def test_without_report_and_text_there_are_no_results() -> None:
    assert read({}, {}, b"hello\n", command_with("pytest")) is None


def test_an_empty_or_broken_report_is_an_incomplete_run() -> None:
    for content in (b"", b"{", GREEN[:-5]):
        found = read({"pytest.xml": content}, {}, b"5 passed in 0.1s\n", command_with("pytest"))
        assert found is not None
        assert not found[0].complete


def test_reports_and_lines_of_runners_that_the_command_does_not_call_are_ignored() -> None:
    reports = {"pytest.xml": GREEN, "other.xml": GREEN}
    in_tree = {"target/surefire-reports/TEST-A.xml": GREEN}
    assert read(reports, in_tree, b"5 examples, 0 failures\n", command_with("cargo")) is None


def test_output_of_any_runner_is_read_for_a_command_that_names_none() -> None:
    assert read({"pytest.xml": GREEN}, {}, b"", command_with()) == (
        RunnerReport("pytest", Tests(1, 1, 0, 0), ran=("A.a",)),
        "sidecar",
    )
    assert read({}, {}, b"5 examples, 0 failures\n", command_with()) == (
        RunnerReport("rspec", Tests(5, 5, 0, 0)),
        "text",
    )


def test_several_runners_of_one_command_are_summed() -> None:
    text = b"Tests:       2 passed, 2 total\n"
    found = read({"pytest.xml": RED}, {}, text, command_with("pytest", "jest"))
    assert found == (RunnerReport("pytest, jest", Tests(3, 2, 1, 0), ("B.b",)), "sidecar")


def test_reports_in_the_tree_are_added_if_the_printed_total_agrees_or_is_missing() -> None:
    in_tree = {"a/target/surefire-reports/TEST-A.xml": GREEN, "b/target/failsafe-reports/TEST-B.xml": GREEN}
    ended = "[INFO] BUILD SUCCESS\n"
    for output in ("", MAVEN.format(2) + ended):
        found = read({}, in_tree, output.encode(), command_with("maven"))
        assert found == (RunnerReport("maven", Tests(2, 2, 0, 0), ran=("A.a",)), "sidecar")
    forged = read({}, in_tree, (MAVEN.format(1) + ended).encode(), command_with("maven"))
    assert forged == (RunnerReport("maven", Tests(1, 1, 0, 0)), "text")


@pytest.mark.parametrize(
    ("path", "is_report"),
    [
        ("target/surefire-reports/TEST-a.ATest.xml", True),
        ("core/target/failsafe-reports/TEST-a.AIT.xml", True),
        ("app/build/test-results/test/TEST-ATest.xml", True),
        ("target/surefire-reports/a.ATest.txt", False),
        ("mytarget/surefire-reports/TEST-a.xml", False),
        ("src/TEST-a.xml", False),
        ("build/test-results/test/binary/results.bin", False),
    ],
)
def test_only_files_at_the_runner_s_report_paths_are_reports(path: str, is_report: bool) -> None:
    assert in_tree_reports(path) is is_report
