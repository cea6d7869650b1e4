"""Logs that are cut, encoded differently, mixed or hostile: failure readers answer quickly and in little memory."""

import resource
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.memory.signature import Signature, signature_of
from donewhen.readers.failures.failure import FailureReport
from donewhen.readers.failures.logs import BEGINNING, END, text_of
from donewhen.readers.failures.sources import apart
from donewhen.readers.find_failures import ORDER, reader
from donewhen.readers.printed_lines import last, lines
from donewhen.readers.runner_names import RUNNERS
from tables import every_row
from tiers import examples, sampled

RECORDED = Path(__file__).parent / "failure_logs"
LOGS = {
    f"{path.parent.name}/{path.stem}": path.read_text()
    for path in sorted([*RECORDED.glob("tests_*/*.log"), *RECORDED.glob("findings/*.txt")])
    if "green" not in path.stem and path.stem not in ("eslint_warnings", "cmake_conf")
}
PLAIN = [name for name in LOGS if "json" not in name and "color" not in name]
SOME = [name for name in LOGS if name.endswith(("assertion", "import", "_plain", "stylish", "rustc_human", "gcc_c"))]
READ: dict[str, Callable[[str], FailureReport | None]] = {name: reader(name) for name in ORDER}


def unlike(one: Signature, other: Signature) -> bool:
    return (one.reader, one.place_digest(), one.cause_digest()) != (
        other.reader,
        other.place_digest(),
        other.cause_digest(),
    )


def coloured(log: str) -> bytes:
    return "\n".join(f"\x1b[1m\x1b(B\x1b[32m{line}\x1b(B\x1b[m" for line in log.split("\n")).encode()


def broken(log: str) -> bytes:
    """Among invalid bytes; the first two look like a byte order mark."""
    return b"\xff\xfe\xfd\x80 broken\n\xc3\x28\n" * 50 + b"\n" + log.encode() + b"\n\xf0\x28\x8c\x28"


def with_ends(end: str) -> Callable[[str], bytes]:
    return lambda log: log.replace("\n", end).encode()


def coded_as(coding: str) -> Callable[[str], bytes]:
    return lambda log: log.encode(coding)


CODED = {
    "crlf": with_ends("\r\n"),
    "crcrlf": with_ends("\r\r\n"),
    "utf-16": coded_as("utf-16"),
    "utf-16-le": coded_as("utf-16-le"),
    "utf-16-be": coded_as("utf-16-be"),
    "mark": coded_as("utf-8-sig"),
    "invalid": broken,
    "colours": coloured,
}


@every_row(sampled(list(product(PLAIN, CODED)), 80))
def test_the_encoding_of_a_log_changes_nothing(row: tuple[str, str]) -> None:
    name, coding = row
    whole = signature_of(LOGS[name])
    assert not unlike(signature_of(CODED[coding](LOGS[name])), whole), whole


@settings(max_examples=examples(150))
@given(st.data())
def test_a_log_cut_at_both_ends_is_still_read(data: st.DataObject) -> None:
    log = LOGS[data.draw(st.sampled_from(sorted(LOGS)))].encode()
    start = data.draw(st.integers(0, len(log)))
    cut = log[start : data.draw(st.integers(start, len(log)))]
    assert signature_of(cut) == signature_of(cut)


@pytest.mark.sample(0)
@pytest.mark.parametrize("name", ["tests_pytest/assertion", "findings/gcc_c"])
def test_a_failure_at_the_end_of_two_hundred_megabytes_is_found_in_bounded_memory(name: str, tmp_path: Path) -> None:
    """In a process that may use little more than twice the log."""
    path = tmp_path / "log"
    filler = "".join(f"step {n} is fine, 0 errors\n" for n in range(40_000)).encode()
    with path.open("wb") as file:
        for _ in range(200 * 1024 * 1024 // len(filler)):
            file.write(filler)
        file.write(LOGS[name].encode())
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (700 * 1024**2, 700 * 1024**2))\n"
        "from donewhen.memory.signature import signature_of\n"
        "print(signature_of(open(sys.argv[1], 'rb').read()).place_digest())"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == signature_of(LOGS[name]).place_digest(), ran.stderr


@pytest.mark.parametrize("coding", ["utf-8", "utf-16", "utf-16-be"])
def test_a_long_log_is_read_at_its_start_and_end(coding: str) -> None:
    text = text_of(("first\n" + "é\n" * 4_500_000 + "last").encode(coding))
    assert text.lstrip("\ufeff").startswith("first\n")
    assert text.endswith("\nlast")
    assert len(text) <= BEGINNING + END + 2


UNITS = (
    *" a0A/.:-_'\"()[]<>=#|@\\{}\t",
    "a ",
    "a:",
    "a.",
    "a/",
    "a::",
    "1:",
    ": ",
    "at ",
    "[a]",
    "(a)",
    "'a'",
    "error: ",
)
FRONTS = (
    "",
    " FAIL  ",
    "FAILED ",
    "a.py:1: error: ",
    "a.c:1:1: error: ",
    "error[E0001]: ",
    "a.ts(1,1): error TS1: ",
    "    at a (",
    'File "',
    "thread 'a' panicked at ",
    "--- FAIL: ",
    "  1) ",
    "not ok 1 - ",
    "  ● ",
    "Caused by: ",
    "[ERROR] ",
    "::error ",
    "a.java:1: error: ",
    "undefined reference to `",
    "a.go:1:1: ",
    "___ ",
    "1) ",
    "PHP Fatal error:  ",
    "a.rb:1:in `",
    "   Compiling ",
    "e: ",
    "a:build: ",
    "gcc: error: ",
    "  Failed ",
    "ninja: error: '",
    "a: line 1, col 1, Error - ",
    "E   ",
)
REPEATED = {
    "traces": "  Traceback (most recent call last):\n",
    "titles": " FAIL  a > b\n",
    "shared errors": " FAIL  a > b\n" * 50 + "Error: x\n" * 50 + "⎯⎯⎯⎯\n",
    "files": "TAP version 13\nnot ok 1 - a.js\n",
    "links": "error: linking with cc\n",
    "subtests": "--- FAIL: " + "a/" * 240 + "\n",
    "stacks": "    at a (b.js:1:1)\n\n",
    "the same alarm": "error: " + "." * 380 + "\n",
    "programs": "web-1 | x\ndb-1 | y\n",
    "blank lines": "\n",
    "returns": "\r",
    "documents": '[{"filePath":',
    "links of terminals": "\x1b]8;;",
}


def spent(work: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - before


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", ORDER)
def test_a_long_line_costs_no_more_than_short_lines(name: str) -> None:
    """Four times the length may cost four times as much; quadratic time would cost sixteen times."""

    def log(length: int) -> str:
        return "\n".join(
            (front + unit * length)[:length] + end for front in FRONTS for unit in UNITS for end in ("", "!")
        )

    short, long = log(950), log(3_800)
    READ[name](short)
    assert spent(lambda: READ[name](long)) < 10 * spent(lambda: READ[name](short)) + 2


@pytest.mark.sample(0)
@pytest.mark.parametrize("kind", REPEATED)
def test_endless_repetition_is_read_in_bounded_time(kind: str) -> None:
    part = REPEATED[kind]
    log = (part * (END // len(part) + 1))[: END // 3]
    assert spent(lambda: signature_of(log)) < 20


def test_every_runner_is_recognised_by_its_closing_line() -> None:
    for name, log in LOGS.items():
        for runner in RUNNERS:
            found = READ[runner](log)
            if found and found.phase == "test":
                closing = import_module(f"donewhen.readers.{runner}").CLOSING
                assert last(closing, lines(log.encode())), (name, runner)


@pytest.mark.parametrize(
    ("printed", "own"),
    [
        ("tests_pytest/assertion", "tests_unittest/assertion"),
        ("tests_pytest/attribute", "tests_jest/assertion"),
        ("tests_cargo/panic", "tests_mocha/assertion"),
        ("tests_unittest/assertion", "tests_pytest/assertion"),
        ("tests_go/assertion", "tests_rspec/assertion"),
        ("findings/gcc_c", "tests_pytest/assertion"),
        ("findings/tsc_plain", "tests_node/assertion"),
    ],
)
def test_a_report_of_another_tool_printed_by_the_product_is_not_the_run(printed: str, own: str) -> None:
    assert signature_of(f"{LOGS[printed]}\n{LOGS[own]}").reader == signature_of(LOGS[own]).reader


@pytest.mark.parametrize("form", ["{:<8} | {}", "[{}] {}", "@shop/{}:test: {}", "packages/{} test: {}"])
@pytest.mark.parametrize("name", SOME)
def test_a_report_between_lines_of_other_programs_is_reassembled(name: str, form: str) -> None:
    mixed = list[str]()
    for at, line in enumerate(LOGS[name].split("\n")):
        mixed += [form.format("web", f"ERROR: no table {at}")] * (at % 3 == 0) + [form.format("checks", line)]
    assert not unlike(signature_of("\n".join(mixed)), signature_of(LOGS[name]))


def test_brackets_bars_and_log_levels_are_not_program_names() -> None:
    for log in (
        ["[INFO] one", "[ERROR] two", "[INFO] three", "[INFO] four", "[INFO] five", "[ERROR] six"] * 3,
        ["a | b", "plain", "more", "c | d", "words", "stdout | test.js"],
        ["12 | code", "   | ^^^^", "13 | code"] * 5,
        [],
        [""],
    ):
        assert apart(log) == log
