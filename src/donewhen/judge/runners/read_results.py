"""Reads the results of a run as one report: from report files if there are any, otherwise from the printed text."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from donewhen.judge.runners.instrument import InstrumentedCommand
from donewhen.judge.runners.registry import runners
from donewhen.judge.runners.runner import ReadReport, lazy
from donewhen.judge.verdict import EvidenceKind
from donewhen.readers.result import RunnerReport, Tests, that_ran
from donewhen.readers.runner_names import TEXT_ORDER

TEXT = {runner.name: runner.read_text for runner in runners(TEXT_ORDER) if runner.read_text}
"""Runner → the reader of its printed text, in the order in which all of them read the text of an unknown command."""
REPORTS = {runner.report: (runner.name, runner.read_report) for runner in runners() if runner.read_report}
"""Name of a file in the report directory → the runner that writes it, and the reader of its format."""
IN_TREE = {runner.name: re.compile(runner.reports_in_tree, re.DOTALL) for runner in runners() if runner.reports_in_tree}
"""Runner → the directories of the tree into which it writes reports."""
JUNIT = lazy("junit", "read")
REPORT = re.compile(r"TEST-[^/]+\.xml")


def in_tree_reports(path: str) -> bool:
    """Return True if a path that a run wrote in the tree is a report of a runner."""
    return any(_is_report(path, directory) for directory in IN_TREE.values())


def _is_report(path: str, directory: re.Pattern[str]) -> bool:
    name = path.rpartition("/")[2]
    return bool(REPORT.fullmatch(name) and directory.fullmatch(path.removesuffix(name)))


def read(
    reports: Mapping[str, bytes], in_tree: Mapping[str, bytes], output: bytes, instrumented: InstrumentedCommand
) -> tuple[RunnerReport, EvidenceKind] | None:
    """Return one report for the run, with the kind of evidence; None if nothing can be read.

    Reports of runners that the command does not call are ignored.
    """
    found = [_unless_contradicted(reading, output) for reading in _sidecars(reports, instrumented)]
    found += _left_in_tree(in_tree, output, instrumented)
    kind: EvidenceKind = "sidecar" if found else "text"
    seen = {reading.runner for reading in found}
    others = instrumented.expected if instrumented.expected or found or not output.strip() else TEXT
    texts = [_read_with(TEXT[runner], output, runner) for runner in others if runner not in seen]
    found += [reading for reading in texts if reading is not None]
    return (_sum(found), kind) if found else None


def _read_with(reader: ReadReport, content: bytes, runner: str) -> RunnerReport | None:
    reading = reader(content)
    return replace(reading, runner=runner) if reading else None


def _sidecars(reports: Mapping[str, bytes], instrumented: InstrumentedCommand) -> Iterator[RunnerReport]:
    for name, content in sorted(reports.items()):
        for pattern, (runner, reader) in REPORTS.items():
            if fnmatchcase(name, pattern) and (runner in instrumented.expected or not instrumented.expected):
                yield _read_with(reader, content, runner) or RunnerReport(runner, Tests(), complete=False)


def _unless_contradicted(reading: RunnerReport, output: bytes) -> RunnerReport:
    """Mark a report without failures as incomplete if its runner printed a failure.

    Then another program wrote the report, or it is old.
    """
    if reading.tests.failed:
        return reading
    printed = _read_with(TEXT[reading.runner], output, reading.runner)
    return replace(reading, complete=False) if printed and printed.tests.failed else reading


def _left_in_tree(
    in_tree: Mapping[str, bytes], output: bytes, instrumented: InstrumentedCommand
) -> Iterator[RunnerReport]:
    """Yield reports found in the tree.

    Tested code can write into the tree too, so the reports must match the total that the runner prints, if it prints
    one.
    """
    for runner, directory in IN_TREE.items():
        if instrumented.expected and runner not in instrumented.expected:
            continue
        parts = [
            _read_with(JUNIT, content, runner) or RunnerReport(runner, Tests(), complete=False)
            for path, content in sorted(in_tree.items())
            if _is_report(path, directory)
        ]
        printed = _read_with(TEXT[runner], output, runner) if parts else None
        if parts and (printed is None or printed.tests == _sum(parts).tests):
            whole = _sum(parts)
            yield replace(whole, complete=whole.complete and (printed is None or printed.complete))


def _sum(readings: list[RunnerReport]) -> RunnerReport:
    """Return one report. It names no tests that ran if one of the reports has tests but no names."""
    silent = any(not reading.ran and reading.tests.passed + reading.tests.failed for reading in readings)
    return RunnerReport(
        ", ".join(dict.fromkeys(reading.runner for reading in readings)),
        sum((reading.tests for reading in readings), Tests()),
        tuple(name for reading in readings for name in reading.failures),
        all(reading.complete for reading in readings),
        () if silent else that_ran(name for reading in readings for name in reading.ran),
        that_ran(name for reading in readings for name in reading.skipped),
    )
