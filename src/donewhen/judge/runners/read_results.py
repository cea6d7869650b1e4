"""Reads the results of a run as one report: from report files if there are any, otherwise from the printed text."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import cast

from donewhen.judge.runners.instrument import InstrumentedCommand
from donewhen.judge.verdict import EvidenceKind
from donewhen.readers.result import RunnerReport, Tests, that_ran

TEXT: Mapping[str, str] = {
    **{name: name for name in ("pytest", "unittest", "jest", "vitest", "mocha", "cargo", "go", "rspec", "phpunit")},
    **{name: name for name in ("maven", "gradle", "dotnet")},
    "node:test": "node",
}
"""Runner → the reader of its printed text. Readers are imported on use: most checks need only one."""
REPORTS: Mapping[str, tuple[str, str]] = {
    "pytest.xml": ("pytest", "junit.read"),
    "node.xml": ("node:test", "junit.read"),
    "phpunit.xml": ("phpunit", "junit.read"),
    "jest.json": ("jest", "jest.read_report"),
    "vitest.json": ("vitest", "jest.read_report"),
    "rspec.json": ("rspec", "rspec.read_report"),
}
"""File name in the report directory → the runner that writes it, and the reader of its format."""
IN_TREE = {
    "maven": re.compile(r"(?:.*/)?target/(?:surefire|failsafe)-reports/", re.DOTALL),
    "gradle": re.compile(r"(?:.*/)?build/test-results/.*", re.DOTALL),
}
"""Runner → the directories of the tree into which it writes reports."""
REPORT = re.compile(r"TEST-[^/]+\.xml")


def in_tree_reports(path: str) -> bool:
    """Return True if a path that a run wrote in the tree is a report of a runner."""
    return any(_is_report(path, directory) for directory in IN_TREE.values())


def _is_report(path: str, directory: re.Pattern[str]) -> bool:
    name = path.rpartition("/")[2]
    return bool(REPORT.fullmatch(name) and directory.fullmatch(path.removesuffix(name)))


def read(
    reports: Mapping[str, bytes], in_tree: Mapping[str, bytes], output: bytes, ask: InstrumentedCommand
) -> tuple[RunnerReport, EvidenceKind] | None:
    """Return one report for the run, with the kind of evidence; None if nothing can be read.

    Reports of runners that the command does not call are ignored.
    """
    found = [_unless_contradicted(reading, output) for reading in _sidecars(reports, ask)]
    found += _left_in_tree(in_tree, output, ask)
    kind: EvidenceKind = "sidecar" if found else "text"
    seen = {reading.runner for reading in found}
    others = ask.expected if ask.expected or found or not output.strip() else TEXT
    texts = [_read_with(_text_reader(runner), output, runner) for runner in others if runner not in seen]
    found += [reading for reading in texts if reading is not None]
    return (_sum(found), kind) if found else None


def _text_reader(runner: str) -> str:
    return f"{TEXT[runner]}.read_text"


def _read_with(reader: str, content: bytes, runner: str) -> RunnerReport | None:
    module, function = reader.split(".")
    read_content = cast(
        "Callable[[bytes], RunnerReport | None]", getattr(import_module(f"donewhen.readers.{module}"), function)
    )
    reading = read_content(content)
    return replace(reading, runner=runner) if reading else None


def _sidecars(reports: Mapping[str, bytes], ask: InstrumentedCommand) -> Iterator[RunnerReport]:
    for name, content in sorted(reports.items()):
        runner, reader = REPORTS.get(name, ("dotnet", "dotnet.read_report") if name.endswith(".trx") else ("", ""))
        if reader and (runner in ask.expected or not ask.expected):
            yield _read_with(reader, content, runner) or RunnerReport(runner, Tests(), complete=False)


def _unless_contradicted(reading: RunnerReport, output: bytes) -> RunnerReport:
    """Mark a report without failures as incomplete if its runner printed a failure.

    Then another program wrote the report, or it is old.
    """
    if reading.tests.failed:
        return reading
    printed = _read_with(_text_reader(reading.runner), output, reading.runner)
    return replace(reading, complete=False) if printed and printed.tests.failed else reading


def _left_in_tree(in_tree: Mapping[str, bytes], output: bytes, ask: InstrumentedCommand) -> Iterator[RunnerReport]:
    """Yield reports found in the tree.

    Tested code can write into the tree too, so the reports must match the total that the runner prints, if it prints
    one.
    """
    for runner, directory in IN_TREE.items():
        if ask.expected and runner not in ask.expected:
            continue
        parts = [
            _read_with("junit.read", content, runner) or RunnerReport(runner, Tests(), complete=False)
            for path, content in sorted(in_tree.items())
            if _is_report(path, directory)
        ]
        printed = _read_with(_text_reader(runner), output, runner) if parts else None
        if parts and (printed is None or printed.tests == _sum(parts).tests):
            whole = _sum(parts)
            yield replace(whole, complete=whole.complete and (printed is None or printed.complete))


def _sum(readings: list[RunnerReport]) -> RunnerReport:
    return RunnerReport(
        ", ".join(dict.fromkeys(reading.runner for reading in readings)),
        sum((reading.tests for reading in readings), Tests()),
        tuple(name for reading in readings for name in reading.failures),
        all(reading.complete for reading in readings),
        _all_that_ran(readings),
    )


def _all_that_ran(readings: list[RunnerReport]) -> tuple[str, ...]:
    """Return the test names of all reports; nothing if one of the reports has tests but no names."""
    silent = any(not reading.ran and reading.tests.passed + reading.tests.failed for reading in readings)
    return () if silent else that_ran(name for reading in readings for name in reading.ran)
