"""What a run left behind, read as one: reports where there are any, the printed text where there are none."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import cast

from donewhen.judge.runners.asks import Ask
from donewhen.judge.verdict import EvidenceKind
from donewhen.readers.reading import Reading, Tests
from donewhen.readers.tally import that_ran

TEXT: Mapping[str, str] = {
    **{name: name for name in ("pytest", "unittest", "jest", "vitest", "mocha", "cargo", "go", "rspec", "phpunit")},
    **{name: name for name in ("maven", "gradle", "dotnet")},
    "node:test": "node",
}
"""Runner → the reader of what it prints. Readers are imported when they are needed: most checks need one of them."""
REPORTS: Mapping[str, tuple[str, str]] = {
    "pytest.xml": ("pytest", "junit.read"),
    "node.xml": ("node:test", "junit.read"),
    "phpunit.xml": ("phpunit", "junit.read"),
    "jest.json": ("jest", "jest.read_report"),
    "vitest.json": ("vitest", "jest.read_report"),
    "rspec.json": ("rspec", "rspec.read_report"),
}
"""File of the sidecar directory → the runner that writes it, and the reader of its form."""
IN_TREE = {
    "maven": re.compile(r"(?:.*/)?target/(?:surefire|failsafe)-reports/TEST-[^/]+\.xml"),
    "gradle": re.compile(r"(?:.*/)?build/test-results/(?:.+/)?TEST-[^/]+\.xml"),
}


def in_tree_reports(path: str) -> bool:
    """Whether a path that a run wrote in the tree is a runner's report."""
    return any(pattern.fullmatch(path) for pattern in IN_TREE.values())


def read(
    reports: Mapping[str, bytes], in_tree: Mapping[str, bytes], output: bytes, ask: Ask
) -> tuple[Reading, EvidenceKind] | None:
    """One reading for the run. A report of a runner that the command does not call is not looked at."""
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


def _read_with(reader: str, content: bytes, runner: str) -> Reading | None:
    module, function = reader.split(".")
    read_content = cast(
        "Callable[[bytes], Reading | None]", getattr(import_module(f"donewhen.readers.{module}"), function)
    )
    reading = read_content(content)
    return replace(reading, runner=runner) if reading else None


def _sidecars(reports: Mapping[str, bytes], ask: Ask) -> Iterator[Reading]:
    for name, content in sorted(reports.items()):
        runner, reader = REPORTS.get(name, ("dotnet", "dotnet.read_report") if name.endswith(".trx") else ("", ""))
        if reader and (runner in ask.expected or not ask.expected):
            yield _read_with(reader, content, runner) or Reading(runner, Tests(), complete=False)


def _unless_contradicted(reading: Reading, output: bytes) -> Reading:
    """A report without a failure is not whole when its runner printed one: somebody else wrote it, or it is old."""
    if reading.tests.failed:
        return reading
    printed = _read_with(_text_reader(reading.runner), output, reading.runner)
    return replace(reading, complete=False) if printed and printed.tests.failed else reading


def _left_in_tree(in_tree: Mapping[str, bytes], output: bytes, ask: Ask) -> Iterator[Reading]:
    """Tested code can write into the tree as well, so the runner's own total, where it prints one, must agree."""
    for runner, pattern in IN_TREE.items():
        if ask.expected and runner not in ask.expected:
            continue
        parts = [
            _read_with("junit.read", content, runner) or Reading(runner, Tests(), complete=False)
            for path, content in sorted(in_tree.items())
            if pattern.fullmatch(path)
        ]
        printed = _read_with(_text_reader(runner), output, runner) if parts else None
        if parts and (printed is None or printed.tests == _sum(parts).tests):
            whole = _sum(parts)
            yield replace(whole, complete=whole.complete and (printed is None or printed.complete))


def _sum(readings: list[Reading]) -> Reading:
    return Reading(
        ", ".join(dict.fromkeys(reading.runner for reading in readings)),
        sum((reading.tests for reading in readings), Tests()),
        tuple(name for reading in readings for name in reading.failures),
        all(reading.complete for reading in readings),
        _all_that_ran(readings),
    )


def _all_that_ran(readings: list[Reading]) -> tuple[str, ...]:
    """The names of several readings together; none where one of them does not tell its own."""
    silent = any(not reading.ran and reading.tests.passed + reading.tests.failed for reading in readings)
    return () if silent else that_ran(name for reading in readings for name in reading.ran)
