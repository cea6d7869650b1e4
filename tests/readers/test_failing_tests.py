"""Failures in recorded real runs of test runners: names, reasons, places. dotnet and gradle are written by hand."""

import resource
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.readers.failures import logs
from donewhen.readers.failures.failure import Failure, FailureReport
from donewhen.readers.failures.places import is_of_project, portable, top_of_project
from donewhen.readers.find_failures import ORDER, failure_reports, reader
from donewhen.readers.runner_names import RUNNERS
from tiers import examples

RECORDED = Path(__file__).parent / "failure_logs"
EXPECTED: dict[str, tuple[str, str, list[str], str, str, str]] = {
    "tests_pytest/attribute": (
        "pytest", "test", ["test_shop.py::test_label_names_the_customer"],
        "AttributeError", "'str' object has no attribute 'uppercase'", "shop.py:label",
    ),
    "tests_pytest/import": (
        "pytest", "collect", ["test_shop.py"], "ModuleNotFoundError", "No module named 'monies'", "shop.py:<module>",
    ),
    "tests_pytest/assertion": (
        "pytest", "test",
        [f"test_shop.py::test_{name}" for name in ("total_of_lines", "total_of_two_lines", "saved_on_disk")],
        "AssertionError", "assert 481 == (478 * 3)", "test_shop.py:test_total_of_lines",
    ),
    "tests_pytest/short_traces": (
        "pytest", "test", ["test_shop.py::test_total", "test_shop.py::test_label", "test_shop.py::test_rows"],
        "AssertionError", "assert 35 == (17 * 2)", "test_shop.py:test_total",
    ),
    "tests_pytest/native_traces": (
        "pytest", "test", ["test_shop.py::test_total", "test_shop.py::test_label", "test_shop.py::test_rows"],
        "AssertionError", "assert 35 == (17 * 2)", "test_shop.py:test_total",
    ),
    "tests_pytest/no_traces": (
        "pytest", "test", ["test_shop.py::test_total", "test_shop.py::test_label", "test_shop.py::test_rows"],
        "", "assert 35 == (17 * 2)", "",
    ),
    "tests_pytest/no_summary": (
        "pytest", "test", ["test_shop.py::test_rows", "test_shop.py::test_total", "test_shop.py::test_label"],
        "ConnectionError", "no database at 127.0.0.1:5432", "test_shop.py:database",
    ),
    "tests_pytest/conftest": (
        "pytest", "setup", ["conftest.py"], "ModuleNotFoundError", "No module named 'nowhere2'", "conftest.py:<module>",
    ),
    "tests_unittest/assertion": (
        "unittest", "test", ["test_shop.OrderTest.test_saved", "test_shop.OrderTest.test_total"],
        "AssertionError", "'481' != '1434'", "test_shop.py:test_saved",
    ),
    "tests_unittest/import": (
        "unittest", "collect", ["test_shop"], "ModuleNotFoundError", "No module named 'monies'", "shop.py:<module>",
    ),
    "tests_unittest/setup": (
        "unittest", "setup", ["test_u.Orders.setUpClass"], "RuntimeError", "port 5432 is taken", "test_u.py:setUpClass",
    ),
    "tests_node/method": (
        "node:test", "test", ["shop.test.js > orders > has a label"],
        "TypeError", "this.customer.name.upper is not a function", "shop.js:Order.label",
    ),
    "tests_node/import": (
        "node:test", "collect", ["shop.test.js"],
        "Error", "Cannot find module './monies'", "shop.js:Object.<anonymous>",
    ),
    "tests_node/assertion": (
        "node:test", "test",
        ["shop.test.js > orders > has a total", "shop.test.js > orders > has a total of two lines"],
        "AssertionError", "Expected values to be strictly deep-equal: 481 !== 1434",
        "shop.test.js:TestContext.<anonymous>",
    ),
    "tests_node/spec": (
        "node:test", "test",
        ["shop.test.js > has a total", "shop.test.js > has a total of two lines", "shop.test.js > has a label"],
        "AssertionError", "Expected values to be strictly deep-equal: 348 !== 1035",
        "shop.test.js:TestContext.<anonymous>",
    ),
    "tests_jest/assertion": (
        "jest", "test", ["shop.test.js > orders > has a total", "shop.test.js > orders > has a total of two lines"],
        "", "expect(received).toEqual(expected) // deep equality Expected: 1434 Received: 481",
        "shop.test.js:Object.toEqual",
    ),
    "tests_jest/property": (
        "jest", "test", ["shop.test.js > orders > has a label"],
        "TypeError", "Cannot read properties of undefined (reading 'name')", "shop.js:Order.name [as label]",
    ),
    "tests_jest/import": (
        "jest", "collect", ["shop.test.js"], "", "Cannot find module './monies' from 'shop.js'",
        "shop.js:Object.require",
    ),
    "tests_vitest/assertion": (
        "vitest", "test", ["shop.test.js > orders > has a total", "shop.test.js > orders > has a total of two lines"],
        "AssertionError", "expected 481 to deeply equal 1434 - 1434 + 481", "shop.test.js:",
    ),
    "tests_vitest/property": (
        "vitest", "test", ["shop.test.js > orders > has a label"],
        "TypeError", "Cannot read properties of undefined (reading 'name')", "shop.js:Order.label",
    ),
    "tests_vitest/import": (
        "vitest", "collect", ["shop.test.js"], "Error", "Cannot find module './monies'", "shop.js:Object.<anonymous>",
    ),
    "tests_mocha/assertion": (
        "mocha", "test", ["orders > has a total", "orders > has a total of two lines"],
        "AssertionError", "Expected values to be strictly deep-equal: 481 !== 1434", "shop.test.js:Context.<anonymous>",
    ),
    "tests_mocha/import": (
        "mocha", "collect", ["shop.js"], "Error", "Cannot find module './monies'", "shop.js:Object.<anonymous>",
    ),
    "tests_mocha/hook": (
        "mocha", "setup", ['orders > "before all" hook'], "Error", "no database at port 5432",
        "hooks.test.js:Context.<anonymous>",
    ),
    "tests_cargo/assertion": (
        "cargo test", "test", ["tests/orders.rs > total_of_lines", "tests/orders.rs > total_of_two_lines"],
        "panic", "assertion `left == right` failed left: 481 right: 1434", "tests/orders.rs:orders::total_of_lines",
    ),
    "tests_cargo/panic": (
        "cargo test", "test", ["tests/orders.rs > labels"],
        "panic", "called `Option::unwrap()` on a `None` value", "src/lib.rs:shop::label",
    ),
    "tests_go/assertion": (
        "go test", "test", ["example.org/shop > TestTotal", "example.org/shop > TestTotalOfTwo"],
        "", "total: got 481, want 1434", "shop_test.go:TestTotal",
    ),
    "tests_go/panic": (
        "go test", "test", ["example.org/shop > TestLabel"],
        "panic", "runtime error: invalid memory address or nil pointer dereference", "shop.go:example.org/shop.Label",
    ),
    "tests_go/subtests": (
        "go test", "test", ["example.org/shop > TestDiscount/N"],
        "", "half of 590: got 394, <nil>", "shop_test.go:TestDiscount",
    ),
    "tests_go/verbose": (
        "go test", "test",
        ["example.org/shop > TestTotal", "example.org/shop > TestTotalOfTwo", "example.org/shop > TestDiscount/N"],
        "", "total: got 348, want 1035", "shop_test.go:TestTotal",
    ),
    "tests_go/events": (
        "go test", "test",
        ["example.org/shop > TestTotal", "example.org/shop > TestTotalOfTwo", "example.org/shop > TestDiscount/N"],
        "", "total: got 348, want 1035", "shop_test.go:TestTotal",
    ),
    "tests_rspec/assertion": (
        "rspec", "test",
        ["spec/shop_spec.rb > Order has a total", "spec/shop_spec.rb > Order has a total of two lines"],
        "", "expected: 1434 got: 481", "spec/shop_spec.rb:block (2 levels) in <top (required)>",
    ),
    "tests_rspec/key": (
        "rspec", "test", ["spec/shop_spec.rb > Order has a label"], "KeyError", "key not found: :title",
        "shop.rb:fetch",
    ),
    "tests_rspec/import": (
        "rspec", "collect", ["spec/shop_spec.rb"], "LoadError", "cannot load such file -- monies",
        "shop.rb:<top (required)>",
    ),
    "tests_phpunit/data_sets": (
        "phpunit", "test", ["ShopTest::testHalf"],
        "", "Failed asserting that 39.33333333333333 matches expected 29.5.", "ShopTest.php:",
    ),
    "tests_phpunit/function": (
        "phpunit", "test", ["ShopTest::testLabel"], "Error", "Call to undefined function str_upper()", "shop.php:",
    ),
    "tests_dotnet/written_by_hand": (
        "dotnet test", "test", ["Shop.Tests.OrderTests.Total", "Shop.Tests.OrderTests.Label"],
        "", "Assert.Equal() Failure: Values differ", "OrderTests.cs:Shop.Tests.OrderTests.Total",
    ),
    "tests_maven/junit4": (
        "maven", "test", ["small.ShopTest.label", "small.ShopTest.total"], "java.lang.NullPointerException",
        'Cannot invoke "String.toUpperCase()" because the return value of "java.util.Map.get(Object)" is null',
        "ShopTest.java:small.ShopTest.label",
    ),
    "tests_gradle/written_by_hand": (
        "gradle", "test", ["ShopTest > total", "ShopTest > half"],
        "org.opentest4j.AssertionFailedError", "", "ShopTest.java:",
    ),
    "tests_traceback/python": (
        "traceback", "test", ["main.py:load:FileNotFoundError"],
        "FileNotFoundError", "[Errno 2] No such file or directory: '/tmp/nothing-here.json'", "main.py:load",
    ),
    "tests_traceback/node": (
        "traceback", "test", ["main.js:load:TypeError"],
        "TypeError", "Cannot read properties of null (reading 'text')", "main.js:load",
    ),
    "tests_traceback/java": (
        "traceback", "test", ["Main.java:Main.load:java.lang.NullPointerException"], "java.lang.NullPointerException",
        'Cannot invoke "String.length()" because "<parameter1>" is null', "Main.java:Main.load",
    ),
    "tests_traceback/ruby": (
        "traceback", "test", ["main.rb:read:Errno::ENOENT"],
        "Errno::ENOENT", "No such file or directory @ rb_sysopen - /nowhere/x.json", "main.rb:read",
    ),
    "tests_traceback/php": (
        "traceback", "test", ["main.php:Error"], "Error", "Call to a member function text() on null", "main.php:",
    ),
}  # fmt: skip


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.log").read_text()


def place(failure: Failure) -> str:
    top = top_of_project(failure.frames)
    return f"{portable(top.file)}:{top.function}" if top else ""


def as_of_ci(log: str) -> str:
    return "\r\n".join(f"2026-01-02T03:04:{at % 60:02}.1234567Z {line}" for at, line in enumerate(log.split("\n")))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_run_gives_failed_tests_reasons_and_places(name: str) -> None:
    found = failure_reports(recorded(name))[0]
    first = found.failures[0]
    ids = [each.id for each in found.failures]
    assert (found.reader, found.phase, ids, first.kind, first.message, place(first)) == EXPECTED[name]


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", EXPECTED)
def test_ci_timestamps_and_thousands_of_other_lines_change_nothing(name: str) -> None:
    before = [f"downloading part {n} of 4000 ... ok" for n in range(4_000)]
    after = [f"cleaning up {n}" for n in range(1_000)]
    log = as_of_ci("\n".join([*before, recorded(name), *after]))
    assert failure_reports(log)[0].failures == failure_reports(recorded(name))[0].failures


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_reader_leaves_the_logs_of_other_runners_alone(runner: str) -> None:
    read = reader(runner)
    found: dict[str, FailureReport | None] = {name: read(recorded(name)) for name in EXPECTED}
    assert {each.reader for each in found.values() if each} == {log_of(runner)}
    assert {name for name, each in found.items() if each} == {
        name for name, expected in EXPECTED.items() if expected[0] == log_of(runner)
    }


def log_of(runner: str) -> str:
    return {"cargo": "cargo test", "go": "go test", "node": "node:test", "dotnet": "dotnet test"}.get(runner, runner)


def test_output_printed_by_a_test_is_not_its_error() -> None:
    log = "\n".join(
        [
            "=================================== FAILURES ===================================",
            "___________________________________ test_a ____________________________________",
            "t.py:3: in test_a",
            "    assert 1 == 2",
            "E   assert 1 == 2",
            "----------------------------- Captured stdout call -----------------------------",
            "E   KeyError: 'not this one'",
            "other.py:9: KeyError",
            "=========================== short test summary info ============================",
            "FAILED t.py::test_a - assert 1 == 2",
        ]
    )
    assert [(each.id, each.kind, each.message, each.file) for each in failure_reports(log)[0].failures] == [
        ("t.py::test_a", "AssertionError", "assert 1 == 2", "t.py")
    ]


@pytest.mark.parametrize(
    "file",
    [
        "/home/ada/shop/.venv/lib/python3.11/site-packages/pluggy/_callers.py",
        "/usr/lib/python3.11/json/__init__.py",
        "/home/ada/shop/node_modules/jest-resolve/build/index.js",
        "node:internal/modules/cjs/loader",
        "/rustc/59807616e1fa/library/core/src/panicking.rs",
        "/home/ada/.cargo/registry/src/index/serde/src/lib.rs",
        "/usr/local/go/src/testing/testing.go",
        "/home/ada/go/pkg/mod/example.org/a@v1/a.go",
        "/var/lib/gems/3.1.0/gems/rspec-core/lib/rspec/core.rb",
        "/srv/shop/vendor/phpunit/phpunit/src/TestCase.php",
        "<frozen importlib._bootstrap>",
    ],
)
def test_frames_of_libraries_and_the_language_are_not_project_frames(file: str) -> None:
    assert not is_of_project(file)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("./src/shop.py", "src/shop.py"),
        ("shop/orders/__init__.py", "shop/orders/__init__.py"),
        ("/home/runner/work/shop/shop/src/orders/a.py", "src/orders/a.py"),
        ("/tmp/w8x7/checkout/src/orders/a.py", "src/orders/a.py"),
        ("/home/ada/src/shop/tests/test_a.py", "tests/test_a.py"),
        ("/usr/src/app/shop.js", "shop.js"),
        ("C:\\work\\shop\\src\\a.ts", "src/a.ts"),
    ],
)
def test_a_file_has_the_same_name_in_every_checkout(file: str, expected: str) -> None:
    assert is_of_project(file)
    assert portable(file) == expected


def test_frames_of_java_libraries_are_recognised_by_package() -> None:
    half = failure_reports(recorded("tests_gradle/written_by_hand"))[0].failures[1]
    assert (len(half.frames), place(half)) == (2, "ShopTest.java:small.ShopTest.half")


def test_the_newer_surefire_format_with_the_class_first_is_read() -> None:
    log = "[ERROR] small.ShopTest.total(int)[2] -- Time elapsed: 0.01 s <<< FAILURE!\njava.lang.AssertionError: no\n"
    assert [each.id for each in failure_reports(log)[0].failures] == ["small.ShopTest.total"]


def test_a_log_without_failures_gives_no_failures() -> None:
    assert (
        failure_reports("==== 3 passed in 0.01s ====\ntest result: ok. 3 passed; 0 failed\nok  \texample.org/a\t0.1s\n")
        == []
    )
    assert failure_reports("") == []


def test_carriage_returns_colours_and_control_characters_are_removed() -> None:
    log = "10%\r20%\r\x1b[31mred\x1b[0m\x00\x08!\n##[error]broken\u202e\n"
    assert logs.lines(log) == ["10%", "20%", "red!", "broken", ""]


SAMPLES = [recorded(name) for name in EXPECTED]


@st.composite
def damaged(draw: st.DrawFn) -> str:
    log = draw(st.sampled_from(SAMPLES))
    start = draw(st.integers(0, len(log)))
    end = draw(st.integers(start, min(len(log), start + 200)))
    piece = draw(st.sampled_from(["", log[start:end] * 2, "\x00", "\ud800", "\x1b[", "(" * 300, "\n" * 9, "9" * 5_000]))
    return log[:start] + piece + log[end:]


@settings(max_examples=examples(60))
@given(st.text(max_size=300) | damaged())
def test_no_failure_reader_raises_on_any_log(log: str) -> None:
    failure_reports(log)


POISON = [
    "    at x.y (/a/b/c.js:1:3)",
    "Traceback (most recent call last):",
    "=" * 70 + "\nFAIL: x (a.b)",
    "--- FAIL: T (0.10s)",
    "  ● a",
    "not ok 1 - a",
    "  1) a",
    "---- a stdout ----",
    "thread 'a' panicked at 'a', 'a', 'a', 'a",
    "(" * 3_000,
    "a.b::" * 800,
    "a/" * 1_500,
    "Fatal error: " + " in /a" * 500,
    "FAILED " + "a.py" * 900,
    "a > " * 900,
    "[ERROR] " + "a(" * 900 + ")]" * 900 + " <<< ",
    "a" + ")" * 300 + "[" * 300 + " <<< ",
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("line", POISON, ids=range(len(POISON)))
def test_a_log_made_to_be_slow_is_read_in_bounded_time(line: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    failure_reports("\n".join([line] * (600_000 // len(line))))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 20, "not a measurement: linear takes a second"


def test_every_reader_is_asked_once() -> None:
    assert len(set(ORDER)) == len(ORDER)
