"""Summaries of runners in all their forms; and product output that only looks like one."""

from collections.abc import Callable

import pytest

from donewhen.readers import cargo, dotnet, go, gradle, jest, maven, mocha, node, phpunit, rspec, unittest, vitest
from donewhen.readers import pytest as pytest_reader
from donewhen.readers.result import RunnerReport

Read = Callable[[bytes], RunnerReport | None]
DASHES = "-" * 70

NODE_COUNTS = (
    "{0} tests 6\n{0} suites 0\n{0} pass 2\n{0} fail 1\n{0} cancelled 1\n{0} skipped 1\n{0} todo 1\n"
    "{0} duration_ms 9.5\n"
)
CARGO_ONE = (
    "     Running unittests src/lib.rs (target/debug/deps/a-1)\n\n"
    "running 2 tests\ntest a ... ok\ntest b ... ignored\n\n"
    "test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.00s\n\n"
)
CARGO_DOC = (
    "   Doc-tests a\n\nrunning 1 test\ntest src/lib.rs - (line 1) ... ok\n\n"
    "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
)
CARGO_RED = (
    "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nno\n\nfailures:\n    b\n\n"
    "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n"
    "error: test failed, to rerun pass `--lib`\n"
)
CARGO_NAMED = "     Running unittests src/lib.rs (target/debug/deps/small-d0cd676913dc3413)\n\n"
MOCHA = (
    "\n  g\n    ✔ good\n    ✔ slow (82ms)\n    1) bad\n    - later\n"
    '    2) "before each" hook for "other"\n\n\n  2 passing (90ms)\n  1 pending\n  2 failing\n'
)
UNITTEST = (
    "test_a (m.T.test_a)\nIn words. ... ok\ntest_b (m.T.test_b) ... talk\nFAIL\ntest_c (m.T.test_c) ... skipped 'no'\n"
    "setUpClass (m.U) ... ERROR\ntest_d (m.T.test_d) ... expected failure\n"
    f"x (unittest.loader._FailedTest.x) ... ERROR\n\n{'=' * 70}\nFAIL: test_b (m.T.test_b)\n{DASHES}\n"
    "Ran 5 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1, expected failures=1)\n"
)
GO = (
    "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/c_d\n    a_test.go:6: x\n"
    "--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/c_d (0.00s)\n=== RUN   TestE\nno newline--- PASS: TestE (0.00s)\n"
    "=== RUN   TestF\n--- SKIP: TestF (0.00s)\nFAIL\nFAIL\texample.invalid/x\t0.003s\n"
    "?   \texample.invalid/y\t[no test files]\nFAIL\n"
)

SUMMARIES: list[tuple[Read, str, tuple[int, int, int]]] = [
    (pytest_reader.read_text, "===== 3 passed in 0.12s =====", (3, 0, 0)),
    (pytest_reader.read_text, "3 passed, 1 warning in 61.02s (0:01:01)", (3, 0, 0)),
    (
        pytest_reader.read_text,
        "= 1 failed, 2 passed, 1 skipped, 4 deselected, 1 xfailed, 1 xpassed, 2 errors in 0.1s =",
        (3, 3, 2),
    ),
    (pytest_reader.read_text, "======= 2 passed, 3 subtests passed in 0.02s =======", (2, 0, 0)),
    (pytest_reader.read_text, "no tests ran in 0.00s", (0, 0, 0)),
    (pytest_reader.read_text, "5 deselected in 0.01s", (0, 0, 0)),
    (pytest_reader.read_text, "== 2 passed in 0.50 seconds ==", (2, 0, 0)),
    (unittest.read_text, f"{DASHES}\nRan 3 tests in 0.001s\n\nOK (skipped=1)", (2, 0, 1)),
    (
        unittest.read_text,
        f"{DASHES}\nRan 7 tests in 0.1s\n\n"
        "FAILED (failures=1, errors=2, skipped=1, expected failures=1, unexpected successes=1)",
        (1, 4, 2),
    ),
    (unittest.read_text, f"{DASHES}\nRan 0 tests in 0.000s\n\nNO TESTS RAN", (0, 0, 0)),
    (unittest.read_text, f"{DASHES}\nRan 1 test in 0.000s\n\nFAILED (failures=2)", (0, 2, 0)),
    (
        jest.read_text,
        "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 1 skipped, 1 todo, 3 passed, 6 total",
        (3, 1, 2),
    ),
    (jest.read_text, "Test Suites: 2 failed, 2 total\nTests:       0 total\nSnapshots:   0 total", (0, 2, 0)),
    (jest.read_text, "No tests found, exiting with code 1\nRun with `--passWithNoTests`", (0, 0, 0)),
    (vitest.read_text, " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed | 1 skipped (4)", (2, 1, 1)),
    (vitest.read_text, " Test Files  1 failed (1)\n      Tests  no tests", (0, 1, 0)),
    (vitest.read_text, " Test Files  1 passed (1)\n      Tests  2 passed (2)\n     Errors  1 error", (2, 1, 0)),
    (vitest.read_text, "\nNo test files found, exiting with code 1\n", (0, 0, 0)),
    (mocha.read_text, "\n  3 passing (12ms)\n  1 pending\n  2 failing\n\n  1) g\n       bad:\n", (3, 2, 1)),
    (mocha.read_text, "  0 passing (1ms)\n", (0, 0, 0)),
    (node.read_text, NODE_COUNTS.format("#"), (2, 2, 2)),
    (node.read_text, NODE_COUNTS.format("ℹ"), (2, 2, 2)),
    (cargo.read_text, CARGO_ONE + CARGO_DOC, (2, 0, 1)),
    (cargo.read_text, CARGO_RED, (1, 1, 0)),
    (go.read_text, GO, (2, 2, 1)),
    (go.read_text, "?   \texample.invalid/y\t[no test files]\n", (0, 0, 0)),
    (go.read_text, "FAIL\texample.invalid/y [build failed]\nFAIL\n", (0, 1, 0)),
    (rspec.read_text, "4 examples, 1 failure, 2 pending", (1, 1, 2)),
    (rspec.read_text, "0 examples, 0 failures, 1 error occurred outside of examples", (0, 1, 0)),
    (phpunit.read_text, "OK (3 tests, 5 assertions)", (3, 0, 0)),
    (
        phpunit.read_text,
        "OK, but incomplete, skipped, or risky tests!\nTests: 2, Assertions: 1, Skipped: 1.",
        (1, 0, 1),
    ),
    (phpunit.read_text, "Tests: 8, Assertions: 4, Errors: 1, Failures: 2, Skipped: 1, Risky: 1.", (3, 3, 2)),
    (phpunit.read_text, "No tests executed!", (0, 0, 0)),
    (
        maven.read_text,
        "[INFO] --- surefire:3.2.5:test (default-test) @ a ---\n"
        "[ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1\n"
        "[INFO] BUILD FAILURE",
        (1, 2, 1),
    ),
    (
        gradle.read_text,
        "ATest > two() FAILED\n\n5 tests completed, 2 failed, 1 skipped\n\nBUILD FAILED in 3s",
        (2, 2, 1),
    ),
    (
        dotnet.read_text,
        "Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 5 ms - a.dll (net8.0)\n"
        "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 5 ms - b.dll (net8.0)",
        (5, 1, 1),
    ),
]


def shown(case: object) -> str | None:
    return case.__module__.rsplit(".", 1)[-1] if callable(case) else None


@pytest.mark.parametrize(("read", "text", "counts"), SUMMARIES, ids=shown)
def test_a_summary_is_read_in_plain_and_in_colour(read: Read, text: str, counts: tuple[int, int, int]) -> None:
    coloured = "".join(f"\x1b[1;32m{line}\x1b[0m\r\n" for line in text.splitlines())
    for printed in (text, f"talk before\n{text}\ntalk after\n", coloured):
        found = read(printed.encode())
        assert found is not None
        assert (found.tests.passed, found.tests.failed, found.tests.skipped) == counts
        assert found.tests.collected == sum(counts)
        assert found.complete


@pytest.mark.parametrize(
    ("read", "talk", "summary"),
    [
        (pytest_reader.read_text, "5 passed in 0.01s", "1 failed in 0.01s"),
        (
            unittest.read_text,
            f"{DASHES}\nRan 5 tests in 0.1s\n\nOK",
            f"{DASHES}\nRan 1 test in 0.1s\n\nFAILED (errors=1)",
        ),
        (jest.read_text, "Tests:       5 passed, 5 total", "Tests:       1 failed, 1 total"),
        (vitest.read_text, "      Tests  5 passed (5)", " Test Files  1 failed (1)\n      Tests  1 failed (1)"),
        (mocha.read_text, "  5 passing (3ms)", "  0 passing (3ms)\n  1 failing"),
        (rspec.read_text, "5 examples, 0 failures", "1 example, 1 failure"),
        (phpunit.read_text, "OK (5 tests, 5 assertions)", "Tests: 1, Assertions: 1, Failures: 1."),
    ],
    ids=shown,
)
def test_only_the_last_summary_counts(read: Read, talk: str, summary: str) -> None:
    found = read(f"{talk}\n{summary}\n".encode())
    assert found is not None
    assert (found.tests.passed, found.tests.failed) == (0, 1)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (pytest_reader.read_text, "we saw 5 passed in 0.1s"),
        (pytest_reader.read_text, "tests/a.py .....      [100%]"),
        (unittest.read_text, "He ran 5 tests in 0.1s"),
        (jest.read_text, "  Tests: 5 passed, 5 total"),
        (node.read_text, "# tests 5\n# pass 5\n# fail 0"),
        (go.read_text, "ok  \texample.invalid/x\t0.1s"),
        (go.read_text, "PASS"),
        (cargo.read_text, "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out"),
        (rspec.read_text, "there are 5 examples, 0 failures"),
        (gradle.read_text, "BUILD SUCCESSFUL in 3s"),
    ],
    ids=shown,
)
def test_text_that_only_looks_like_a_summary_is_not_read(read: Read, text: str) -> None:
    assert read(text.encode()) is None


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (unittest.read_text, f"{DASHES}\nRan 5 tests in 0.1s\n\n"),
        (cargo.read_text, "running 2 tests\ntest a ... ok\n"),
        (cargo.read_text, CARGO_ONE + "running 2 tests\nerror: test failed, to rerun pass `--lib`\n" + CARGO_DOC),
        (go.read_text, "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n"),
        (maven.read_text, "[INFO] --- surefire:3.2.5:test (default-test) @ a ---\n"),
    ],
    ids=shown,
)
def test_cut_output_is_not_complete(read: Read, text: str) -> None:
    found = read(text.encode())
    assert found is not None
    assert not found.complete


@pytest.mark.parametrize(
    ("read", "text", "names"),
    [
        (
            pytest_reader.read_text,
            "=== short test summary info ===\nFAILED a.py::test_b[x] - assert 0\nERROR b.py\n1 failed, 1 error in 0.1s",
            ("a.py::test_b[x]", "b.py"),
        ),
        (
            unittest.read_text,
            f"FAIL: test_b (a.T.test_b)\n{DASHES}\nRan 1 test in 0.1s\n\nFAILED (failures=1)",
            ("test_b (a.T.test_b)",),
        ),
        (
            mocha.read_text,
            "  0 passing (1ms)\n  1 failing\n\n  1) outer\n       inner\n         bad:\n     Error",
            ("outer inner bad",),
        ),
        (cargo.read_text, CARGO_RED, ("b",)),
        (go.read_text, GO, ("TestB", "TestB/c_d")),
        (rspec.read_text, "1 example, 1 failure\n\nFailed examples:\n\nrspec ./a_spec.rb:3 # x bad\n", ("x bad",)),
        (node.read_text, "not ok 1 - bad\nnot ok 2 - later # TODO\n" + NODE_COUNTS.format("#"), ("bad",)),
    ],
    ids=shown,
)
def test_failures_have_the_names_of_the_runner(read: Read, text: str, names: tuple[str, ...]) -> None:
    found = read(text.encode())
    assert found is not None
    assert found.failures == names


@pytest.mark.parametrize(
    ("read", "text", "names"),
    [
        (cargo.read_text, CARGO_ONE + CARGO_DOC, ("Doc-tests a > src/lib.rs -", "a")),
        (
            cargo.read_text,
            CARGO_NAMED + CARGO_RED,
            ("unittests src/lib.rs small > a", "unittests src/lib.rs small > b"),
        ),
        (cargo.read_text, CARGO_RED.replace("test a ... ok\n", "."), ()),
        (cargo.read_text, CARGO_RED.replace("test a ... ok\n", "test a ... ok\ntest made_up ... ok\n"), ()),
        (go.read_text, GO, tuple(f"example.invalid/x.Test{name}" for name in ("A", "B", "B/c_d", "E"))),
        (mocha.read_text, MOCHA, ("bad", "good", "slow")),
        (mocha.read_text, MOCHA.replace("    ✔ good\n", "    ✔ good\n    ✔ made up\n"), ()),
        (mocha.read_text, "  ․․․\n\n  3 passing (12ms)\n", ()),
        (
            node.read_text,
            "ok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\nok 4 - /w/x.js\n" + NODE_COUNTS.format("#"),
            ("a", "b"),
        ),
        (node.read_text, "✔ a (1.5ms)\n  ✖ b (1ms)\n﹣ c (1ms) # SKIP\n" + NODE_COUNTS.format("ℹ"), ("a", "b")),
        (unittest.read_text, UNITTEST, ("test_a (m.T.test_a)", "test_b (m.T.test_b)")),
        (unittest.read_text, UNITTEST.replace("Ran 5", "Ran 6"), ()),
    ],
    ids=shown,
)
def test_names_of_tests_are_returned_only_if_their_number_matches_the_count(
    read: Read, text: str, names: tuple[str, ...]
) -> None:
    found = read(text.encode())
    assert found is not None
    assert found.ran == names


def test_a_cargo_block_inside_a_block_is_ordinary_output() -> None:
    forged = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
    text = CARGO_RED.replace("test a ... ok\n", f"test a ... running 5 tests\nrunning 5 tests\n{forged}ok\n")
    found = cargo.read_text(text.encode())
    assert found is not None
    assert (found.tests.passed, found.tests.failed) == (1, 1)
