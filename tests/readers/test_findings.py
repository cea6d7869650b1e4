"""What compilers, type checkers and linters print, recorded from the real tools, and what the readers make of it.

How the logs in `failure_logs/findings` were made: small projects with seeded mistakes, the tool run in them, and the
directory of the project replaced by `/build`. Where a name says a form, it is the tool's option for it.

- tsc 5.9: `tsc -p .`, `--pretty`, `--nosuch`. ESLint 9.39: `eslint lib`, `--color`, `-f json`, one rule as a warning,
  `--max-warnings 0`; ESLint 8.57 for compact and unix, with fewer rules.
- Ruff 0.17: `ruff check --output-format FORM shop`, `--preview`, `format --check`. flake8 7.5 on the same files.
- mypy 2.4: `mypy shop`, `--show-column-numbers`, `--strict --show-error-end`, `--pretty`, `--output json`,
  `--hide-error-codes --no-error-summary`. Pyright 1.1: `pyright shop`, `--outputjson`.
- Rust 1.95: `cargo build`, `--message-format short`, `RUSTFLAGS=-Dwarnings`, `cargo clippy -- -D warnings -D
  clippy::pedantic`, `cargo test`. Go 1.19: `go build`, `go vet`, `go test`.
- javac 17: as it is, `-Xlint:all`, `-Xlint:all -Werror`. Maven 3.8: `mvn -o -B compile`.
- gcc 12 and clang 14: `-Wall -c`, `-Wall -Werror -c`, linking; GNU make 4.3 `-k`, CMake 3.25 with make and ninja 1.11.
- pytest: tests that quote compilers.
"""

import re
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.readers.compilers import eslint, gcc, go_build, javac, mypy, pyright, ruff, rustc, tsc
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.findings import MOST, Findings, phrase
from donewhen.readers.failures.project_paths import in_project, roots
from tiers import examples

Read = Callable[[str], FailureReport | None]
READERS: dict[str, Read] = {
    "tsc": tsc.read,
    "eslint": eslint.read,
    "ruff": ruff.read,
    "mypy": mypy.read,
    "pyright": pyright.read,
    "rustc": rustc.read,
    "go build": go_build.read,
    "javac": javac.read,
    "gcc": gcc.read,
}
LOGS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "failure_logs/findings").glob("*.txt"))}

TSC = [
    "src/cart.ts:TS2322 3",
    "src/cart.ts:TS2322 5",
    "src/cart.ts:TS2345 6",
    "src/cart.ts:TS2551 7",
    "src/money.ts:TS2307 2",
    "src/money.ts:TS2322 4",
    "src/money.ts:TS2345 7",
]
ESLINT_8 = [
    "lib/a.js:no-unused-vars 1",
    "lib/a.js:no-undef 2",
    "lib/a.js:no-undef 3",
    "lib/a.js:no-var 4",
    "lib/a.js:no-unused-vars 4",
    "lib/b.js:no-undef 2",
    "lib/c.js:parsing-error 1",
]
ESLINT = [*ESLINT_8[:3], "lib/a.js:semi 3", *ESLINT_8[3:5], "lib/a.js:semi 4", "lib/a.js:no-debugger 5", *ESLINT_8[5:]]
RUFF = [
    "shop/broken.py:invalid-syntax 1",
    "shop/broken.py:invalid-syntax 1",
    "shop/cart.py:I001 1",
    "shop/cart.py:F401 1",
    "shop/cart.py:F401 2",
    "shop/cart.py:F401 2",
    "shop/cart.py:F821 14",
    "shop/money.py:I001 1",
    "shop/money.py:F401 1",
    "shop/money.py:F401 2",
    "shop/money.py:F841 9",
]
RUFF_FORMS = ["full", "concise", "grouped", "pylint", "github", "json", "json_lines"]
RUFF_NAMES = [
    "shop/cart.py:undocumented-public-module 1",
    "shop/cart.py:unsorted-imports 1",
    "shop/cart.py:unused-import 1",
    "shop/cart.py:multiple-imports-on-one-line 2",
    "shop/cart.py:unused-import 2",
    "shop/cart.py:unused-import 2",
    "shop/cart.py:undocumented-public-function 5",
    "shop/cart.py:undocumented-public-function 9",
    "shop/cart.py:undefined-name 14",
]
FLAKE8 = [
    "shop/broken.py:E999 1",
    *("shop/cart.py:F401 1", "shop/cart.py:F401 2", "shop/cart.py:F401 2", "shop/cart.py:E401 2"),
    *("shop/cart.py:F821 14", "shop/money.py:F401 1", "shop/money.py:F401 2"),
    *("shop/money.py:F841 9", "shop/money.py:E741 9"),
]
MYPY = [
    "shop/cart.py:return-value 6",
    "shop/cart.py:arg-type 13",
    "shop/cart.py:name-defined 14",
    "shop/cart.py:attr-defined 16",
    "shop/money.py:attr-defined 1",
    "shop/money.py:import-not-found 2",
    "shop/money.py:assignment 6",
    "shop/money.py:attr-defined 14",
    "shop/money.py:operator 15",
]
MYPY_FORMS = ["plain", "columns", "pretty", "json"]
MYPY_STRICT = [*MYPY[:7], "shop/money.py:no-untyped-def 8", "shop/money.py:attr-defined 10", *MYPY[7:]]
MYPY_WITHOUT_CODES = [
    "shop/cart.py:incompatible-return-value-type 6",
    "shop/cart.py:argument-to-has-incompatible-type-expected 13",
    "shop/cart.py:name-is-not-defined 14",
    "shop/cart.py:has-no-attribute 16",
    "shop/money.py:module-has-no-attribute 1",
    "shop/money.py:cannot-find-implementation-or-library-stub 2",
    "shop/money.py:incompatible-types-in-assignment 6",
    "shop/money.py:has-no-attribute 14",
    "shop/money.py:unsupported-operand-types-for 15",
]
PYRIGHT = [
    "shop/broken.py:was-not-closed 1",
    "shop/broken.py:expected-parameter-name 1",
    "shop/broken.py:position-only-parameter-separator-not-allowed-as 1",
    "shop/broken.py:expected-expression 2",
    "shop/broken.py:expected 3",
    "shop/broken.py:expected-expression 3",
    "shop/broken.py:statements-must-be-separated-by-newlines 3",
    "shop/cart.py:reportReturnType 6",
    "shop/cart.py:reportArgumentType 13",
    "shop/cart.py:reportUndefinedVariable 14",
    "shop/cart.py:reportAttributeAccessIssue 16",
    "shop/money.py:reportAttributeAccessIssue 1",
    "shop/money.py:reportMissingImports 2",
    "shop/money.py:reportAssignmentType 6",
    "shop/money.py:reportAttributeAccessIssue 10",
    "shop/money.py:reportAttributeAccessIssue 14",
    "shop/money.py:reportOperatorIssue 15",
]
RUSTC = ["src/cart.rs:E0308 2", "src/cart.rs:E0433 3", "src/lib.rs:E0308 4", "src/lib.rs:E0425 10"]
CLIPPY = ["src/lib.rs:clippy::must_use_candidate 1", "src/lib.rs:clippy::needless_return 2"]
GO = [
    "cart/cart.go:cannot-use 6",
    "cart/cart.go:declared-and-not-used 8",
    "cart/cart.go:undefined 10",
    "cart/cart.go:wrong-return-values 15",
]
CART, MONEY = "src/main/java/shop/Cart.java", "src/main/java/shop/Money.java"
JAVAC = [
    f"{CART}:package-does-not-exist 4",
    f"{CART}:incompatible-types 9",
    f"{CART}:cannot-assign-a-value-to-final 10",
    f"{CART}:cannot-find-symbol 11",
    f"{CART}:cannot-find-symbol 14",
    f"{MONEY}:abstract-method-not-overridden 2",
    f"{MONEY}:cannot-find-symbol 3",
    f"{MONEY}:incompatible-types 4",
]
GCC = ["src/cart.h:conflicting-types 3", "src/cart.c:expected 8", "src/cart.c:no-member 14"]
CLANG = [*GCC[:2], "src/cart.c:undeclared 9", GCC[2]]
LINK = "link.c:undefined-reference None"
WERROR = ["src/warn.c:-Wunused-variable 1"]

EXPECTED: dict[str, tuple[str, list[str]]] = {
    "tsc_plain": ("tsc", TSC),
    "tsc_pretty": ("tsc", TSC),
    "tsc_option": ("tsc", ["TS5023 None"]),
    "eslint_stylish": ("eslint", ESLINT),
    "eslint_stylish_color": ("eslint", ESLINT),
    "eslint_json": ("eslint", ESLINT),
    "eslint_compact": ("eslint", ESLINT_8),
    "eslint_unix": ("eslint", ESLINT_8),
    "eslint_max_warnings": ("eslint", ["lib/a.js:eqeqeq 3"]),
    **{f"ruff_{form}": ("ruff", RUFF) for form in RUFF_FORMS},
    "ruff_full_preview": ("ruff", RUFF_NAMES),
    "ruff_format": ("ruff", ["shop/ugly.py:unformatted 1"]),
    "flake8": ("ruff", FLAKE8),
    **{f"mypy_{form}": ("mypy", MYPY) for form in MYPY_FORMS},
    "mypy_end": ("mypy", MYPY_STRICT),
    "mypy_nocodes": ("mypy", MYPY_WITHOUT_CODES),
    "pyright_text": ("pyright", PYRIGHT),
    "pyright_json": ("pyright", PYRIGHT),
    "rustc_human": ("rustc", RUSTC),
    "rustc_short": ("rustc", RUSTC),
    "rustc_deny": ("rustc", ["src/lib.rs:unused_variables 2"]),
    "rustc_deny_attr": ("rustc", ["src/lib.rs:unused_variables 2"]),
    "rustc_syntax": ("rustc", ["src/lib.rs:this-file-contains-an-unclosed-delimiter 3"]),
    "rustc_link": ("rustc", ["nowhere_at_all:undefined-symbol None"]),
    "clippy_deny": ("rustc", [*CLIPPY, "src/lib.rs:clippy::partialeq_to_none 2"]),
    "cargo_test_compile": ("rustc", ["src/lib.rs:E0308 4"]),
    "go_build": ("go build", GO),
    "go_vet": ("go build", ["cart/cart.go:format 6"]),
    "go_test_build": ("go build", ["cart/cart_test.go:cannot-use 6"]),
    "javac": ("javac", JAVAC),
    "javac_syntax": ("javac", ["Bad.java:illegal-start-of-type 3", "Bad.java:expected 3"]),
    "javac_werror": ("javac", ["Ok.java:rawtypes 3"]),
    "maven": ("javac", JAVAC),
    "gcc_c": ("gcc", GCC),
    "gcc_cpp": (
        "gcc",
        [
            "src/list.cpp:no-member 6",
            "src/list.cpp:conversion-from-to-non-scalar-type-requested 7",
            "src/list.cpp:invalid-conversion-from-to 8",
            "src/list.cpp:undeclared 9",
        ],
    ),
    "gcc_link": ("gcc", [LINK]),
    "gcc_link_more": (
        "gcc",
        ["src/link.c:undefined-reference 2", "d2.c:multiple-definition None", "-lnowhere:cannot-find-library None"],
    ),
    "gcc_driver": ("gcc", ["no-such-file None", "no-such-file None", "no-input-files None"]),
    "gcc_werror": ("gcc", WERROR),
    "gcc_include": ("gcc", ["src/inc.c:no-such-file 1"]),
    "clang_c": ("gcc", CLANG),
    "clang_cpp": (
        "gcc",
        [
            "src/list.cpp:no-member 6",
            "src/list.cpp:no-viable-conversion-from-to 7",
            "src/list.cpp:no-matching-function 8",
            "src/list.cpp:undeclared 9",
            "src/list.cpp:expected 9",
        ],
    ),
    "clang_link": ("gcc", [LINK]),
    "clang_werror": ("gcc", WERROR),
    "clang_include": ("gcc", ["src/inc.c:no-such-file 1"]),
    "make_gcc": ("gcc", GCC),
    "make_no_rule": ("gcc", ["nothere.o:no-rule-to-make-target None"]),
    "cmake_make": ("gcc", [*GCC, LINK]),
    "cmake_ninja": ("gcc", [*GCC, LINK]),
    "cmake_error": ("gcc", ["CMakeLists.txt:find_package 3"]),
    "ninja_no_rule": ("gcc", ["bad/gone.c:no-rule-to-make-target None"]),
}
OF_NO_TOOL = sorted(set(LOGS) - set(EXPECTED))
BUILDS = {"tsc", "rustc", "go build", "javac", "gcc"}


def found(told: FailureReport | None) -> list[str]:
    return [f"{failure.id} {failure.line}" for failure in told.failures] if told else []


def messages(name: str) -> list[str]:
    told = READERS[EXPECTED[name][0]](LOGS[name])
    return [failure.message for failure in told.failures] if told else []


def noise(count: int) -> list[str]:
    """Typical lines of a CI log; none is an error of a tool that is read here."""
    said = [
        "npm warn deprecated inflight@1.0.6: This module is not supported",
        "\x1b[36;1mpip install -r requirements.txt\x1b[0m",
        "  Downloading numpy-2.1.0-cp311-cp311-manylinux_2_17_x86_64.whl (16.3 MB)",
        "src/shop/cart.c:12:5: warning: unused variable 'x' [-Wunused-variable]",
        "src/cart.c:3:5: note: declared here",
        "##[group]Run actions/checkout@v4",
        "E   AssertionError: assert 3 == 4",
        "tests/test_cart.py:12: AssertionError",
        "error: test failed, to rerun pass `--lib`",
        "[ERROR] Failed to execute goal: There are test failures.",
        "    at Object.<anonymous> (/build/src/cart.ts:3:5)",
        "make: *** [Makefile:3: all] Error 2",
        "",
    ]
    return [said[number % len(said)] for number in range(count)]


def stamped(lines: list[str]) -> str:
    return "".join(f"2026-01-01T00:00:{number % 60:02}.1234567Z {line}\n" for number, line in enumerate(lines))


def clocked(lines: list[str]) -> str:
    return "".join(f"[12:00:{number % 60:02}] {line}\n" for number, line in enumerate(lines))


def coloured(line: str) -> str:
    return f"\x1b[1m\x1b[31m{line}\x1b[0m" if line and line[0] not in " [{}]" else line


@pytest.mark.parametrize("name", EXPECTED)
def test_findings_of_a_tool_are_named_exactly(name: str) -> None:
    reader, expected = EXPECTED[name]
    told = READERS[reader](LOGS[name])
    assert told is not None
    assert found(told) == expected
    assert told.reader == reader
    assert told.phase == ("build" if reader in BUILDS else "lint")
    for failure in told.failures:
        assert failure.id.endswith(failure.kind)
        assert failure.id.startswith(failure.file)
        assert failure.message
        assert "\n" not in failure.message


@pytest.mark.parametrize("name", EXPECTED)
def test_no_reader_accepts_the_log_of_another_tool(name: str) -> None:
    assert [reader for reader, read in READERS.items() if read(LOGS[name])] == [EXPECTED[name][0]]


@pytest.mark.parametrize("name", OF_NO_TOOL)
def test_green_runs_warnings_and_failed_tests_are_not_findings(name: str) -> None:
    assert [reader for reader, read in READERS.items() if read(LOGS[name])] == []


def test_every_tool_has_control_logs() -> None:
    controls = {"clang", "cmake", "eslint", "gcc", "go", "javac", "mypy", "pyright", "pytest", "ruff", "rustc", "cargo"}
    assert {name.partition("_")[0] for name in OF_NO_TOOL} == controls


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("put", [stamped, clocked], ids=["stamps", "clocks"])
def test_a_failure_is_found_among_thousands_of_lines_of_a_ci_log(name: str, put: Callable[[list[str]], str]) -> None:
    reader, expected = EXPECTED[name]
    is_json = "json" in name
    own = [line if is_json else coloured(line) for line in LOGS[name].splitlines()]
    told = READERS[reader](put([*noise(2_000), *own, *noise(2_000)]))
    assert found(told) == expected
    assert told == READERS[reader](LOGS[name])


def test_noise_alone_is_recognised_as_no_tool() -> None:
    assert [reader for reader, read in READERS.items() if read(stamped(noise(4_000)))] == []


def test_the_message_is_the_first_one_of_the_tool() -> None:
    assert messages("tsc_pretty")[3] == (
        "Property 'roud' does not exist on type '{ round(x: number): number; }'. Did you mean 'round'?"
    )
    assert messages("eslint_stylish")[1] == "'undefinedThing' is not defined"
    assert messages("ruff_full")[3] == "`os` imported but unused"
    assert messages("mypy_plain")[0] == 'Incompatible return value type (got "int", expected "str")'
    assert messages("pyright_text")[7] == 'Type "int" is not assignable to return type "str"'
    assert messages("rustc_human")[3] == "cannot find function `missing_fn` in this scope"
    assert messages("go_build")[1] == "u declared but not used"
    assert messages("gcc_werror") == ["unused variable 'x'"]
    assert messages("gcc_link") == ["undefined reference to `helper'"]


def test_a_symbol_missing_in_java_is_named_in_the_message() -> None:
    expected = ["cannot find symbol: method sizes()", "cannot find symbol: method undefinedCall(int)"]
    assert messages("javac")[3:5] == messages("maven")[3:5] == expected


@pytest.mark.parametrize(
    "forms",
    [
        ["tsc_plain", "tsc_pretty"],
        ["eslint_stylish", "eslint_stylish_color", "eslint_json"],
        ["eslint_compact", "eslint_unix"],
        [f"ruff_{form}" for form in RUFF_FORMS],
        [f"mypy_{form}" for form in MYPY_FORMS],
        ["pyright_text", "pyright_json"],
        ["cmake_make", "cmake_ninja"],
        ["gcc_werror", "clang_werror"],
    ],
    ids=lambda forms: forms[0],
)
def test_findings_are_the_same_in_every_output_format(forms: list[str]) -> None:
    assert len({READERS[EXPECTED[form][0]](LOGS[form]) for form in forms}) == 1


@pytest.mark.parametrize(
    ("reader", "log", "expected"),
    [
        ("eslint", "./app/page.tsx\n12:7  Error: 'x' is unused.  @typescript-eslint/no-unused-vars", ["12"]),
        ("eslint", "C:\\w\\a.js\n  1:2  error  A message  semi", ["1"]),
        ("tsc", "##[error]src/a.ts(3,3): error TS2322: Type.", ["3"]),
        ("tsc", "Error: src/a.ts(3,3): error TS2322: Type.", ["3"]),
        ("tsc", "@shop/web:build: app/(auth)/page.tsx(3,3): error TS2322: Type.", ["3"]),
        ("ruff", "Would reformat: shop/cart.py", ["None"]),
        ("mypy", "shop/cart.py: error: Source file found twice under different module names", ["None"]),
        ("go build", "vet: ./main.go:5:2: undefined: x", ["5"]),
        ("go build", "# shop\n./main.go:5:2: declared and not used: x\n\t./b.go:1:2: other declaration of x", ["5"]),
        ("javac", "    [javac] /build/src/A.java:3: error: ';' expected", ["3"]),
        ("javac", "[ERROR] /C:/w/src/A.java:[3,5] error: cannot find symbol", ["3"]),
        ("javac", "e: file:///build/src/A.kt:3:5 Unresolved reference: x", ["3"]),
        ("javac", "e: /build/src/A.kt: (3, 5): Unresolved reference: x", ["3"]),
        ("gcc", "ld.lld: error: undefined symbol: helper\n>>> referenced by link.c", ["None"]),
        ("gcc", 'Undefined symbols for architecture arm64:\n  "_helper", referenced from:', ["None"]),
        ("gcc", "      src/x.c:3:10: fatal error: Python.h: No such file or directory", ["3"]),
        ("gcc", "Makefile:2: *** missing separator.  Stop.", ["2"]),
    ],
)
def test_formats_known_from_documentation_are_read_too(reader: str, log: str, expected: list[str]) -> None:
    assert [line.rpartition(" ")[2] for line in found(READERS[reader](log))] == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("./src/a.c", "src/a.c"),
        ("src\\shop\\..\\a.ts", "src/a.ts"),
        ("/home/runner/work/shop/shop/src/a.ts", "src/a.ts"),
        ("D:\\a\\shop\\shop\\src\\a.ts", "src/a.ts"),
        ("/C:/w/src/A.java", "C:/w/src/A.java"),
        ("/tmp/pytest-of-me/pytest-12/test_a0/shop/a.py", "/tmp/pytest-of-me/pytest-12/test_a0/shop/a.py"),
        ("/root/.cargo/registry/src/index.crates.io-6f17d22bba15001f/rand-0.8.5/src/lib.rs", "rand-0.8.5/src/lib.rs"),
        ("/opt/shop/src/a.ts", "/opt/shop/src/a.ts"),
        ("/srv/here/src/a.rs", "src/a.rs"),
        ("/srv/hereabouts/src/a.rs", "/srv/hereabouts/src/a.rs"),
        ("/srv/java/src/A.java", "src/A.java"),
        ("/srv/cmake/src/a.c", "src/a.c"),
        ("/srv/npm/src/a.ts", "src/a.ts"),
        ("/srv/pytest/a.py", "a.py"),
    ],
)
def test_a_path_is_relative_to_the_project_root_if_that_is_known(path: str, expected: str) -> None:
    log = [
        "   Compiling shop v0.1.0 (/srv/here)",
        "[INFO] Compiling 2 source files to /srv/java/target/classes",
        "-- Build files have been written to: /srv/cmake/build",
        "> shop@1.0.0 lint /srv/npm",
        "rootdir: /srv/pytest, configfile: pyproject.toml",
    ]
    assert in_project(path, roots(log)) == expected


def test_names_and_values_are_left_out_of_the_class_of_a_message() -> None:
    assert phrase("'x' was not declared") == phrase("'other' was not declared") == "was-not-declared"
    assert phrase("expected 3 arguments, have (int)") == "expected-arguments-have"
    assert phrase("…") == "error"


def test_the_number_of_kept_failures_is_bounded() -> None:
    log = "".join(f"src/a{number}.c:1:1: error: expected ';'\n" for number in range(3_000))
    told = gcc.read(log)
    assert told is not None
    assert len(told.failures) == MOST
    assert told.failures[0].file == "src/a0.c"


def test_errors_and_warnings_together_are_bounded_and_errors_come_first() -> None:
    said = [f"A{number}.java:1: {word}: [rawtypes] {word}\n" for word in ("warning", "error") for number in range(400)]
    told = javac.read("".join(said) + "error: warnings found and -Werror specified\n")
    assert told is not None
    assert [failure.file for failure in told.failures] == [f"A{n}.java" for n in [*range(400), *range(100)]]


def test_failures_that_are_not_kept_use_no_memory() -> None:
    findings = Findings("gcc", "build", [])
    for number in range(3 * MOST):
        findings.error(f"a{number}.c", number, "expected", "expected ';'")
        findings.warning(f"a{number}.c", number, "expected", "expected ';'")
    assert len(findings.errors) == len(findings.warnings) == MOST


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A recorded log with a part removed, doubled or replaced."""
    log = draw(st.sampled_from(list(LOGS.values())))
    start = draw(st.integers(0, len(log)))
    end = draw(st.integers(start, min(len(log), start + 80)))
    piece = draw(
        st.sampled_from(["", log[start:end] * 2, "\x00", "\udc80", "\x1b[", '"', "[", ":", "9" * 50, "\n", "²"])
    )
    return log[:start] + piece + log[end:]


@settings(max_examples=examples(150))
@given(st.text(max_size=200) | damaged() | st.lists(damaged(), max_size=3).map("\n".join))
def test_no_reader_raises_on_any_input(log: str) -> None:
    for read in READERS.values():
        if (told := read(log)) is not None:
            assert 0 < len(told.failures) <= MOST
            assert all(failure.id and failure.kind for failure in told.failures)


HOSTILE = {
    "spaces": "  1:1  error  " + " " * 3_900 + "x\n",
    "mypy": "a.py:1: error: " + " [a" * 1_200 + "\n",
    "wrapped": "a.py:1: error: b\n",
    "linker": "undefined reference to `" * 160 + "\n",
    "places": "a.c:" * 900 + " undefined reference to `x'\n",
    "options": "a.c:1:1: error: " + "[-Wa" * 900 + "\n",
    "stops": "Makefile:1: *** " + " " * 3_900 + "\n",
    "arrows": "error: a\n",
    "arrows of ruff": "F401 a\n --> a.py:1:1\n",
    "ats": "/x/a.c:1:1: error: a\n> " + "a@" * 1_900 + "\n",
    "brackets": '[{"filePath":' * 300 + "\n",
    "openings": '[{"cell":' * 400 + "\n",
    "versions": '{"version":{"generalDiagnostics":' * 100 + "\n",
    "paths": "/" * 3_000 + "a.rs:1:1: error: a\n",
    "symbols": "A.java:1: error: cannot find symbol\n",
    "quotes": "a.c:1:1: error: " + "‘" * 3_000 + "\n",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE)
def test_hostile_logs_are_read_in_bounded_time(line: str) -> None:
    log = line * (2_000_000 // len(line))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for read in READERS.values():
        read(log)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 20


def test_no_recorded_log_holds_traces_of_its_machine() -> None:
    assert not [name for name, log in LOGS.items() if re.search(r"/(?:root|home)/", log)]
