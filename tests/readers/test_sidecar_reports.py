"""Reports of runners, and what they look like when something went wrong."""

import json

import pytest

from donewhen.readers import dotnet, go, jest, junit, mocha, rspec
from donewhen.readers.result import RunnerReport, Tests

PYTEST = b"""<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="2"
failures="2" skipped="2" tests="8"><testcase classname="test_a" name="test_ok" time="0.1" />
<testcase classname="test_a" name="test_param[1]"><system-out>&lt;failure/&gt;</system-out></testcase>
<testcase classname="test_a" name="test_bad"><failure message="assert 0">...</failure></testcase>
<testcase classname="test_a" name="test_strict"><failure message="[XPASS(strict)] no">...</failure></testcase>
<testcase classname="test_a" name="test_setup"><error message="failed on setup">...</error></testcase>
<testcase classname="" name="test_b"><error message="collection failure">...</error></testcase>
<testcase classname="test_a" name="test_later"><skipped type="pytest.xfail" message="later" /></testcase>
<testcase classname="test_a" name="test_skip"><skipped type="pytest.skip" message="no" /></testcase>
</testsuite></testsuites>"""
TRX = b"""<?xml version="1.0" encoding="utf-8"?>
<TestRun id="1" xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010"><Results>
<UnitTestResult testName="Small.Tests.One" outcome="Passed"><Output><StdOut>outcome="Passed"</StdOut></Output>
</UnitTestResult><UnitTestResult testName="Small.Tests.Two" outcome="Failed" />
<UnitTestResult testName="Small.Tests.Three" outcome="NotExecuted" /></Results>
<ResultSummary outcome="Failed"><Counters total="3" executed="2" passed="1" failed="1" /></ResultSummary></TestRun>"""


def test_a_report_of_pytest_counts_errors_as_failed_and_expected_failures_as_skipped() -> None:
    assert junit.read(PYTEST, "pytest") == RunnerReport(
        "pytest",
        Tests(8, 2, 4, 2),
        ("test_a.test_bad", "test_a.test_strict", "test_a.test_setup", "test_b"),
        ran=("test_a.test_bad", "test_a.test_ok", "test_a.test_param[1]", "test_a.test_setup", "test_a.test_strict"),
        skipped=("test_a.test_later", "test_a.test_skip"),
    )


def test_nested_suites_count_every_case_once_and_ignore_attributes() -> None:
    inner = b'<testsuite tests="99"><testsuite><testcase name="a"/></testsuite></testsuite>'
    report = b'<testsuites tests="99">' + inner + b"</testsuites>"
    assert junit.read(report) == RunnerReport("junit", Tests(1, 1, 0, 0), ran=("a",))


def test_tests_without_a_class_are_named_with_file_and_suite() -> None:
    inner = '<testcase name="a" classname="test" file="/w/x.js"/><testcase name="b"><skipped/></testcase>'
    unused = '<testsuite name="unused"><testcase name="c"><skipped/></testcase></testsuite>'
    report = f'<testsuites><testsuite name="g"><testsuite name="h">{inner}</testsuite></testsuite>{unused}</testsuites>'
    found = junit.read(report.encode())
    assert found is not None
    assert found.ran == ("/w/x.js > g", "/w/x.js > g > h", "/w/x.js > g > h > a")


@pytest.mark.parametrize("name", ["", "a.T", "initializationError", "classMethod"])
def test_a_class_with_a_failed_setup_is_a_failure_but_not_a_test(name: str) -> None:
    case = f'<testcase name="{name}" classname="a.T"><error/></testcase><testcase name="x" classname="a.T"/>'
    found = junit.read(f"<testsuite>{case}</testsuite>".encode())
    assert found is not None
    assert (found.tests.failed, found.ran) == (1, ("a.T.x",))


def test_a_failure_outweighs_a_skip_but_a_todo_of_node_outweighs_its_failure() -> None:
    cases = (
        '<testcase name="a"><skipped/><error/></testcase><testcase name="b"><error/><skipped/></testcase>'
        '<testcase name="c"><skipped type="todo"/><failure/></testcase>'
    )
    found = junit.read(f"<testsuites>{cases}</testsuites>".encode())
    assert found == RunnerReport("junit", Tests(3, 0, 2, 1), ("a", "b"), ran=("a", "b"), skipped=("c",))


def test_a_rerun_that_finally_passed_is_a_pass() -> None:
    report = b'<testsuite><testcase name="a"><flakyFailure message="once"/></testcase></testsuite>'
    assert junit.read(report) == RunnerReport("junit", Tests(1, 1, 0, 0), ran=("a",))


def test_a_node_file_without_tests_is_not_a_test_but_a_broken_one_is_a_failure() -> None:
    empty = b'<testcase name="/w/a.test.js" classname="test"/>'
    broken = b'<testcase name="/w/b.test.js"><failure/></testcase>'
    assert junit.read(b"<testsuites>" + empty + broken + b"</testsuites>") == RunnerReport(
        "junit", Tests(1, 0, 1, 0), ("/w/b.test.js",)
    )


def test_a_cut_report_is_not_complete() -> None:
    found = junit.read(PYTEST[: PYTEST.index(b"test_setup")])
    assert found is not None
    assert not found.complete
    assert found.tests.failed == 2


@pytest.mark.parametrize("content", [b"", b"<html></html>", b"not xml", b"\xff\xfe<", b"<testsuitesx/>"])
def test_a_file_that_is_not_a_junit_report_is_not_read(content: bytes) -> None:
    assert junit.read(content) is None


def test_a_document_that_defines_entities_is_refused_before_expansion() -> None:
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 50}">' for n in range(20))
    bomb = f'<!DOCTYPE testsuite [<!ENTITY e0 "x">{entities}]><testsuite><testcase name="&e20;"/></testsuite>'
    assert junit.read(bomb.encode()) is None
    assert dotnet.read_report(bomb.encode()) is None


def test_a_trx_report_is_read_by_its_results() -> None:
    assert dotnet.read_report(TRX) == RunnerReport(
        "dotnet", Tests(3, 1, 1, 1), ("Small.Tests.Two",), ran=("Small.Tests.One", "Small.Tests.Two")
    )
    cut = dotnet.read_report(TRX[: TRX.index(b"<ResultSummary")])
    assert cut is not None
    assert not cut.complete


def test_a_trx_report_with_bare_method_names_takes_the_class_from_its_definitions() -> None:
    results = '<UnitTestResult testName="One" testId="1" outcome="Passed"/>'
    defined = '<UnitTest name="One" id="1"><TestMethod className="Small.Tests" name="One"/></UnitTest>'
    found = dotnet.read_report(f"<TestRun>{results}{defined}<ResultSummary/></TestRun>".encode())
    assert found == RunnerReport("dotnet", Tests(1, 1, 0, 0), ran=("Small.Tests.One",))


def jest_report(*suites: dict[str, object], **more: object) -> bytes:
    return json.dumps({"testResults": suites, **more}).encode()


def suite(status: str, *tests: str) -> dict[str, object]:
    outcomes = [{"fullName": f"t{n} {outcome}", "status": outcome} for n, outcome in enumerate(tests)]
    return {"name": "/w/a.test.js", "status": status, "assertionResults": outcomes}


def test_a_report_of_jest_counts_a_suite_that_could_not_be_loaded_as_failed() -> None:
    report = jest_report(suite("failed", "passed", "failed", "pending", "todo"), suite("failed"))
    names = ("/w/a.test.js > t0 passed", "/w/a.test.js > t1 failed")
    failures, skipped = ("t1 failed", "/w/a.test.js"), ("/w/a.test.js > t2 pending", "/w/a.test.js > t3 todo")
    assert jest.read_report(report) == RunnerReport("jest", Tests(5, 1, 2, 2), failures, ran=names, skipped=skipped)


def test_a_report_of_jest_that_was_interrupted_or_lacks_tests_is_not_complete() -> None:
    for more in ({"wasInterrupted": True}, {"numTotalTests": 9}):
        found = jest.read_report(jest_report(suite("passed", "passed"), **more))
        assert found is not None
        assert not found.complete


def test_a_report_of_mocha_is_complete_only_with_its_end() -> None:
    stats = {"passes": 3, "pending": 1, "failures": 1, "end": "2026-01-01T00:00:00Z"}
    failures = [{"fullTitle": "g bad"}, {"fullTitle": 'g "before each" hook for "c"'}]
    report = {"stats": stats, "failures": failures, "passes": [{"fullTitle": "g good", "file": "/w/a.js"}]}
    read = mocha.read_report(json.dumps(report).encode())
    assert read is not None
    assert (read.tests, read.failures[0], read.complete) == (Tests(5, 3, 1, 1), "g bad", True)
    assert read.ran == ("/w/a.js > g good", "g bad"), "a hook is no test"
    del stats["end"]
    cut = mocha.read_report(json.dumps(report).encode())
    assert cut is not None
    assert not cut.complete


def test_a_report_of_rspec_counts_errors_outside_examples_as_failed() -> None:
    examples = [
        {"full_description": f"a {status}", "status": status, "file_path": "./a_spec.rb"}
        for status in ("passed", "failed", "pending")
    ]
    summary = {"example_count": 3, "errors_outside_of_examples_count": 1}
    report = json.dumps({"examples": examples, "summary": summary}).encode()
    assert rspec.read_report(report) == RunnerReport(
        "rspec", Tests(4, 1, 2, 1), ("a failed",), ran=("./a_spec.rb > a failed", "./a_spec.rb > a passed")
    )


@pytest.mark.parametrize("words", ["example at ./a_spec.rb:4", "is expected to eq 2"])
def test_a_failing_rspec_example_without_a_description_has_no_stable_name(words: str) -> None:
    example = {"full_description": "a", "description": words, "status": "failed"}
    found = rspec.read_report(json.dumps({"examples": [example], "summary": {"example_count": 1}}).encode())
    assert found == RunnerReport("rspec", Tests(1, 0, 1, 0), ("a",))


def go_events(*events: tuple[str, str]) -> bytes:
    lines = [{"Action": action, "Package": "p", **({"Test": test} if test else {})} for action, test in events]
    return "\n".join(map(json.dumps, lines)).encode()


def test_go_events_count_only_tests_that_started() -> None:
    events = go_events(
        ("run", "A"), ("pass", "Fake"), ("pass", "A"), ("run", "B"), ("pass", "B"), ("fail", "B"), ("fail", "")
    )
    assert go.read_events(events) == RunnerReport("go", Tests(2, 1, 1, 0), ("B",), ran=("p.A", "p.B"))


def test_go_events_without_the_end_of_a_package_are_not_complete() -> None:
    found = go.read_events(go_events(("run", "A"), ("pass", "A")))
    assert found is not None
    assert not found.complete


def test_a_package_of_go_that_fails_without_a_test_is_a_failure() -> None:
    assert go.read_events(go_events(("fail", ""))) == RunnerReport("go", Tests(1, 0, 1, 0), ("p",))
